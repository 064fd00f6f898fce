import type { UndoneAct } from "../../core/event/undone-act.ts";
import { actsLatestFirst, undoReport } from "../../core/run/undo-report.ts";
import { FaultError } from "../../core/values/fault.ts";
import type { RunId } from "../../core/values/ids.ts";
import type { Engine, RunHandle } from "../api/engine-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import { readReason } from "../api/read-reason.ts";
import type { ReasonOptions } from "../api/request-options.ts";
import { loadRun } from "../journal/load-run.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

interface UndoPorts extends Pick<Engine, "resolve"> {
  run(): Promise<RunHandle>;
}

/** Undoes the acts of a run one by one, latest first, as far as tools can, and records the outcome of each. */
export async function undoRun(
  ports: WorkerPorts,
  leasedRuns: LeasedRuns,
  id: RunId,
  options: ReasonOptions,
  engine: UndoPorts,
): Promise<readonly UndoneAct[]> {
  const principal = readPrincipal(options.principal);
  const { tenant } = principal;
  const reason = readReason(options);
  const handle = await engine.run();
  const { run } = await loadRun(ports.store, tenant, id);
  const refused = new Map<string, string>();
  for (const { spec, standing } of actsLatestFirst(run)) {
    if (standing.state === "compensated" || standing.state === "compensating") continue;
    const why = await refusalMessage(engine.resolve(id, spec.step_id, { ...options, as: "undo" }));
    if (why === null) await handle.result();
    else refused.set(spec.step_id, why);
  }
  const now = await loadRun(ports.store, tenant, id);
  const reversible = (tool: string) => ports.toolbox.facts(tool)?.compensates === true;
  const acts = undoReport(now.run, reversible).map((act) => ({ ...act, why: refused.get(act.step_id) ?? act.why }));
  await leasedRuns.command(tenant, id, () => ({
    type: "tell_undone",
    now: ports.clock.now(),
    principal,
    reason,
    acts,
  }));
  return acts;
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
