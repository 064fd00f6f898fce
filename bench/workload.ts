import { z } from "zod";
import type { DraftOf, Slice } from "../src/core/state/slice.ts";
import type { Store } from "../src/core/store.ts";
import type { Engine, PrincipalInput } from "../src/engine/api.ts";
import { createEngine } from "../src/engine/engine.ts";
import type { Durability } from "../src/engine/ports.ts";
import { defineSlice } from "../src/schema/define-slice.ts";
import { defineTool } from "../src/schema/define-tool.ts";

const effects = ["pure", "reads", "writes", "acts"] as const;

type Effect = (typeof effects)[number];

/** How much of what a workload does: so many runs of so many steps, so many of them at a time. */
export interface Workload {
  /** What the steps of a run do, in turn. */
  readonly effects: readonly Effect[];
  readonly runs: number;
  readonly steps: number;
  readonly atOnce: number;
  /** Whether each step waits for the one before it: then what they cost cannot hide behind what they share. */
  readonly order: "chain" | "parallel";
  readonly durability: Durability;
}

export const principal: PrincipalInput = { id: "agent", kind: "agent", tenant: "bench" };

export function planOf({ effects, steps, order }: Pick<Workload, "effects" | "steps" | "order">): object {
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

/** The state of the one project that all work on who write: how often something was done. */
const counts = defineSlice({ name: "counts", shape: "map", entry: z.object({ times: z.number() }) });

/** Tools of every effect that answer at once. `onCall` hears when a handler is called. */
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
        return answer(n);
      },
    }),
  );
}

/** Made once, as a program makes its tools: what the compiler has learned about them is forgotten with them. */
const usual = benchTools();

function countUp(slice: DraftOf<{ readonly times: number }, "map">, key: string): void {
  slice.set(key, { times: (slice.get(key)?.times ?? 0) + 1 });
}

/** About 200 bytes of JSON. */
export function answer(n: number): { readonly n: number; readonly text: string } {
  return { n, text };
}

const text = "A step that answers with about two hundred bytes, as a short reply of a model would. "
  .repeat(3)
  .slice(0, 182);

/** Nothing is held for a person, and everything that is ready may run. */
export function openEngine(
  store: Store,
  durability: Durability,
  tools = usual,
  slices: readonly Slice[] = [],
): Promise<Engine> {
  const tenants = { bench: { mode: "auto_exec" } } as const;
  return createEngine({ store, tools, slices, durability, tenants, limits: { concurrency: 1000 } });
}

/** With state, if someone writes it. */
export function openEngineFor({ durability, effects }: Workload, store: Store): Promise<Engine> {
  return openEngine(store, durability, usual, effects.includes("writes") ? [counts] : []);
}

/** Runs a workload to its end. Each run is waited for until it is at rest, and must have done all of its steps. */
export async function work(engine: Engine, workload: Workload): Promise<void> {
  const plan = planOf(workload);
  const options = { principal, ...(workload.effects.includes("writes") && { project: "shop" }) };
  let left = workload.runs;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      const run = await engine.submit(plan, options);
      const { status } = await run.result();
      if (status !== "completed") throw new Error(`a run of ${workload.steps} steps is ${status}`);
    }
  };
  await Promise.all(Array.from({ length: workload.atOnce }, lane));
}
