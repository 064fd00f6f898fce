import { type ExplainedDecision, explainDecision } from "../core/run/explained-decision.ts";
import type { GateId, Instant, StepId } from "../core/values/ids.ts";
import type { RecordedEvent } from "../engine/api/engine-api.ts";

/** A decision about a step, and where the journal has it. */
export interface StepDecision extends ExplainedDecision {
  readonly position: number;
  readonly at: Instant;
}

/** Returns the decisions about a step in the order of the journal. */
export function listStepDecisions(journal: readonly RecordedEvent[], step: StepId): readonly StepDecision[] {
  const gates = new Set<GateId>();
  return journal.flatMap(({ position, event }) => {
    if (event.type === "gate.opened" && event.step_id === step) gates.add(event.gate_id);
    const isAbout = "gate_id" in event ? gates.has(event.gate_id) : "step_id" in event && event.step_id === step;
    const explained = isAbout ? explainDecision(event) : null;
    return explained === null ? [] : [{ position, at: event.at, ...explained }];
  });
}
