import { stateTools } from "../../src/core/plan/plan-context.ts";
import { findStep, type Run, type Step } from "../../src/core/run/run.ts";
import type { StepState } from "../../src/core/run/step.ts";
import type { SimContext } from "../sim-context.ts";

const ranStates: readonly (StepState | undefined)[] = [
  "succeeded",
  "compensating",
  "compensated",
  "compensation_failed",
];

/**
 * I9: no step is called before its dependencies have run. They are on record, except that a worker may call a tool that
 * does not act with the outputs that it has received. `received` returns whether it has one; null: the tool acts.
 */
export function checkDependencies(
  sim: SimContext,
  run: Run,
  { spec }: Step,
  received: ((step: string) => boolean) | null,
): void {
  for (const needed of spec.depends_on) {
    const step = findStep(run, needed);
    const state = step?.standing.state;
    // The tool of the engine that reads state answers inside the worker, where the simulator does not see it.
    const isReceived = received !== null && (received(needed) || step?.spec.name === stateTools.state_read);
    if (!ranStates.includes(state) && !isReceived)
      sim.violate(`I9: ${run.id} ${spec.step_id} was called while ${needed} is ${state}`);
  }
}
