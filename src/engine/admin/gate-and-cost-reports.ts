import { costTally } from "../../core/call/cost-charges.ts";
import { gateDetails } from "../../core/run/gate-details.ts";
import type { Run } from "../../core/run/run.ts";
import type { GateRow } from "../../core/store/tables.ts";
import { assert } from "../../core/values/assert.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { GateId, RunId, Tenant } from "../../core/values/ids.ts";
import { isName } from "../../core/values/is-name.ts";
import type { Json } from "../../core/values/json.ts";
import type { CostReport, GateView, SpendingReport, UnreadableGate } from "../api/engine-api.ts";
import { isStoreFault } from "../journal/append-errors.ts";
import { JournalCodec } from "../journal/journal-codec.ts";
import { loadRun, runNotFoundError } from "../journal/load-run.ts";
import { errorText } from "../ports/thrown-fault.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

export async function assertRunExists({ store }: WorkerPorts, tenant: Tenant, run: RunId): Promise<void> {
  if (!isName(run) || (await store.head(tenant, run)) === null) throw runNotFoundError(tenant, run);
}

export async function loadGateRow(ports: WorkerPorts, tenant: Tenant, gate: GateId): Promise<GateRow> {
  const stored = isName(gate) ? await ports.store.row(tenant, "gate", gate) : null;
  if (stored === null) {
    const message = isName(gate) ? `no gate ${gate} in tenant ${tenant}` : "that is not the id of a gate";
    throw new FaultError(fault("GATE_NOT_FOUND", `${message}; list the open gates to see which there are`));
  }
  return JSON.parse(stored.row) as GateRow;
}

/** Returns a gate with the call that it holds. Throws the fault that makes its run unreadable. */
export async function loadGateView(ports: WorkerPorts, tenant: Tenant, gate: GateId): Promise<GateView> {
  const [view] = await loadGateViews(ports, tenant, [await loadGateRow(ports, tenant, gate)]);
  assert(view !== undefined, "an existing gate has a view");
  if ("fault" in view) throw new FaultError(view.fault);
  return view;
}

/**
 * Returns gates with the calls that they hold. The calls are only in the journals; each run is read once. A gate whose
 * run cannot be read is returned with the fault.
 */
export async function loadGateViews(
  ports: WorkerPorts,
  tenant: Tenant,
  rows: readonly GateRow[],
): Promise<readonly (GateView | UnreadableGate)[]> {
  const runs = new Map<RunId, Run | Fault>();
  for (const { run_id } of rows) if (!runs.has(run_id)) runs.set(run_id, await loadReadableRun(ports, tenant, run_id));
  return rows.map((row) => toGateView(runs.get(row.run_id) as Run | Fault, row));
}

/** Returns the run, or the fault that makes it unreadable. Throws faults of the store. */
export async function loadReadableRun({ store }: WorkerPorts, tenant: Tenant, id: RunId): Promise<Run | Fault> {
  try {
    return (await loadRun(store, tenant, id)).run;
  } catch (error) {
    if (isStoreFault(error)) throw error;
    if (error instanceof FaultError) return error.fault;
    return fault("CHAIN_BROKEN", `run ${id} cannot be read: ${errorText(error)}; audit it`);
  }
}

function toGateView(run: Run | Fault, row: GateRow): GateView | UnreadableGate {
  const { gate_id, run_id, step_id, tool, status, requester, expires_at, input_digest: digest } = row;
  const known = { gate_id, run_id, step_id, tool, status, requester, expires_at, digest };
  if ("code" in run) return { ...known, fault: run };
  const gate = run.gates.get(gate_id);
  if (gate !== undefined) return { ...known, input: gate.call.input, digest: gate.call.digest, ...gateDetails(gate) };
  const message = `gate ${gate_id} is not in the journal of run ${run_id}; audit the run`;
  return { ...known, fault: fault("GATE_NOT_FOUND", message) };
}

export async function reportCost(ports: WorkerPorts, tenant: Tenant, id: RunId): Promise<CostReport> {
  const { run } = await loadRun(ports.store, tenant, id);
  const journal = new JournalCodec(tenant, id);
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

/** Reports spending, which is counted per principal and day, per project and month, and per tenant and month. */
export async function reportSpending(
  ports: WorkerPorts,
  tenant: Tenant,
  period: string,
  whose: Spender,
): Promise<SpendingReport> {
  const { by, project } = whose;
  const form = by === undefined ? /^\d{4}-\d\d$/ : /^\d{4}-\d\d-\d\d$/;
  const named = [by, project].filter((name) => name !== undefined);
  if (!form.test(period) || named.length > 1 || !named.every(isName)) {
    const message = "pass a month (2025-11), with or without a project, or a day (2025-11-15) with `by`";
    throw new FaultError(fault("INVALID_INPUT", message));
  }
  if (!isCalendarPeriod(period)) {
    throw new FaultError(fault("INVALID_INPUT", `${period} is not a date; pass an existing month or day`));
  }
  const used = (unit: Parameters<typeof costTally>[0]) =>
    ports.store.used(tenant, costTally(unit, spenderKind(whose), by ?? project ?? "", period));
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

function spenderKind({ by, project }: Spender): Parameters<typeof costTally>[1] {
  if (by !== undefined) return "principal";
  return project === undefined ? "tenant" : "project";
}

/** Returns whether the period exists. Date.parse would read November 31 as December 1. */
function isCalendarPeriod(period: string): boolean {
  const at = Date.parse(period);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(period);
}
