import type { Principal } from "../../core/approval/principal.ts";
import type { LeftAct } from "../../core/event/left-act.ts";
import type { ParentStep } from "../../core/event/parent-step.ts";
import { inheritedActs } from "../../core/run/branch-acts.ts";
import type { Run } from "../../core/run/run.ts";
import { stricterMode } from "../../core/values/effect.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId, StepId } from "../../core/values/ids.ts";
import type { OpenRunOptions, ParentCall } from "../api/open-run-api.ts";
import { childRunId } from "../call/child-run-port.ts";
import { leaveSubAgents } from "../call/leave-sub-agents.ts";
import { loadRun } from "../journal/load-run.ts";
import { parentOf } from "../messages/child-runs.ts";
import { inheritedRestoration } from "../messages/submit-run.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** The call whose work a sub-agent does. */
export interface DelegatedCall {
  readonly run: Run;
  readonly parent: ParentStep;
}

/** Reads the call that a session does as a sub-agent. Only the principal of the run delegates its calls. */
export async function readParentCall(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  { tenant, id }: Principal,
  { runId, stepId }: ParentCall,
  { project }: OpenRunOptions,
): Promise<DelegatedCall> {
  const leased = leasedRuns.get(tenant, runId as RunId);
  const run = leased?.run ?? (await loadRun(ports.store, tenant, runId as RunId)).run;
  if (run.principal.id !== id)
    throw new FaultError(
      fault("AUTH_FORBIDDEN", `run ${run.id} is that of another principal; it delegates its calls itself`),
    );
  if (project !== undefined && project !== run.project)
    throw new FaultError(
      fault("SESSION_DIFFERS", `a sub-agent works in the project of run ${run.id}`, { differs: "project" }),
    );
  const parent = parentOf(ports, run, stepId as StepId);
  const most = ports.limits.childDepth;
  if (parent.depth > most)
    throw new FaultError(fault("LIMIT_EXCEEDED", `sub-agents and child runs are nested at most ${most} levels deep`));
  return { run, parent };
}

/** Returns the id of a run of a sub-agent. A later run of its session has another id. */
export function subAgentRunId({ run, parent }: DelegatedCall, segment: number): RunId {
  const { step_id } = parent;
  return childRunId(run.id, (segment === 1 ? step_id : `${step_id}#${segment}`) as StepId);
}

/**
 * Records the sub-agent in the journal of its parent, so that a cancellation reaches it. Returns the acts that branches
 * above have left.
 */
export async function recordDelegation(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  { run: { tenant, id }, parent: { step_id } }: DelegatedCall,
  child: RunId,
): Promise<readonly LeftAct[]> {
  for (;;) {
    const { need, after } = await leasedRuns.command(tenant, id, () => ({
      type: "delegate",
      now: ports.clock.now(),
      step_id,
      child,
    }));
    if (need === null) return inheritedActs(after);
    await leaveSubAgents(after, leasedRuns.childRuns, (make) =>
      leasedRuns.command(tenant, id, () => make(ports.clock.now())),
    );
  }
}

/** Returns the fields of an accept command that a sub-agent inherits. Its own deadline can only be earlier. */
export function inheritedTerms(
  { run, parent }: DelegatedCall,
  own: { readonly mode: Run["mode"]; readonly deadline_at: Instant | null },
) {
  const { deadline_at, project, mode, terms, correlation_id, trace_id } = run;
  const earlier = [own.deadline_at, deadline_at].filter((at) => at !== null);
  return {
    parent,
    mode: stricterMode(mode, own.mode),
    deadline_at: earlier.length === 0 ? null : (Math.min(...earlier) as Instant),
    ...(project !== null && { project }),
    ...(terms.budgets !== null && { budgets: terms.budgets }),
    correlation_id,
    trace_id,
    ...inheritedRestoration(run),
  };
}

/** The session of the topmost agent. */
export function rootSession({ run }: DelegatedCall): { readonly root?: string } {
  const root = run.opened?.root ?? run.session;
  return root === null ? {} : { root };
}
