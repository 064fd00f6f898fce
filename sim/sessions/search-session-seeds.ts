import { type SeedSearchBounds, type SeedSearchResult, searchWith } from "../search-with.ts";
import { newSessionCounters } from "./session-counters.ts";
import { simulateSessions } from "./simulate-sessions.ts";

/** Simulates sessions of agents with consecutive seeds until the number of steps is reached. */
export function searchSessionSeeds(bounds: SeedSearchBounds): Promise<SeedSearchResult> {
  return searchWith(simulateSessions, newSessionCounters(), bounds);
}
