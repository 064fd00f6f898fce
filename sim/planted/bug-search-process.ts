import type { SeedSearchResult, searchSeeds } from "../search-seeds.ts";
import { type PlantedBug, plantBug } from "./plant-bug.ts";

/** A planted bug and where to search for it. */
export interface BugSearchTask {
  readonly bug: PlantedBug;
  readonly from: number;
  readonly steps: number;
}

export type BugSearchResult = Pick<SeedSearchResult, "seeds" | "steps"> & {
  readonly first: { readonly seed: number; readonly law: string } | null;
};

/** Stack traces of simulated faults are never printed, and making them is slow. */
Error.stackTraceLimit = 0;

/** Searches for one planted bug after another; modules without a bug are loaded once. */
process.on("message", (task: BugSearchTask) => {
  void searchBug(task).then((result) => process.send?.(result));
});

async function searchBug({ bug, from, steps }: BugSearchTask): Promise<BugSearchResult> {
  const planted = plantBug(bug);
  const module = (await import(planted.search)) as { readonly searchSeeds: typeof searchSeeds };
  const { seeds, steps: taken, violations } = await module.searchSeeds({ from, steps, first: true });
  planted.remove();
  const [first] = violations;
  return {
    seeds,
    steps: taken,
    first: first?.violation == null ? null : { seed: first.seed, law: first.violation.law },
  };
}
