import { type SeedSearchBounds, type SeedSearchResult, searchWith } from "../search-with.ts";
import { newPlanCounters } from "./plan-process.ts";
import { simulatePlans } from "./simulate-plans.ts";

/** Simulates random plans with consecutive seeds until the number of steps is reached. */
export function searchPlanCases(bounds: SeedSearchBounds): Promise<SeedSearchResult> {
  return searchWith(simulatePlans, newPlanCounters(), bounds);
}
