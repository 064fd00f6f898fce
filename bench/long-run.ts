import { sqlite } from "../src/store/sqlite/sqlite-store.ts";
import type { Measurement } from "./measurement.ts";
import { median } from "./samples.ts";
import { bytesOf, withScratch } from "./scratch.ts";
import { benchTools, openEngine, work } from "./workload.ts";

const steps = 10_000;

/** A step counts as one of about so many if it is among the 200 around there. */
const early = [0, 200] as const;
const late = [steps - 200, steps] as const;

/** What the 10,000th step of a run costs, in times of what the 100th costs. Flat is the limit. */
export function flatness(id: string): Measurement {
  return {
    id,
    about: "one run of 10000 steps, one after the other: what a step costs at the end",
    beside: "what one costs at step 100",
    unit: "times",
    goal: { of: "ratio", atMost: 1.15 },
    enough: 3,
    round: async () => {
      const { costs } = await longRun();
      const value = median(costs.slice(...late)) / median(costs.slice(...early));
      return { value, limit: 1, ratio: value };
    },
  };
}

/** How many bytes of the file a step with a result of 200 bytes takes: its event, its part of the plan and of every index. */
export function weight(id: string): Measurement {
  const limit = 1024;
  return {
    id,
    about: "the same run: bytes of the file per step with a result of 200 bytes",
    beside: "1 KiB",
    unit: "bytes/step",
    goal: { of: "ratio", atMost: 1 },
    enough: 1,
    round: async () => {
      const { bytes } = await longRun();
      return { value: bytes / steps, limit, ratio: bytes / steps / limit };
    },
  };
}

/** Walks one long chain. What a step costs is the time from its handler's call to the next one's. */
async function longRun(): Promise<{ readonly costs: readonly number[]; readonly bytes: number }> {
  return withScratch(async (file) => {
    const calls: number[] = [];
    const tools = benchTools(() => calls.push(performance.now()));
    const engine = await openEngine(sqlite(file), "every", tools);
    await work(engine, { effects: ["reads"], runs: 1, steps, atOnce: 1, order: "chain", durability: "every" });
    await engine.close();
    const costs = calls.slice(1).map((call, at) => call - (calls[at] ?? 0));
    return { costs, bytes: bytesOf(file) };
  });
}
