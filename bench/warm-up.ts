import type { Measurement } from "./measurement.ts";

/** A measurement is warm when two rounds in a row differ by less than this. */
const STABLE_WITHIN = 0.05;

/** The most rounds of a warm-up. A measurement that is still not stable then varies for another reason. */
const MOST_ROUNDS = 8;

type WarmedMeasurement = Pick<Measurement, "maxRounds" | "startsProcesses" | "round">;

/** Repeats a measurement until its value is stable, so that the compiler has done its work. Returns the rounds it took. */
export async function warmUp(measurement: WarmedMeasurement): Promise<number> {
  const { maxRounds, startsProcesses = false, round } = measurement;
  if (maxRounds === 1 || startsProcesses) return 0;
  let before = (await round("limit first")).value;
  for (let rounds = 2; rounds <= MOST_ROUNDS; rounds += 1) {
    const { value } = await round(rounds % 2 === 0 ? "engine first" : "limit first");
    if (Math.abs(value - before) <= STABLE_WITHIN * before) return rounds;
    before = value;
  }
  return MOST_ROUNDS;
}
