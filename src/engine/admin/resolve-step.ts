import { findStep } from "../../core/run/run.ts";
import type { RunId, StepId } from "../../core/values/ids.ts";
import type { ResolveOptions } from "../api/engine-api.ts";
import { assertName, readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import { findRequestExecution, requestField } from "../journal/find-request-execution.ts";
import type { JudgedRequest } from "../journal/judged-request.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { readResolution } from "./read-resolution.ts";

/** Settles an act in doubt by the decision of a person, or requests its undo or another verification. */
export async function resolveStep(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  runId: string,
  stepId: string,
  options: ResolveOptions & JudgedRequest,
): Promise<void> {
  assertName(stepId, "the step");
  const principal = readPrincipal(options.principal);
  const { tenant } = principal;
  const run_id = runId as RunId;
  const step_id = stepId as StepId;
  const reason = readReason(options);
  const verdict = await readResolution(ports, tenant, run_id, step_id, options);
  let attempt = options.attempt ?? null;
  const { checks } = options;
  const judged = { ...requestField(options), ...(checks && { checks }) };
  await leasedRuns.command(tenant, run_id, (in_flight, run) => {
    // The attempt that the person sees. If the command is decided again, the run may have a later one.
    attempt ??= findStep(run, step_id)?.act?.attempt ?? null;
    return {
      type: "resolve",
      now: ports.clock.now(),
      step_id,
      principal,
      verdict,
      attempt,
      reason,
      in_flight,
      ...judged,
    };
  });
}

/** Executes a held resolution once. A second execution finds the step settled, and its attempt is another one. */
export async function resolveHeldStep(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  runId: string,
  stepId: string,
  options: ResolveOptions & JudgedRequest,
): Promise<void> {
  const { tenant } = readPrincipal(options.principal);
  if ((await findRequestExecution(ports.store, tenant, runId as RunId, options)) !== null) return;
  await resolveStep(ports, leasedRuns, runId, stepId, options);
}
