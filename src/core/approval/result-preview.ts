import type { CostEstimate } from "../limits/budget.ts";
import type { Patch } from "../state/patch.ts";
import type { Check } from "../store/store.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { Digest, Instant } from "../values/ids.ts";
import { type Json, sameJson } from "../values/json.ts";

/** The predicted result of a held call, computed without acting. An approval of the call covers this preview. */
export interface Preview {
  /** The predicted output. Absent: unknown until the call has run. */
  readonly output?: Json;
  /** The predicted change of state. Absent: none, or unknown. */
  readonly patch?: Patch;
  /** The fault with which the call would fail now. */
  readonly fault?: Fault;
  readonly pins: PreviewPins;
}

/** The facts from which a preview was computed. */
export interface PreviewPins {
  readonly at: Instant;
  /** The version of the project's state; null: the state was not read. */
  readonly version: number | null;
  /** The digests of the state that was read, by JSON pointer. */
  readonly reads: Readonly<Record<string, Digest>>;
  /** The digests of the resources that the call changes, by name. */
  readonly resources: Readonly<Record<string, Digest>>;
}

/** The current digests of the facts from which a preview was computed. */
export interface PinFact extends Pick<PreviewPins, "reads" | "resources"> {
  /** A condition on the state that was read: while it holds, the digests are valid. Null: no state was read. */
  readonly check: Check | null;
}

/** A call as it was shown to its approver. */
interface ShownCall {
  readonly gate_id: string;
  readonly preview?: Preview;
  readonly estimate?: CostEstimate;
}

/**
 * Returns the fault if the approved call would now do something else, null if it would not, or `pins_needed` if the
 * current pins have to be read first.
 */
export function previewDrift(
  shown: ShownCall,
  now: { readonly pins: PinFact | null; readonly estimate: CostEstimate | null },
): Fault | "pins_needed" | null {
  const { gate_id, preview, estimate } = shown;
  const pins = preview?.pins;
  const isPinned = pins !== undefined && Object.keys(pins.reads).length + Object.keys(pins.resources).length > 0;
  if (isPinned && now.pins === null) return "pins_needed";
  const changed = [
    ...(isPinned && now.pins !== null ? changedNames(pins.reads, now.pins.reads) : []),
    ...(isPinned && now.pins !== null ? changedNames(pins.resources, now.pins.resources) : []),
    ...(estimate !== undefined && costsMore(estimate, now.estimate) ? ["the cost"] : []),
  ];
  if (changed.length === 0) return null;
  const message = `${changed.join(", ")} changed since gate ${gate_id} was shown; the call needs a new approval`;
  return fault("PREVIEW_STALE", message, { changed });
}

function changedNames(
  before: Readonly<Record<string, Digest>>,
  now: Readonly<Record<string, Digest>>,
): readonly string[] {
  return Object.keys(before).filter((name) => before[name] !== now[name]);
}

/** True if the cost is higher or unknown. A lower cost needs no new approval. */
function costsMore(before: CostEstimate, now: CostEstimate | null): boolean {
  if (now === null) return true;
  return Object.entries(now).some(([unit, amount]) => amount > (before[unit as keyof CostEstimate] ?? 0));
}

/** Returns the fault if a call did something other than its preview, or null. */
export function previewMismatch({ gate_id, preview }: ShownCall, output: Json, written: Patch | null): Fault | null {
  const isSameOutput = preview?.output === undefined || sameJson(preview.output, output);
  const isSamePatch = preview?.patch === undefined || sameJson(withoutInit(preview.patch), withoutInit(written ?? []));
  if (isSameOutput && isSamePatch) return null;
  const verb = isSamePatch ? "returned" : "wrote";
  const message = `the call ${verb} something other than gate ${gate_id} had shown; its changes were discarded`;
  return fault("PREVIEW_STALE", message);
}

/** Omits the creation of slices, which changes nothing that a call can read. */
function withoutInit(patch: Patch): Json {
  return patch.filter(({ op }) => op !== "init") as unknown as Json;
}
