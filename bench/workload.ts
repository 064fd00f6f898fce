import { z } from "zod";
import type { DraftOf, Slice } from "../src/core/state/slice.ts";
import type { Store } from "../src/core/store/store.ts";
import type { Tool } from "../src/core/tool/tool.ts";
import type { Engine, PrincipalInput } from "../src/engine/api/engine-api.ts";
import type { Durability } from "../src/engine/api/engine-limits.ts";
import { createEngine } from "../src/engine/engine.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { defineTool } from "../src/schema/define-tool.ts";

const effects = ["pure", "reads", "writes", "acts"] as const;

type Effect = (typeof effects)[number];

/** Runs and steps, and how many runs are concurrent. */
export interface Workload {
  /** The effects of the steps of a run; they repeat. */
  readonly effects: readonly Effect[];
  readonly runs: number;
  readonly steps: number;
  readonly atOnce: number;
  /** In a chain each step waits for the previous one, so that steps cannot share an append. */
  readonly order: "chain" | "parallel";
  readonly durability: Durability;
  /** True: each run is one `engine.call`. */
  readonly calls?: true;
}

export const benchPrincipal: PrincipalInput = { id: "agent", kind: "agent", tenant: "bench" };

export function benchPlan({ effects, steps, order }: Pick<Workload, "effects" | "steps" | "order">): object {
  return {
    steps: Array.from({ length: steps }, (_, at) => ({
      step_id: stepId(at),
      name: `bench.${effects[at % effects.length]}`,
      payload: { n: at },
      depends_on: at === 0 || order === "parallel" ? [] : [stepId(at - 1)],
    })),
  };
}

function stepId(at: number): string {
  return `step-${String(at).padStart(5, "0")}`;
}

/** The state of the project of all writing steps: how often each kind was written. */
const counts = defineSlice({ name: "counts", shape: "map", entry: z.object({ times: z.number() }) });

/** Returns a tool per effect that answers at once. `onCall` is called with each handler. */
export function benchTools(onCall: () => void = () => {}) {
  return effects.map((effect) =>
    defineTool({
      name: `bench.${effect}`,
      effect,
      input: z.object({ n: z.number() }),
      output: z.object({ n: z.number(), text: z.string() }),
      run: async ({ n }, { slice }) => {
        onCall();
        if (effect === "writes") countUp(slice(counts), `kind-${n}`);
        return stepAnswer(n);
      },
    }),
  );
}

/** Made once, as in a program, so that the compiled code of the tools is retained. */
const defaultTools = benchTools();

function countUp(slice: DraftOf<{ readonly times: number }, "map">, key: string): void {
  slice.set(key, { times: (slice.get(key)?.times ?? 0) + 1 });
}

/** About 200 bytes of JSON. */
export function stepAnswer(n: number): { readonly n: number; readonly text: string } {
  return { n, text: answerText };
}

const answerText = "A step that answers with about two hundred bytes, as a short reply of a model would. "
  .repeat(3)
  .slice(0, 182);

/** Opens an engine without approvals and with a high concurrency. */
export function openBenchEngine(
  store: Store,
  durability: Durability,
  tools: readonly Tool[] = defaultTools,
  slices: readonly Slice[] = [],
  work = true,
): Promise<Engine> {
  const tenants = { bench: { mode: "auto_exec" } } as const;
  return createEngine({ store, tools, slices, durability, tenants, work, limits: { concurrency: 1000 } });
}

/** Opens an engine for a workload, with state if a step writes it. */
export function openWorkloadEngine({ durability, effects }: Workload, store: Store): Promise<Engine> {
  return openBenchEngine(store, durability, defaultTools, effects.includes("writes") ? [counts] : []);
}

/** Runs a workload. Each run must complete all of its steps. */
export async function runWorkload(engine: Engine, workload: Workload): Promise<void> {
  const plan = benchPlan(workload);
  const options = { principal: benchPrincipal, ...(workload.effects.includes("writes") && { project: "shop" }) };
  let remaining = workload.runs;
  const runPlan = async () => (await (await engine.submit(plan, options)).result()).status;
  const submitRuns = async () => {
    while (remaining > 0) {
      remaining -= 1;
      const status = workload.calls ? await callOnce(engine, workload) : await runPlan();
      if (status !== "completed") throw new Error(`a run of ${workload.steps} steps is ${status}`);
    }
  };
  await Promise.all(Array.from({ length: workload.atOnce }, submitRuns));
}

async function callOnce(engine: Engine, { effects: [effect] }: Workload): Promise<string> {
  const { result } = await engine.call(`bench.${effect}`, { n: 0 }, { principal: benchPrincipal });
  return result.status;
}
