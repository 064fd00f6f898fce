import type { SeedSearchBounds, SeedSearchResult } from "../search-with.ts";
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

type SearchModule = Readonly<Record<string, (bounds: SeedSearchBounds) => Promise<SeedSearchResult>>>;

/** A violation counts only if there is none with the same seed and without the bug. */
async function searchBug({ bug, from, steps }: BugSearchTask): Promise<BugSearchResult> {
  const planted = plantBug(bug);
  const { [planted.name]: search } = (await import(planted.module)) as SearchModule;
  const { [planted.name]: searchPlain } = (await import(planted.plainModule)) as SearchModule;
  if (search === undefined || searchPlain === undefined) throw new Error(`no function ${planted.name}`);
  const done = { seeds: 0, steps: 0 };
  let first: BugSearchResult["first"] = null;
  while (first === null && done.steps < steps) {
    const found = await search({ from: from + done.seeds, steps: steps - done.steps, first: true });
    done.seeds += found.seeds;
    done.steps += found.steps;
    const [outcome] = found.violations;
    if (outcome?.violation == null) break;
    const { violations } = await searchPlain({ from: outcome.seed, steps: 1, first: true });
    if (violations.length === 0) first = { seed: outcome.seed, law: outcome.violation.law };
  }
  planted.remove();
  return { ...done, first };
}
