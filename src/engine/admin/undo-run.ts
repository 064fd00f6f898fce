import type { Event } from "../../core/event/event.ts";
import type { UndoneAct } from "../../core/event/undone-act.ts";
import { actsLatestFirst, undoReport } from "../../core/run/undo-report.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";
import type { RunHandle } from "../api/engine-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import type { ReasonOptions } from "../api/request-options.ts";
import { requestedEvents, requestField } from "../journal/find-request-execution.ts";
import type { JudgedRequest } from "../journal/judged-request.ts";
import { loadRun } from "../journal/load-run.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";
import { resolveStep } from "./resolve-step.ts";

/** Undoes the acts of a run one by one, latest first, as far as tools can, and records the outcome of each. */
export async function undoRun(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  id: RunId,
  options: ReasonOptions & JudgedRequest,
  findRun: () => Promise<RunHandle>,
): Promise<readonly UndoneAct[]> {
  const principal = readPrincipal(options.principal);
  const { tenant } = principal;
  const reason = readReason(options);
  const handle = await findRun();
  const earlier = await findEarlierUndo(ports, tenant, id, options);
  if (earlier.acts !== null) return earlier.acts;
  const { run } = await loadRun(ports.store, tenant, id);
  if (run.rollback !== null && run.ended === null)
    throw new FaultError(
      fault("NOT_POSSIBLE", `run ${id} is being rolled back, which undoes its acts; wait for its end`),
    );
  const refused = new Map<string, string>();
  let hasRequested = earlier.requested.size > 0;
  for (const { spec, standing } of actsLatestFirst(run)) {
    const { step_id } = spec;
    if (earlier.requested.has(step_id)) await handle.result();
    if (earlier.requested.has(step_id) || standing.state === "compensated" || standing.state === "compensating")
      continue;
    const why = await refusalMessage(resolveStep(ports, leasedRuns, id, step_id, { ...options, as: "undo" }));
    if (why === null) {
      hasRequested = true;
      await handle.result();
    } else refused.set(step_id, why);
  }
  const now = await loadRun(ports.store, tenant, id);
  const reversible = (tool: string) => ports.toolbox.facts(tool)?.compensates === true;
  const acts = undoReport(now.run, reversible).map((act) => ({ ...act, why: refused.get(act.step_id) ?? act.why }));
  // The outcome of a requested undo is recorded, whatever the policies are now.
  const checks = hasRequested ? [] : (options.checks ?? []);
  await leasedRuns.command(tenant, id, () => ({
    type: "tell_undone",
    now: ports.clock.now(),
    principal,
    reason,
    acts,
    ...requestField(options),
    checks,
  }));
  return acts;
}

/** The part of a held undo that a worker executed before it died. */
interface EarlierUndo {
  /** The acts whose undo was requested. A failed undo is not requested again. */
  readonly requested: ReadonlySet<string>;
  /** The recorded outcome. Null: the undo has not ended. */
  readonly acts: readonly UndoneAct[] | null;
}

async function findEarlierUndo(
  { store }: WorkerPorts,
  tenant: Tenant,
  id: RunId,
  options: JudgedRequest,
): Promise<EarlierUndo> {
  const requested = new Set<string>();
  for await (const { event } of requestedEvents<Event>(store, tenant, id, options)) {
    if (event.type === "run.undone") return { requested, acts: event.acts };
    if (event.type === "step.compensating") requested.add(event.step_id);
  }
  return { requested, acts: null };
}

async function refusalMessage(asked: Promise<void>): Promise<string | null> {
  try {
    await asked;
    return null;
  } catch (error) {
    if (error instanceof FaultError && ["NOT_POSSIBLE", "AUTH_FORBIDDEN"].includes(error.fault.code))
      return error.fault.message;
    throw error;
  }
}
