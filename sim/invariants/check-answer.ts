import { findStep } from "../../src/core/run/run.ts";
import type { ToolRequest } from "../external-world.ts";
import type { ObservedRun } from "../journal-observer.ts";
import type { SimContext } from "../sim-context.ts";

const endEvents: readonly string[] = ["step.succeeded", "step.failed", "evidence.kept"];

/** The answer of a tool to a worker that holds the run and lives is recorded. */
export function checkAnswer(sim: SimContext, request: ToolRequest): void {
  if (isAnswerRecorded(sim, request)) return;
  const { run, step, attempt } = request;
  const state = findStep((sim.observer.get(run) as ObservedRun).run, step)?.standing.state;
  sim.violate(`${run} ${step}.${attempt} was answered, but the answer is not recorded (${state})`);
}

/** Returns true if the answer is recorded, or need not be because the worker has lost the run. */
export function isAnswerRecorded(
  { observer, tables }: SimContext,
  { run, step, attempt, epoch }: ToolRequest,
): boolean {
  const observedRun = observer.get(run);
  if (observedRun === undefined || observedRun.epoch !== epoch) return true;
  const events = tables.events.get(observedRun.tenant, run) ?? [];
  return events.some(({ body, type }) => {
    if (!endEvents.includes(type)) return false;
    const event = JSON.parse(body ?? "{}") as { readonly step_id?: string; readonly attempt?: number };
    return event.step_id === step && event.attempt === attempt;
  });
}
