import type { StepResult } from "../../core/run/step-result.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { CallResult, RunHandle } from "../api/engine-api.ts";

/** Returns the result of a run of one call. */
export async function callResult<Output>(handle: RunHandle): Promise<CallResult<Output>> {
  const result = await handle.result();
  const step = result.steps.call;
  if (step === undefined) throw new FaultError(fault("STEP_NOT_FOUND", `run ${handle.run_id} has no call`));
  // The tool needs to see more: this is thrown, because the caller can widen the view and call again.
  if (step.fault?.code === "VISIBILITY_WANTED") throw new FaultError(step.fault);
  return { run_id: handle.run_id, step: step as StepResult<Output>, result };
}
