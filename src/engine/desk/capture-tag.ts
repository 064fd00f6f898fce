import type { Instant, RunId, StepId, Tenant } from "../../core/id.ts";
import type { Capture } from "../../core/resource.ts";

/** On whose behalf something was captured. */
export type Owner = {
  readonly tenant: Tenant;
  readonly run_id: RunId;
  /** When, and how far the run had got by then. */
  readonly at: Instant;
  readonly position: number;
} & (
  | { readonly for: "call"; readonly step_id: StepId; readonly attempt: number }
  /** Somebody goes back to an earlier call. */
  | { readonly for: "restore"; readonly commit: string }
  /** Another run goes on from an earlier call. */
  | { readonly for: "fork"; readonly into: RunId }
);

/** How a capture says whose it is, wherever it is found. */
export function tagOf(owner: Owner): string {
  const { tenant, run_id, at, position } = owner;
  const parts = [owner.for, tenant, run_id, String(at), String(position), ...more(owner)];
  return parts.map(encodeURIComponent).join("/");
}

function more(owner: Owner): readonly string[] {
  if (owner.for === "call") return [owner.step_id, String(owner.attempt)];
  return [owner.for === "restore" ? owner.commit : owner.into];
}

/** Null: nobody that we know of. */
export function ownerOf({ tag }: Pick<Capture, "tag">): Owner | null {
  const [purpose, tenant, run, at, position, what, attempt] = tag.split("/").map(decoded);
  if (tenant === undefined || run === undefined || what === undefined) return null;
  const of = { tenant: tenant as Tenant, run_id: run as RunId, at: Number(at) as Instant, position: Number(position) };
  if (purpose === "call" && attempt !== undefined)
    return { ...of, for: purpose, step_id: what as StepId, attempt: Number(attempt) };
  if (purpose === "restore") return { ...of, for: purpose, commit: what };
  return purpose === "fork" ? { ...of, for: purpose, into: what as RunId } : null;
}

/** A tag of somebody else's making may be anything. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/**
 * What the record says of that which something was captured for. stands: it ended well. owed: whoever takes the run up will put it
 * back. falls: nobody ever will hear of it. unknown: that run is not on this record.
 */
export type Standing = "stands" | "owed" | "falls" | "unknown";
