import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import type { Measurement } from "./measurement.ts";
import { median } from "./samples.ts";
import { bytesOf, withScratch } from "./scratch.ts";
import { openEngine, work } from "./workload.ts";

const steps = 10_000;

/** A step counts as one of about so many if it is among the 200 around there. */
const early = [0, 200] as const;
const late = [steps - 200, steps] as const;

/** What the 10,000th step of a run costs, in times of what the 100th costs. Flat is the limit. */
export function flatness(id: string): Measurement {
  return {
    id,
    unit: "times the cost at step 100",
    goal: { atMost: 1.15 },
    round: async () => {
      const { costs } = await longRun();
      const value = median(costs.slice(...late)) / median(costs.slice(...early));
      return { value, limit: 1, ratio: value };
    },
    detail: null,
  };
}

/** How many bytes of the file a step with a result of 200 bytes takes: its event, its part of the plan and of every index. */
export function weight(id: string): Measurement {
  const limit = 1024;
  return {
    id,
    unit: "bytes/step",
    goal: { atMost: 1 },
    round: async () => {
      const { bytes } = await longRun();
      return { value: bytes / steps, limit, ratio: bytes / steps / limit };
    },
    detail: null,
  };
}

/** Walks one long chain. What a step costs is the time from its handler's call to the next one's. */
async function longRun(): Promise<{ readonly costs: readonly number[]; readonly bytes: number }> {
  return withScratch(async (file) => {
    const calls: number[] = [];
    const engine = await openEngine(sqlite(file), () => calls.push(performance.now()));
    await work(engine, { effect: "reads", runs: 1, steps, atOnce: 1 });
    await engine.close();
    const costs = calls.slice(1).map((call, at) => call - (calls[at] ?? 0));
    return { costs, bytes: bytesOf(file) };
  });
}
