import { newCounters } from "./counters.ts";
import { type SeedSearchBounds, type SeedSearchResult, searchWith } from "./search-with.ts";
import { simulate } from "./simulate.ts";

/** Simulates the engine with consecutive seeds until the number of steps is reached. */
export function searchSeeds(bounds: SeedSearchBounds): Promise<SeedSearchResult> {
  return searchWith(simulate, newCounters(), bounds);
}
