import { type Fault, FaultError, fault } from "../core/fault.ts";
import type { GateId, RunId, Tenant, WorkerId } from "../core/id.ts";
import type { Json } from "../core/json/json.ts";
import { tallyOf } from "../core/limits/tally.ts";
import { termsOf } from "../core/result.ts";
import type { GateRow } from "../core/rows.ts";
import type { Run } from "../core/run.ts";
import type { Store } from "../core/store.ts";
import type { CostReport, GateView, HiddenGate, SpentOver, WorkerView } from "./api.ts";
import { holdingsIn } from "./listing.ts";
import type { Ports } from "./ports.ts";
import { isName } from "./principal.ts";
import { Journal } from "./record/journal.ts";
import { load } from "./record/load.ts";
import { isStoreFault } from "./record/mailbox.ts";
import { textOf } from "./road/thrown.ts";

/** Looking things up: nothing here changes a run. */

export async function gateRow(ports: Ports, tenant: Tenant, gate: GateId): Promise<GateRow> {
  const stored = isName(gate) ? await ports.store.row(tenant, "gate", gate) : null;
  if (stored === null) {
    const message = isName(gate) ? `no gate ${gate} in tenant ${tenant}` : "that is not the id of a gate";
    throw new FaultError(fault("GATE_NOT_FOUND", `${message}; list the open gates to see which there are`));
  }
  return JSON.parse(stored.row) as GateRow;
}

/**
 * Gates with the exact calls they hold, which are only in the journal. A run is read once, however many it has; one that
 * cannot be read is named with each of its gates.
 */
export async function gateViews(
  ports: Ports,
  tenant: Tenant,
  rows: readonly GateRow[],
): Promise<readonly (GateView | HiddenGate)[]> {
  const runs = new Map<RunId, Run | Fault>();
  for (const { run_id } of rows) if (!runs.has(run_id)) runs.set(run_id, await readable(ports, tenant, run_id));
  return rows.map((row) => viewOf(runs.get(row.run_id) as Run | Fault, row));
}

/** The run, or why it cannot be read. A store that is away is no matter of this run's. */
async function readable({ store }: Ports, tenant: Tenant, id: RunId): Promise<Run | Fault> {
  try {
    return (await load(store, tenant, id)).run;
  } catch (error) {
    if (isStoreFault(error)) throw error;
    if (error instanceof FaultError) return error.fault;
    return fault("CHAIN_BROKEN", `run ${id} cannot be read: ${textOf(error)}; audit it`);
  }
}

function viewOf(run: Run | Fault, row: GateRow): GateView | HiddenGate {
  const { gate_id, run_id, step_id, tool, status, requester, expires_at, input_digest: digest } = row;
  const known = { gate_id, run_id, step_id, tool, status, requester, expires_at, digest };
  if ("code" in run) return { ...known, fault: run };
  const gate = run.gates.get(gate_id);
  if (gate !== undefined) return { ...known, input: gate.call.input, digest: gate.call.digest, ...termsOf(gate) };
  const message = `gate ${gate_id} is not in the journal of run ${run_id}; audit the run`;
  return { ...known, fault: fault("GATE_NOT_FOUND", message) };
}

export async function workersOf(store: Store, tenant: Tenant): Promise<readonly WorkerView[]> {
  const workers = new Map<WorkerId, WorkerView["runs"][number][]>();
  for await (const { worker, run: run_id, queue, since, until } of holdingsIn(store, tenant)) {
    const runs = workers.get(worker) ?? [];
    workers.set(worker, runs);
    runs.push({ run_id, queue, since, until });
  }
  return Array.from(workers, ([worker, runs]) => ({ worker, runs }));
}

export async function costOf(ports: Ports, tenant: Tenant, id: RunId): Promise<CostReport> {
  const { run } = await load(ports.store, tenant, id);
  const journal = new Journal(tenant, id);
  const attempts: CostReport["attempts"][number][] = [];
  for (const stored of await ports.store.events(tenant, id, 0)) {
    const event = await journal.open(stored, ports.store);
    if (!("attempt" in event) || !("cost" in event) || event.cost === undefined) continue;
    attempts.push({
      step_id: event.step_id,
      attempt: event.attempt,
      at: event.at,
      cost: event.cost as unknown as Json,
    });
  }
  return { run_id: id, spent: run.spent, attempts };
}

/** Spending is counted per principal and day, per project and month, and per tenant and month; nothing else has an answer. */
export async function spentOver(ports: Ports, tenant: Tenant, period: string, whose: Spender): Promise<SpentOver> {
  const { by, project } = whose;
  const form = by === undefined ? /^\d{4}-\d\d$/ : /^\d{4}-\d\d-\d\d$/;
  const named = [by, project].filter((name) => name !== undefined);
  if (!form.test(period) || named.length > 1 || !named.every(isName)) {
    const message =
      "spending is told of a month (2025-11), with a project or without, or of a day (2025-11-15) with whose it is; ask for one of them";
    throw new FaultError(fault("INVALID_INPUT", message));
  }
  if (!isInCalendar(period)) {
    throw new FaultError(fault("INVALID_INPUT", `${period} is not in the calendar; ask for a month or a day that is`));
  }
  const used = (unit: Parameters<typeof tallyOf>[0]) =>
    ports.store.used(tenant, tallyOf(unit, kindOf(whose), by ?? project ?? "", period));
  const [usd_micros, credits, tokens_in, tokens_out] = await Promise.all([
    used("usd_micros"),
    used("credits"),
    used("tokens_in"),
    used("tokens_out"),
  ]);
  return { period, usd_micros, credits, tokens_in, tokens_out };
}

interface Spender {
  readonly by: string | undefined;
  readonly project: string | undefined;
}

function kindOf({ by, project }: Spender): Parameters<typeof tallyOf>[1] {
  if (by !== undefined) return "principal";
  return project === undefined ? "tenant" : "project";
}

/** A day that its month does not have would be read as one of the next. */
function isInCalendar(period: string): boolean {
  const at = Date.parse(period);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(period);
}
