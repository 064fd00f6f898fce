import type { Measurement, MeasurementGoal, MeasurementOrder } from "../measurement.ts";
import type { BenchServer } from "../postgres/bench-server.ts";
import { withScratchFile } from "../scratch-file.ts";
import type { Workload } from "../workload.ts";
import { withProcesses } from "./bench-process.ts";
import type { ProcessRole } from "./process-role.ts";

const MEASURED_MS = 5_000;

/** The time in which all processes work before they are measured. */
const WARM_MS = 1_000;

const manyReads: Workload = { effects: ["reads"], runs: 1, steps: 10, atOnce: 20, order: "chain", durability: "power" };
const about = (processes: number, where: string) =>
  `${processes} processes ${where}, each with 20 runs of 10 reads at a time: steps of all`;

/** Measures the steps of several processes on one SQLite file, beside those of one process. */
export function sqliteScaling(id: string, processes: number, goal: MeasurementGoal | null): Measurement {
  const rate = (count: number) => withScratchFile((file) => stepRate(file, count, 2_000));
  return {
    ...scaling(processes, rate),
    id,
    about: about(processes, "on one file"),
    limitAbout: "one process on one file",
    goal,
  };
}

/** Measures the steps of several processes on one Postgres server, beside those of one process. */
export function postgresScaling(server: BenchServer, id: string, processes: number): Measurement {
  const rate = async (count: number) => {
    // A transaction of a killed process could hold locks that the emptying of the tables needs.
    await server.endSessions();
    await server.empty();
    return stepRate(server.url, count, 300);
  };
  return {
    ...scaling(processes, rate),
    id,
    about: about(processes, "on one server"),
    limitAbout: "one process on one server",
    goal: null,
  };
}

function scaling(processes: number, rate: (count: number) => Promise<number>) {
  return {
    unit: "steps/s",
    startsProcesses: true,
    round: async (order: MeasurementOrder) => {
      const alone = order === "limit first" ? await rate(1) : null;
      const value = await rate(processes);
      const limit = alone ?? (await rate(1));
      return { value, limit, ratio: value / limit };
    },
  } as const;
}

/**
 * Returns the steps per second of all processes together. Each process first ends `warmRuns` runs, so that its code is
 * compiled whichever share of the machine it gets.
 */
function stepRate(store: string, processes: number, warmRuns: number): Promise<number> {
  const times = { warmRuns, warmMs: WARM_MS, measuredMs: MEASURED_MS };
  const role: ProcessRole = { do: "load", store, ...times, workload: manyReads };
  return withProcesses(
    Array.from({ length: processes }, () => role),
    async (all) => {
      for (const each of all) each.go();
      const ended = await Promise.all(all.map((each) => each.next("ended")));
      const runs = ended.reduce((sum, each) => sum + each.runs, 0);
      return (runs * manyReads.steps * 1000) / MEASURED_MS;
    },
  );
}
