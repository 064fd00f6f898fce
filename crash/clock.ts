import type { Instant } from "../src/core/id.ts";
import type { Clock } from "../src/core/time/clock.ts";
import { deedsIn, type Witness } from "./witness.ts";

const passed = { did: "pass", to: "a minute" } as const;

/** How many minutes have passed that nobody waited for. */
let minutes = 0;

/** The time of a world, in which a story may let a minute pass; so it has for every process after that. */
export function clockOf(world: string): Clock {
  minutes = deedsIn(world).filter(({ did }) => did === passed.did).length;
  return { now: () => (Date.now() + minutes * 61_000) as Instant };
}

/** Lets a minute pass, once. */
export function passMinute(witness: Witness): void {
  if (witness.count(passed.did, passed.to) > 0) return;
  witness.note(passed);
  minutes += 1;
}
