import type { SeedSearchResult, searchSeeds } from "../search-seeds.ts";
import { simulate } from "../simulate.ts";
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

/** A violation counts only if the engine without the bug has none with the same seed. */
async function searchBug({ bug, from, steps }: BugSearchTask): Promise<BugSearchResult> {
  const planted = plantBug(bug);
  const module = (await import(planted.search)) as { readonly searchSeeds: typeof searchSeeds };
  const done = { seeds: 0, steps: 0 };
  let first: BugSearchResult["first"] = null;
  while (first === null && done.steps < steps) {
    const found = await module.searchSeeds({ from: from + done.seeds, steps: steps - done.steps, first: true });
    done.seeds += found.seeds;
    done.steps += found.steps;
    const [outcome] = found.violations;
    if (outcome?.violation == null) break;
    const plain = await simulate(outcome.seed);
    if (plain.violation === null) first = { seed: outcome.seed, law: outcome.violation.law };
  }
  planted.remove();
  return { ...done, first };
}
