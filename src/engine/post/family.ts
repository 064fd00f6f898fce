import { endSignal } from "../../core/child.ts";
import type { Parent } from "../../core/event.ts";
import { type Fault, FaultError, fault } from "../../core/fault.ts";
import { lineAbove } from "../../core/halt.ts";
import type { StepId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json/json.ts";
import type { Plan } from "../../core/plan/plan.ts";
import { signalRequestKey } from "../../core/rows-of.ts";
import type { Run } from "../../core/run.ts";
import type { Ports } from "../ports.ts";
import { isStoreFault } from "../record/mailbox.ts";
import { childOf, type Kin } from "../road/kin.ts";
import { forestall, readPlan, submitFor } from "../road/submit.ts";
import type { Holds } from "../watch/holds.ts";
import { boxOf } from "./boxes.ts";
import { send } from "./signals.ts";

/** The family of the runs that an engine holds. */
export function familyOf(ports: Ports, holds: Holds, strict: boolean): Kin {
  return {
    bear: async (run, { spec: { step_id } }, input) => {
      const { plan: raw, context = {} } = input as { readonly plan?: unknown; readonly context?: JsonObject };
      const parent = parentOf(ports, run, step_id);
      if (parent.depth > ports.limits.childDepth) return tooDeep(step_id, ports.limits.childDepth);
      const plan = planOf(ports, raw, context, strict);
      if ("code" in plan) return { ...plan, message: `${step_id}: ${plan.message}` };
      const id = childOf(run.id, step_id);
      try {
        const child = await submitFor(ports, holds, parent, { run, id, plan, context });
        return await wokenUp(ports, holds, run, child);
      } catch (error) {
        if (!(error instanceof FaultError) || isStoreFault(error) || error.fault.code === "ENGINE_CLOSED") throw error;
        return { ...error.fault, message: `${step_id}: ${error.fault.message}` }; // Of a run that was emptied, say.
      }
    },
    carry: async (run, { notice_id, kin, payload }) => {
      if (kin === "report") {
        await send(ports, holds, run.tenant, { key: endSignal(run.id), payload, by: run.id, id: notice_id });
        return;
      }
      const { step_id } = payload as { readonly step_id: StepId };
      await cancel(ports, holds, run, parentOf(ports, run, step_id));
    },
  };
}

function tooDeep(step: StepId, most: number): Fault {
  return fault("LIMIT_EXCEEDED", `${step} asks for a run below ${most} others; ask for it further up`);
}

function planOf(ports: Ports, raw: unknown, context: JsonObject, strict: boolean): Plan | Fault {
  try {
    return readPlan(ports, raw, context, strict);
  } catch (error) {
    if (error instanceof FaultError) return error.fault;
    throw error;
  }
}

/** A run that ended without success, and whose step was told so, is asked for once more: it goes on where it can. */
async function wokenUp(ports: Ports, holds: Holds, run: Run, child: Run): Promise<Fault | null> {
  if (child.ended === null || (await isUntold(ports, child))) return null;
  const box = await boxOf(ports, run.tenant, endSignal(child.id));
  if (box.sent > box.taken) return null; // It has ended anew, and what it says is there.
  if (child.ended.status === "completed")
    return fault("LIMIT_EXCEEDED", `run ${child.id} has more to show than a step may have; ask for another`);
  if (child.ended.status === "cancelled")
    return fault("NOT_POSSIBLE", `run ${child.id} was cancelled and does not go on; ask for another`);
  const reason = `run ${run.id} was resumed`;
  const { principal } = run;
  await holds.command(run.tenant, child.id, () => ({ type: "resume", now: ports.clock.now(), principal, reason }));
  return null;
}

/** Word of its end is still on its way. What was carried may not be on record as carried yet: the box knows. */
async function isUntold({ store }: Ports, { id, tenant, notices }: Run): Promise<boolean> {
  for (const [notice_id, { kin }] of notices) {
    if (kin !== "report") continue;
    if ((await store.row(tenant, "request", signalRequestKey(endSignal(id), notice_id))) === null) return true;
  }
  return false;
}

/** Cancels the run that a step asked for, or may be asking for: what was never there is taken back before it comes. */
async function cancel(ports: Ports, holds: Holds, run: Run, parent: Parent): Promise<void> {
  const { tenant, principal } = run;
  const id = childOf(run.id, parent.step_id);
  const reason = `run ${run.id} was cancelled`;
  for (let there = false; ; ) {
    try {
      await holds.command(tenant, id, () => ({ type: "cancel", now: ports.clock.now(), principal, reason }));
      return;
    } catch (error) {
      if (!(error instanceof FaultError) || !["RUN_NOT_FOUND", "NOT_POSSIBLE"].includes(error.fault.code)) throw error;
      if (error.fault.code === "NOT_POSSIBLE" || there) return; // It has ended, or was even emptied since.
      there = (await ports.store.head(tenant, id)) !== null; // Then it may have come just now: it is asked once more.
      if (!there && (await forestall(ports, parent, run, id, reason))) return;
    }
  }
}

function parentOf(ports: Ports, run: Run, step_id: StepId): Parent {
  const above = lineAbove(run);
  const own = { run_id: run.id, step_id, depth: (run.parent?.depth ?? 0) + 1, most_bytes: ports.limits.outputBytes };
  return above.length === 0 ? own : { ...own, above };
}
