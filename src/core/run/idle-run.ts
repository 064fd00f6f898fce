import type { Instant } from "../values/ids.ts";
import type { Run } from "./run.ts";

/** An open run without a fact for this long is closed as abandoned, unless its session has another time. */
const DEFAULT_IDLE_MS = 30 * 24 * 60 * 60 * 1000;

/** Returns how long the session of an open run may be idle. */
export function idleMsOf({ opened }: Pick<Run, "opened">): number {
  return opened?.idle_ms ?? DEFAULT_IDLE_MS;
}

/**
 * Returns when an open run that no worker drives has been idle for too long, or null. The time counts from the last
 * release, gate, decision or doubt.
 */
export function idleEndAt(run: Run): Instant | null {
  if (!run.open || run.opened === null || run.driven || run.paces.moving + run.paces.retrying > 0) return null;
  return (run.listing.summary.updated_at + idleMsOf(run)) as Instant;
}
