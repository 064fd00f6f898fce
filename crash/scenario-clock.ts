import type { Clock } from "../src/core/ports/clock.ts";
import type { Instant } from "../src/core/values/ids.ts";
import { readWorldEntries, type WorldLog } from "./world-log.ts";

const minuteEntry = { did: "pass", to: "a minute" } as const;

/** The minutes by which the clock is advanced. */
let advancedMinutes = 0;

/** Returns the clock of a world. A scenario can advance it by a minute, also for all later processes. */
export function scenarioClock(world: string): Clock {
  advancedMinutes = readWorldEntries(world).filter(({ did }) => did === minuteEntry.did).length;
  return { now: () => (Date.now() + advancedMinutes * 61_000) as Instant };
}

/** Advances the clock by a minute, once per scenario. */
export function advanceOneMinute(worldLog: WorldLog): void {
  if (worldLog.count(minuteEntry.did, minuteEntry.to) > 0) return;
  worldLog.append(minuteEntry);
  advancedMinutes += 1;
}
