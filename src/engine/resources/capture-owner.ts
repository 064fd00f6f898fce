import type { Capture } from "../../core/ports/resource.ts";
import type { Instant, RunId, StepId, Tenant } from "../../core/values/ids.ts";

/** The call, restore or fork that a resource was captured for. */
export type CaptureOwner = {
  readonly tenant: Tenant;
  readonly run_id: RunId;
  /** The time of the capture, and the position of the run then. */
  readonly at: Instant;
  readonly position: number;
} & (
  | { readonly for: "call"; readonly step_id: StepId; readonly attempt: number }
  /** A person restores the files of an earlier call. */
  | { readonly for: "restore"; readonly commit: string }
  /** A new run continues from an earlier call. */
  | { readonly for: "fork"; readonly into: RunId }
);

/** Encodes the owner of a capture, so that any process that finds the capture can read it. */
export function makeCaptureTag(owner: CaptureOwner): string {
  const { tenant, run_id, at, position } = owner;
  const parts = [owner.for, tenant, run_id, String(at), String(position), ...ownerParts(owner)];
  return parts.map(encodeURIComponent).join("/");
}

function ownerParts(owner: CaptureOwner): readonly string[] {
  if (owner.for === "call") return [owner.step_id, String(owner.attempt)];
  return [owner.for === "restore" ? owner.commit : owner.into];
}

/** Decodes the owner of a capture. Null: this version of Writ did not make the tag. */
export function readCaptureTag({ tag }: Pick<Capture, "tag">): CaptureOwner | null {
  const [purpose, tenant, run, at, position, what, attempt] = tag.split("/").map(decodePart);
  if (tenant === undefined || run === undefined || what === undefined) return null;
  const of = { tenant: tenant as Tenant, run_id: run as RunId, at: Number(at) as Instant, position: Number(position) };
  if (purpose === "call" && attempt !== undefined)
    return { ...of, for: purpose, step_id: what as StepId, attempt: Number(attempt) };
  if (purpose === "restore") return { ...of, for: purpose, commit: what };
  return purpose === "fork" ? { ...of, for: purpose, into: what as RunId } : null;
}

/** A tag that another program made may be any text. */
function decodePart(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/**
 * Whether the changes after a capture are on record. committed: the owner succeeded. restore_pending: the worker that
 * takes over the run restores the resource. discarded: no event records them. unknown: the store does not know the run.
 */
export type CaptureStatus = "committed" | "restore_pending" | "discarded" | "unknown";
