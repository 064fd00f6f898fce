import { stepKinds } from "../plan/step-kinds.ts";
import { getStep, type Run } from "../run/run.ts";
import { isReversal, type Step } from "../run/step.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";

/** Returns a fault if a step ended the plan meanwhile, or if a dependency was undone. */
export function startFault(run: Run, step: Step): Fault | null {
  if (isReversal(step)) return null;
  if (run.stopped !== null)
    return fault("ABORTED", `${run.stopped} ended the plan before ${step.spec.step_id} started`);
  if (run.plan?.atomicity === "plan" && stepKinds[step.spec.kind].startsRun)
    return fault(
      "NOT_POSSIBLE",
      `${step.spec.step_id} starts a run of its own, which an atomic plan does not roll back; put its steps into the plan`,
    );
  const undone = step.cause === null && step.spec.depends_on.find((id) => stepOutput(run, id) === undefined);
  return undone ? fault("DEPENDENCY_FAILED", `${step.spec.step_id} needs ${undone}, which was undone`) : null;
}

function stepOutput(run: Run, id: StepId) {
  const { standing } = getStep(run, { step_id: id });
  return standing.state === "succeeded" ? standing.output : undefined;
}
