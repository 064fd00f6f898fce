import type { Run, Step } from "../../src/core/run/run.ts";
import type { StepState } from "../../src/core/run/step.ts";
import type { ObservedEvent } from "../journal-observer.ts";

/** The allowed transitions of a step. Copied from the design, so that the check does not depend on the engine. */
const afterStart: readonly StepState[] = ["running", "succeeded", "failed_retryable", "failed_final"];
const afterHold: readonly StepState[] = ["waiting_approval", "waiting", "rejected"];
const allowedMoves: Readonly<Record<StepState, readonly StepState[]>> = {
  pending: ["ready", "skipped", "cancelled"],
  ready: [...afterStart, ...afterHold, "skipped", "cancelled", "in_doubt"],
  waiting_approval: ["ready", "rejected", "skipped", "cancelled"],
  waiting: [...afterStart, ...afterHold, "ready", "skipped", "cancelled", "in_doubt"],
  running: ["succeeded", "failed_retryable", "failed_final", "in_doubt", "ready", "cancelled", "skipped"],
  failed_retryable: [...afterStart, ...afterHold, "skipped", "cancelled"],
  in_doubt: ["succeeded", "ready", "failed_final", "compensating", "cancelled", "skipped", "in_doubt"],
  succeeded: ["compensating"],
  failed_final: ["compensating", "succeeded", "pending", "ready"],
  rejected: ["pending", "ready"],
  skipped: ["pending", "ready"],
  cancelled: [],
  compensating: ["compensated", "compensation_failed"],
  compensated: [],
  compensation_failed: ["compensating"],
};

/** States in which the act of a step must be settled. */
const endStates: readonly StepState[] = [
  "succeeded",
  "failed_final",
  "rejected",
  "skipped",
  "cancelled",
  "compensated",
];

/** I3, I9: every transition of a step is allowed; an ended step stays ended unless a command reopens it. */
export function checkStepTransitions({ sim, before, event, after }: ObservedEvent): void {
  for (let index = 0; index < before.steps.length; index += 1) {
    const from = before.steps.get(index);
    const to = after.steps.get(index);
    if (from.standing === to.standing) continue;
    const wrong = moveProblem(from, to, event.type, after);
    if (wrong !== null) {
      const how = `${from.standing.state} → ${to.standing.state} by ${event.type}`;
      sim.violate(`I3: ${before.id} ${to.spec.step_id} went ${how}: ${wrong}`);
    }
  }
}

function moveProblem(from: Step, to: Step, type: string, run: Run): string | null {
  const [was, is] = [from.standing.state, to.standing.state];
  if (was === is && was === "cancelled") return null;
  if (!allowedMoves[was].includes(is)) return "not an allowed transition";
  if ((was === "rejected" || was === "skipped") && type !== "run.resumed" && from.cause?.by !== "undo")
    return "only run.resumed reopens it";
  if (was === "failed_final") return revivalProblem(from, is, type);
  if (endStates.includes(is) && (to.act?.state === "started" || to.act?.state === "in_doubt")) {
    return `its act is ${to.act.state}`;
  }
  if (is === "running" || is === "succeeded") return orderProblem(to, run);
  return null;
}

function revivalProblem({ act, cause }: Step, is: StepState, type: string): string | null {
  if (is === "compensating") return type === "step.compensating" ? null : "only step.compensating does that";
  if (is === "succeeded") return type === "step.settled" ? null : "only step.settled does that";
  if (cause?.by === "undo") return null;
  if (type !== "run.resumed") return "only run.resumed reopens it";
  return act === null || act.state === "not_done" || act.state === "absent" ? null : `its act is ${act.state}`;
}

const ranStates: readonly StepState[] = ["succeeded", "compensating", "compensated", "compensation_failed"];

function orderProblem({ spec }: Step, run: Run): string | null {
  const early = spec.depends_on.find(
    (id) => !ranStates.includes(run.steps.get(run.index.get(id) as number).standing.state),
  );
  return early === undefined ? null : `${early} has not run`;
}
