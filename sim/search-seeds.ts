import { addCounters, type CounterName, type Counters, counterNames, newCounters } from "./counters.ts";
import { type SimOutcome, simulate } from "./simulate.ts";

/** The result of a search over many seeds. */
export interface SeedSearchResult {
  readonly seeds: number;
  readonly steps: number;
  readonly counts: Counters;
  readonly violations: readonly SimOutcome[];
}

export interface SeedSearchBounds {
  readonly from: number;
  readonly steps: number;
  /** Stop at the first violation. */
  readonly first: boolean;
}

/** Simulates consecutive seeds until the number of steps is reached. */
export async function searchSeeds({ from, steps, first }: SeedSearchBounds): Promise<SeedSearchResult> {
  const found = { seeds: 0, steps: 0, counts: newCounters(), violations: [] as SimOutcome[] };
  while (found.steps < steps) {
    const outcome = await simulate(from + found.seeds);
    found.seeds += 1;
    found.steps += outcome.steps;
    addCounters(found.counts, outcome.counts);
    if (outcome.violation === null) continue;
    found.violations.push(outcome);
    if (first) break;
  }
  return found;
}

/** From this number of seeds on, every counted event must occur at least once. */
const MIN_SEEDS_FOR_COVERAGE = 1000;

/** Returns the counters that are still zero after enough seeds. */
export function findUnusedCounters({ seeds, counts }: SeedSearchResult): readonly CounterName[] {
  return seeds < MIN_SEEDS_FOR_COVERAGE ? [] : counterNames.filter((name) => counts[name] === 0);
}
