import { createEngine } from "../src/engine/engine.ts";
import { agent, type Engine, type PlanInput, type Tool } from "../src/index.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { memory } from "../src/store/memory/memory.ts";
import { openSqlite } from "../src/store/sqlite/sqlite-store.ts";
import { type Measurement, measurePair, measureRates } from "./measurement.ts";
import { withScratchFile } from "./scratch-file.ts";

const principal = agent("agent", "bench");
const anything = { type: "object" } as const;

/** Measures the time of independent reads that wait for something outside. The limit is the least time they need. */
export function planMakespan(id: string): Measurement {
  const [steps, ms, concurrency] = [1000, 10, 100];
  const wait = defineTool({
    name: "wait",
    effect: "reads",
    input: anything,
    output: {},
    run: () => new Promise<number>((resolve) => setTimeout(() => resolve(1), ms)),
  });
  const plan = { steps: Array.from({ length: steps }, (_, at) => ({ step_id: `s${at}`, name: "wait" })) };
  const limit = (steps / concurrency) * ms;
  return {
    id,
    about: `one run of ${steps} independent reads of ${ms} ms, ${concurrency} at a time, durability \`power\``,
    limitAbout: `${limit} ms: the waits alone`,
    unit: "ms",
    goal: { of: "ratio", atMost: 1.3 },
    round: () =>
      withScratchFile(async (file) => {
        const engine = await createEngine({ store: openSqlite(file), tools: [wait], limits: { concurrency } });
        const value = await timeOf(engine, plan);
        await engine.close();
        return { value, limit, ratio: value / limit };
      }),
  };
}

/** Measures steps without work in a random graph. The limit is the rate of short plans, so the ratio shows flatness. */
export function graphSpeed(id: string): Measurement {
  const count = 10_000;
  const noop = defineTool({ name: "noop", effect: "pure", input: anything, output: {}, run: () => 1 });
  const rate = (size: number) => async () => {
    const engine = await createEngine({ store: memory(), tools: [noop] });
    let took = 0;
    for (let at = 0; at < count / size; at += 1) took += await timeOf(engine, randomGraph(size, at));
    await engine.close();
    return took;
  };
  return {
    id,
    about: `one run of ${count} steps in a random graph, tools without work, in memory`,
    limitAbout: "the same number of steps in runs of 100",
    unit: "steps/s",
    goal: { of: "value", atLeast: 50_000 },
    round: (order) => measureRates(order, count, { engine: rate(count), limit: rate(100) }),
  };
}

/** Measures the static check of a plan. The limit is reading it as JSON. */
export function checkTime(id: string): Measurement {
  const tools: readonly Tool[] = [
    defineTool({ name: "noop", effect: "pure", input: anything, output: {}, run: () => 1 }),
  ];
  const text = JSON.stringify(randomGraph(1000, 1));
  return {
    id,
    about: "`check` of a plan of 1000 steps in a random graph",
    limitAbout: "reading and writing the plan as JSON",
    unit: "ms",
    goal: { of: "value", atMost: 50 },
    round: async (order) => {
      const engine = await createEngine({ store: memory(), tools });
      const round = await measurePair(order, {
        engine: async () => milliseconds(() => engine.check(JSON.parse(text))),
        limit: async () => milliseconds(() => JSON.stringify(JSON.parse(text))),
      });
      await engine.close();
      return round;
    },
  };
}

async function timeOf(engine: Engine, plan: PlanInput): Promise<number> {
  const start = performance.now();
  const { status } = await (await engine.submit(plan, { principal })).result();
  if (status !== "completed") throw new Error(`the run is ${status}`);
  return performance.now() - start;
}

function milliseconds(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Each step needs up to three of the 50 steps before it. */
function randomGraph(size: number, seed: number): PlanInput {
  let state = seed + 1;
  const below = (most: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % most;
  };
  const steps = Array.from({ length: size }, (_, at) => {
    const needs = new Set(Array.from({ length: below(4) }, () => at - 1 - below(50)).filter((need) => need >= 0));
    return { step_id: `s${at}`, name: "noop", payload: { at }, depends_on: [...needs].map((need) => `s${need}`) };
  });
  return { steps };
}
