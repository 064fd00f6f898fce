import type { LeftAct } from "../../core/event/left-act.ts";
import type { ParentStep } from "../../core/event/parent-step.ts";
import { signalRequestKey } from "../../core/evolve/event-rows.ts";
import { planOfItems, readForEach } from "../../core/plan/for-each.ts";
import type { Plan } from "../../core/plan/plan.ts";
import { actsOfLeftAgent } from "../../core/run/branch-acts.ts";
import { childEndSignal, type SubAgent, subAgentsOf } from "../../core/run/child-run-notices.ts";
import type { LeftAgent } from "../../core/run/conversation.ts";
import type { Run } from "../../core/run/run.ts";
import { ancestorRuns } from "../../core/settings/halt.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, StepId } from "../../core/values/ids.ts";
import type { JsonObject } from "../../core/values/json.ts";
import { type ChildRunPort, childRunId } from "../call/child-run-port.ts";
import { isStoreFault } from "../journal/append-errors.ts";
import { loadRun } from "../journal/load-run.ts";
import { readSignalBox } from "../journal/signal-box.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { sendSignal } from "./send-signal.ts";
import { acceptCancelledChild, readPlan, submitChildRun } from "./submit-run.ts";
import { tellLeftActs } from "./tell-left-acts.ts";

/** Starts the child runs of leased runs, and delivers notices between parents and children. */
export function makeChildRuns(ports: WorkerPorts, leasedRuns: LeasedRuns, strict: boolean): ChildRunPort {
  return {
    start: async (run, { spec: { step_id, kind } }, input) => {
      const wanted = kind === "for_each" ? planForItems(step_id, input as JsonObject) : (input as ChildPlan);
      if ("code" in wanted) return { ...wanted, message: `${step_id}: ${wanted.message}` };
      const { plan: raw, context = {}, items } = wanted;
      const parent = { ...parentOf(ports, run, step_id), ...(items !== undefined && { items }) };
      if (parent.depth > ports.limits.childDepth) return tooDeepFault(step_id, ports.limits.childDepth);
      const plan = readChildPlan(ports, raw, context, strict);
      if ("code" in plan) return { ...plan, message: `${step_id}: ${plan.message}` };
      const id = childRunId(run.id, step_id);
      try {
        const child = await submitChildRun(ports, leasedRuns, parent, { run, id, plan, context });
        return await resumeChild(ports, leasedRuns, run, child);
      } catch (error) {
        if (!(error instanceof FaultError) || isStoreFault(error) || error.fault.code === "ENGINE_CLOSED") throw error;
        // For example, retention has erased the child run.
        return { ...error.fault, message: `${step_id}: ${error.fault.message}` };
      }
    },
    deliver: async (run, { notice_id, kin, payload }) => {
      if (kin === "report") {
        await sendSignal(ports, leasedRuns, run.tenant, {
          key: childEndSignal(run.id),
          payload,
          by: run.id,
          id: notice_id,
        });
        return;
      }
      if (kin === "left_acts") return tellLeftActs(ports, leasedRuns, run);
      const { step_id, run_id } = payload as { readonly step_id: StepId; readonly run_id?: RunId };
      const child = run_id ?? childRunId(run.id, step_id);
      await cancelChild(ports, leasedRuns, run, { parent: parentOf(ports, run, step_id), id: child });
    },
    leave: (run, child, left) => leaveSubAgent(ports, leasedRuns, run, { child, ...left }),
    tellLeftActs: (run) => tellLeftActs(ports, leasedRuns, run),
  };
}

/** The plan of a child run before it is checked, and the number of items that it is made for. */
interface ChildPlan {
  readonly plan?: unknown;
  readonly context?: JsonObject;
  readonly items?: number;
}

function planForItems(step_id: StepId, input: JsonObject): ChildPlan | Fault {
  const read = readForEach(step_id, input);
  if ("flaw" in read) return read.flaw;
  const plan = planOfItems(read);
  return "code" in plan ? plan : { plan, context: read.context, items: read.items.length };
}

function tooDeepFault(step: StepId, most: number): Fault {
  return fault(
    "LIMIT_EXCEEDED",
    `${step} starts a child run at level ${most + 1}, and the limit is ${most}; start it from a run further up`,
  );
}

function readChildPlan(ports: WorkerPorts, raw: unknown, context: JsonObject, strict: boolean): Plan | Fault {
  try {
    return readPlan(ports, raw, context, strict);
  } catch (error) {
    if (error instanceof FaultError) return error.fault;
    throw error;
  }
}

/** Resumes a child run that had ended without success and had reported that. */
async function resumeChild(ports: WorkerPorts, leasedRuns: LeasedRuns, run: Run, child: Run): Promise<Fault | null> {
  if (child.ended === null || (await hasPendingReport(ports, child))) return null;
  const box = await readSignalBox(ports, run.tenant, childEndSignal(child.id));
  if (box.sent > box.taken) return null; // The child has ended again, and its report is in the box.
  if (child.ended.status === "completed")
    return fault(
      "LIMIT_EXCEEDED",
      `the result of child run ${child.id} exceeds the output limit of a step; start a new child run with a smaller result`,
    );
  if (child.rollback !== null)
    return fault("NOT_POSSIBLE", `child run ${child.id} was rolled back and cannot be resumed; start a new one`);
  if (child.ended.status === "cancelled")
    return fault("NOT_POSSIBLE", `child run ${child.id} was cancelled and cannot be resumed; start a new one`);
  const reason = `run ${run.id} was resumed`;
  const { principal } = run;
  await leasedRuns.command(run.tenant, child.id, () => ({
    type: "resume",
    verb: "resume",
    now: ports.clock.now(),
    principal,
    reason,
  }));
  return null;
}

/** Returns whether the report of the child's end is not in the signal box yet. */
async function hasPendingReport({ store }: WorkerPorts, { id, tenant, notices }: Run): Promise<boolean> {
  for (const [notice_id, { kin }] of notices) {
    if (kin !== "report") continue;
    if ((await store.row(tenant, "request", signalRequestKey(childEndSignal(id), notice_id))) === null) return true;
  }
  return false;
}

/** Cancels the child run of a step. If it does not exist yet, accepts it as cancelled, so that it can never start. */
async function cancelChild(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  run: Run,
  { parent, id }: { readonly parent: ParentStep; readonly id: RunId },
): Promise<void> {
  const { tenant, principal } = run;
  const reason = `run ${run.id} was cancelled`;
  for (let exists = false; ; ) {
    try {
      await leasedRuns.command(tenant, id, () => ({ type: "cancel", now: ports.clock.now(), principal, reason }));
      return;
    } catch (error) {
      if (!(error instanceof FaultError) || !["RUN_NOT_FOUND", "NOT_POSSIBLE"].includes(error.fault.code)) throw error;
      if (error.fault.code === "NOT_POSSIBLE" || exists) return; // The child has ended, or was erased since.
      // If it exists now, it was just accepted: cancel it again.
      exists = (await ports.store.head(tenant, id)) !== null;
      if (!exists && (await acceptCancelledChild(ports, parent, run, id, reason))) return;
    }
  }
}

/**
 * Cancels a sub-agent and the sub-agents below it, and returns the acts of them all. A cancelled run starts no act, so no
 * other follows.
 */
async function leaveSubAgent(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  run: Run,
  { child, step_id, branch }: SubAgent & LeftAgent,
): Promise<readonly LeftAct[]> {
  await cancelChild(ports, leasedRuns, run, { parent: parentOf(ports, run, step_id), id: child });
  const acts: LeftAct[] = [];
  // The calls of the sub-agent are in all runs of its session.
  for (let id: RunId | undefined = child; id !== undefined; ) {
    const left: Run = (await loadRun(ports.store, run.tenant, id)).run;
    acts.push(...actsOfLeftAgent(left, branch));
    for (const below of subAgentsOf(left))
      acts.push(...(await leaveSubAgent(ports, leasedRuns, left, { ...below, branch })));
    id = left.opened?.previous;
  }
  return acts;
}

export function parentOf(ports: WorkerPorts, run: Run, step_id: StepId): ParentStep {
  const above = ancestorRuns(run);
  const own = { run_id: run.id, step_id, depth: (run.parent?.depth ?? 0) + 1, most_bytes: ports.limits.outputBytes };
  return above.length === 0 ? own : { ...own, above };
}
