import { randomFillSync } from "node:crypto";
import type { Instant } from "../core/id.ts";
import type { Dice, Stopwatch, Timers } from "../core/time/clock.ts";

/** The world's own timers, dice and ids: what an engine gets when nobody passes others in. */
export const systemTimers: Timers = {
  after(ms, work) {
    const timer = setTimeout(work, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Node runs a longer timer at once; whoever waits longer looks again when this one fires. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemStopwatch: Stopwatch = () => performance.now();

export const systemDice: Dice = () => Math.random();

/** Makes ids that sort by time: 48 bits of it, then 80 bits of chance, in Crockford's base 32. */
export type NewId = (prefix: string, now: Instant) => string;

export const systemIds: NewId = (prefix, now) => {
  let id = "";
  for (let shift = 45; shift >= 0; shift -= 5) id += ALPHABET[Math.floor(now / 2 ** shift) % 32];
  for (let count = 0; count < 16; count += 1) id += ALPHABET[chance() % 32];
  return `${prefix}_${id}`;
};

/** The system is asked for many random bytes at a time: asking costs more than the bytes. */
const pool = new Uint8Array(4096);
let taken = pool.length;

function chance(): number {
  if (taken === pool.length) {
    randomFillSync(pool);
    taken = 0;
  }
  taken += 1;
  return pool[taken - 1] as number;
}

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
