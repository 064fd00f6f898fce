import { addCounts, type Counted, type Counts, counted, noCounts } from "./counts.ts";
import { type Outcome, simulate } from "./simulation.ts";

/** How many seeds went. */
export interface Found {
  readonly seeds: number;
  readonly steps: number;
  readonly counts: Counts;
  readonly violations: readonly Outcome[];
}

export interface Bounds {
  readonly from: number;
  readonly steps: number;
  /** Stop at the first law that is broken. */
  readonly first: boolean;
}

/** Plays seed after seed. */
export async function search({ from, steps, first }: Bounds): Promise<Found> {
  const found = { seeds: 0, steps: 0, counts: noCounts(), violations: [] as Outcome[] };
  while (found.steps < steps) {
    const outcome = await simulate(from + found.seeds);
    found.seeds += 1;
    found.steps += outcome.steps;
    addCounts(found.counts, outcome.counts);
    if (outcome.violation === null) continue;
    found.violations.push(outcome);
    if (first) break;
  }
  return found;
}

/** So many seeds that everything must have happened at least once. */
const ENOUGH_SEEDS = 1000;

/** What never happened though it should have: then passing means nothing. */
export function neverHappened({ seeds, counts }: Found): readonly Counted[] {
  return seeds < ENOUGH_SEEDS ? [] : counted.filter((name) => counts[name] === 0);
}
