import { type SeedSearchBounds, type SeedSearchResult, searchWith } from "../search-with.ts";
import { newFileCounters } from "./file-counters.ts";
import { simulateFile } from "./simulate-file.ts";

/** Simulates the processes of one file with consecutive seeds until the number of steps is reached. */
export function searchFileSeeds(bounds: SeedSearchBounds): Promise<SeedSearchResult> {
  return searchWith(simulateFile, newFileCounters(), bounds);
}
