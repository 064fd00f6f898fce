import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import type { Measurement } from "./measurement.ts";
import { median } from "./samples.ts";
import { storeBytes, withScratchFile } from "./scratch-file.ts";
import { benchTools, openBenchEngine, runWorkload } from "./workload.ts";

const steps = 10_000;

/** The cost at a position is the median of 200 steps around it. */
const firstSteps = [0, 200] as const;
const lastSteps = [steps - 200, steps] as const;

/** Measures the cost of the 10,000th step of a run, relative to the 100th. The limit is 1. */
export function runFlatness(id: string): Measurement {
  return {
    id,
    about: "one run of 10000 sequential steps: the cost of a step at the end",
    limitAbout: "the cost of a step at step 100",
    unit: "times",
    goal: { of: "ratio", atMost: 1.15 },
    maxRounds: 3,
    round: async () => {
      const { costs } = await measureLongRun();
      const value = median(costs.slice(...lastSteps)) / median(costs.slice(...firstSteps));
      return { value, limit: 1, ratio: value };
    },
  };
}

/** Measures the bytes of the file per step with a result of 200 bytes: its event, its part of the plan and indexes. */
export function runBytes(id: string): Measurement {
  const limit = 1024;
  return {
    id,
    about: "the same run: bytes of the file per step with a result of 200 bytes",
    limitAbout: "1 KiB",
    unit: "bytes/step",
    goal: { of: "ratio", atMost: 1 },
    maxRounds: 1,
    round: async () => {
      const { bytes } = await measureLongRun();
      return { value: bytes / steps, limit, ratio: bytes / steps / limit };
    },
  };
}

/** Executes one long chain. The cost of a step is the time from its handler call to the next. */
async function measureLongRun(): Promise<{ readonly costs: readonly number[]; readonly bytes: number }> {
  return withScratchFile(async (file) => {
    const calls: number[] = [];
    const tools = benchTools(() => calls.push(performance.now()));
    const engine = await openBenchEngine(openSqlite(file), "every", tools);
    await runWorkload(engine, { effects: ["reads"], runs: 1, steps, atOnce: 1, order: "chain", durability: "every" });
    await engine.close();
    const costs = calls.slice(1).map((call, at) => call - (calls[at] ?? 0));
    return { costs, bytes: storeBytes(file) };
  });
}
