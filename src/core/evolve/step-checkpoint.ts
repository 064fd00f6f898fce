import type { Event } from "../event/event.ts";
import type { Capture } from "../ports/resource.ts";
import type { MutableRun } from "../run/run.ts";
import type { Step } from "../run/step.ts";
import { smallPatch } from "../state/patch.ts";

/** Returns the state before and after an attempt that has ended, and the position of its event. */
export function stepCheckpoint(
  { position }: MutableRun,
  step: Step,
  { base, state }: Pick<Extract<Event, { type: "step.succeeded" }>, "base" | "state">,
  captures: readonly Capture[],
): Step["checkpoint"] {
  if (state !== undefined) {
    const changes = smallPatch(state.patch);
    return { before: state.version - 1, after: state.version, position, captures, changes };
  }
  if (base !== undefined) return { before: base, after: base, position, captures, changes: null };
  if (captures.length > 0) return { before: 0, after: 0, position, captures, changes: null };
  if (step.checkpoint?.before != null) return step.checkpoint;
  return { before: null, after: null, position, captures, changes: null };
}

/** Returns the checkpoint of an attempt that failed. The changes of another program stay, and a person can undo them. */
export function watchedCheckpoint({ position }: MutableRun, step: Step): Step["checkpoint"] {
  const captures = step.captures.filter(({ access }) => access === "watched");
  return captures.length === 0 ? step.checkpoint : { before: null, after: null, position, captures, changes: null };
}
