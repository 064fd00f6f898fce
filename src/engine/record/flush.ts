import type { Event, EventType } from "../../core/event.ts";
import type { StoredEvent } from "../../core/store.ts";

/** Facts that are on disk before anyone goes on, whatever they say. */
const hardTypes: ReadonlySet<string> = new Set<EventType>([
  "run.accepted",
  "run.closed",
  "cancel.requested",
  "run.resumed",
  "run.undone",
  "state.restored",
  "budget.alerted",
  "step.started", // It acts, or it uses up an approval.
  "step.doubted",
  "step.compensating",
  "step.compensated",
  "step.uncompensated",
  "gate.opened",
  "gate.endorsed",
  "gate.approved",
  "gate.amended",
  "gate.rejected",
  "gate.expired",
  "gate.closed",
  "gate.contested",
]);

/** Whether a fact has to be on disk before anyone goes on: it is about an act or an approval, or someone outside is told. */
export function isHard(event: Event): boolean {
  return (
    hardTypes.has(event.type) ||
    ("ledger" in event && event.ledger !== null) ||
    // What was captured for it is let go then: nobody could put it back any more.
    "closings" in event ||
    ("notices" in event && event.notices !== undefined)
  );
}

/** Nobody is shown it: when it is lost, the message is delivered once more. */
export function isUnseen({ type }: { readonly type: string }): boolean {
  return type === "notice.delivered";
}

/**
 * Up to where events must be on disk, by what they are: a hard one takes all before it along, and so does a run that came to
 * rest, whose events up to `rested` are shown to whoever asks.
 */
export function hardTo(stored: readonly StoredEvent[], rested: number): number {
  const last = stored.findLast(
    (event) =>
      hardTypes.has(event.type) || event.type === "run.ended" || (event.position <= rested && !isUnseen(event)),
  );
  return last?.position ?? 0;
}
