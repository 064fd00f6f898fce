import { z } from "zod";
import type { Store } from "../src/core/store.ts";
import type { Engine, PrincipalInput } from "../src/engine/api.ts";
import { createEngine } from "../src/engine/engine.ts";
import { defineTool } from "../src/schema/define-tool.ts";

type Effect = "reads" | "acts";

/** How much of what a workload does: so many runs of so many steps, so many of them at a time. */
export interface Workload {
  readonly effect: Effect;
  readonly runs: number;
  readonly steps: number;
  readonly atOnce: number;
}

export const principal: PrincipalInput = { id: "agent", kind: "agent", tenant: "bench" };

/** Steps that wait for each other, one after the other: what they cost cannot hide behind what they share. */
function chain({ effect, steps }: Pick<Workload, "effect" | "steps">): object {
  return {
    steps: Array.from({ length: steps }, (_, at) => ({
      step_id: stepId(at),
      name: `bench.${effect}`,
      payload: { n: at },
      depends_on: at === 0 ? [] : [stepId(at - 1)],
    })),
  };
}

function stepId(at: number): string {
  return `step-${String(at).padStart(5, "0")}`;
}

/** Each append synced, nothing held for a person. `onCall` hears when a handler is called. */
export function openEngine(store: Store, onCall: () => void = () => {}): Promise<Engine> {
  const tools = [tool("reads", onCall), tool("acts", onCall)];
  return createEngine({ store, tools, durability: "every", tenants: { bench: { mode: "auto_exec" } } });
}

/** Answers at once with about 200 bytes of JSON. */
function tool(effect: Effect, onCall: () => void) {
  return defineTool({
    name: `bench.${effect}`,
    effect,
    input: z.object({ n: z.number() }),
    output: z.object({ n: z.number(), text: z.string() }),
    run: async ({ n }) => {
      onCall();
      return { n, text };
    },
  });
}

const text = "A step that answers with about two hundred bytes, as a short reply of a model would. "
  .repeat(3)
  .slice(0, 182);

/** Runs a workload to its end. Each run is waited for until it is at rest, and must have done all of its steps. */
export async function work(engine: Engine, { effect, runs, steps, atOnce }: Workload): Promise<void> {
  const plan = chain({ effect, steps });
  let left = runs;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      const run = await engine.submit(plan, { principal });
      const { status } = await run.result();
      if (status !== "completed") throw new Error(`a run of ${steps} steps is ${status}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
