/** The result of simulating one seed. */
export interface SeedOutcome {
  readonly seed: number;
  readonly steps: number;
  /** The first violated invariant, with the last trace lines before it. */
  readonly violation: { readonly law: string; readonly lines: readonly string[] } | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly trace: string;
}

/** The result of a search over many seeds. */
export interface SeedSearchResult {
  readonly seeds: number;
  readonly steps: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly violations: readonly SeedOutcome[];
}

export interface SeedSearchBounds {
  readonly from: number;
  readonly steps: number;
  /** Stop at the first violation. */
  readonly first: boolean;
}

/** Simulates consecutive seeds until the number of steps is reached. Adds to the counts. */
export async function searchWith(
  simulateSeed: (seed: number) => Promise<SeedOutcome>,
  counts: Record<string, number>,
  { from, steps, first }: SeedSearchBounds,
): Promise<SeedSearchResult> {
  const found = { seeds: 0, steps: 0, counts, violations: [] as SeedOutcome[] };
  while (found.steps < steps) {
    const outcome = await simulateSeed(from + found.seeds);
    found.seeds += 1;
    found.steps += outcome.steps;
    for (const [name, count] of Object.entries(outcome.counts)) counts[name] = (counts[name] ?? 0) + count;
    if (outcome.violation === null) continue;
    found.violations.push(outcome);
    if (first) break;
  }
  return found;
}

/** From this number of seeds on, every counted event must occur at least once. */
const MIN_SEEDS_FOR_COVERAGE = 1000;

/** Returns the counters that are still zero after enough seeds. */
export function findUnusedCounters({ seeds, counts }: SeedSearchResult): readonly string[] {
  return seeds < MIN_SEEDS_FOR_COVERAGE ? [] : Object.keys(counts).filter((name) => counts[name] === 0);
}
