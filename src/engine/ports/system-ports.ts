import { randomFillSync } from "node:crypto";
import type { RandomSource, Stopwatch, Timers } from "../../core/ports/clock.ts";
import type { Instant } from "../../core/values/ids.ts";

/** The default timers, clock, random numbers and ids of an engine. */
export const systemTimers: Timers = {
  after(ms, work) {
    const timer = setTimeout(work, Math.min(ms, TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
};

export const systemEndOfTurn = (work: () => void): void => void setImmediate(work);

/** Timers of loops that have no end. They do not keep the process alive. */
export const backgroundTimers: Timers = {
  after(ms, work) {
    const timer = setTimeout(work, Math.min(ms, TIMER_MS_MAX)).unref();
    return () => clearTimeout(timer);
  },
};

/** Keeps the process alive until the promise is settled: a caller awaits it. All callers share one timer. */
export async function keepProcessAlive<Result>(awaited: Promise<Result>): Promise<Result> {
  awaitedCount += 1;
  aliveTimer ??= setInterval(() => {}, TIMER_MS_MAX);
  try {
    return await awaited;
  } finally {
    awaitedCount -= 1;
    if (awaitedCount === 0) {
      clearInterval(aliveTimer);
      aliveTimer = undefined;
    }
  }
}

/** The number of promises that keep the process alive now. */
let awaitedCount = 0;
let aliveTimer: NodeJS.Timeout | undefined;

/** Node fires a longer timer immediately. Callers that need longer check the clock and set another timer. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemStopwatch: Stopwatch = () => performance.now();

export const systemRandom: RandomSource = () => Math.random();

/** Makes ids that sort by time: 48 bits of time, then 80 random bits, in Crockford's base 32. */
export type NewId = (prefix: string, now: Instant) => string;

export const systemIds: NewId = (prefix, now) => {
  let id = idPrefix(prefix, now);
  for (let count = 0; count < 16; count += 1) id += ALPHABET[randomByte() % 32];
  return id;
};

/** Returns the beginning of the ids that are made at this time. Ids of later times follow it. */
export function idPrefix(prefix: string, now: Instant): string {
  let time = "";
  for (let shift = 45; shift >= 0; shift -= 5) time += ALPHABET[Math.floor(now / 2 ** shift) % 32];
  return `${prefix}_${time}`;
}

/** Random bytes are read in blocks, because each request to the system is expensive. */
const randomBytes = new Uint8Array(4096);
let randomBytesUsed = randomBytes.length;

function randomByte(): number {
  if (randomBytesUsed === randomBytes.length) {
    randomFillSync(randomBytes);
    randomBytesUsed = 0;
  }
  randomBytesUsed += 1;
  return randomBytes[randomBytesUsed - 1] as number;
}

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
