import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { fillWithRuns, listFilters, timeLists } from "../list-time.ts";
import type { Measurement } from "../measurement.ts";
import type { BenchServer } from "./bench-server.ts";

/** Measures the first page of lists of runs on Postgres. */
export function postgresListTime(server: BenchServer, id: string, runs: number): Measurement {
  return {
    id,
    about: `first page of ${runs} runs, the slowest of ${listFilters.length} filters`,
    limitAbout: "reading the 50 rows of a page by their keys",
    unit: "ms",
    goal: { of: "value", atMost: 20 },
    maxRounds: 1,
    round: async () => {
      await server.empty();
      const store = await postgres(server.url);
      await fillWithRuns(store, runs);
      await server.query("analyze");
      const round = await timeLists(store);
      await store.close();
      return round;
    },
  };
}
