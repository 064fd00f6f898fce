import type { Event, EventType } from "../../core/event/event.ts";
import { type EventTraits, eventTraits } from "../../core/event/event-traits.ts";
import type { StoredEvent } from "../../core/store/store.ts";

/** Returns whether an event must be on disk before the run goes on: it concerns an act, an approval or a notice. */
export function isHardEvent(event: Event): boolean {
  const { hard } = eventTraits[event.type];
  return hard === "by_content" ? isHardByContent(event) : hard === "always";
}

/** Closings count because the captures are deleted then: without the event they could no longer be restored. */
function isHardByContent(event: Event): boolean {
  return (
    ("ledger" in event && event.ledger !== null) ||
    "closings" in event ||
    ("notices" in event && event.notices !== undefined)
  );
}

/** Returns whether callers never see the event. If it is lost, a notice is delivered again. */
export function isNeverShown({ type }: { readonly type: EventType }): boolean {
  return !eventTraits[type].visible;
}

/**
 * The position up to which events are on disk, as far as their types tell: a hard event takes all before it along, and so does a
 * run that came to rest at position `rested`, because callers see it.
 */
export function lastHardPosition(stored: readonly StoredEvent[], rested: number): number {
  const last = stored.findLast(({ type, position }) => {
    const traits: EventTraits | undefined = eventTraits[type as EventType];
    return traits?.hard === "always" || type === "run.ended" || (position <= rested && traits?.visible !== false);
  });
  return last?.position ?? 0;
}
