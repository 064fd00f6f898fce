import { FaultError, fault } from "../core/fault.ts";
import type { Digest, GateId, Instant, RunId, Tenant } from "../core/id.ts";
import type { Json } from "../core/json.ts";
import type { GateRow, LedgerRow, RunRow, Table } from "../core/rows.ts";
import type { Query, StoredRow } from "../core/store.ts";
import { tallyOf } from "../core/tally.ts";
import type { CostReport, GateView, Retained, SpentOver } from "./api.ts";
import { blobIn, bodyHash, Journal } from "./journal.ts";
import { load } from "./load.ts";
import type { Ports } from "./ports.ts";
import { isName } from "./principal.ts";

/** Looking things up and keeping house: nothing here changes a run. */

/** All rows of a table, page by page. */
export async function* rows(
  ports: Ports,
  tenant: Tenant,
  table: Table,
  where?: Query["where"],
): AsyncIterable<StoredRow> {
  let after: string | undefined;
  for (;;) {
    const query: Query = {
      table,
      order: "oldest",
      limit: PAGE,
      ...(where && { where }),
      ...(after !== undefined && { after }),
    };
    const page = await ports.store.list(tenant, query);
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.key;
  }
}

const PAGE = 500;

export async function* runIds(ports: Ports, tenant: Tenant): AsyncIterable<RunId> {
  for await (const { key } of rows(ports, tenant, "run")) yield key as RunId;
}

export async function gateRow(ports: Ports, tenant: Tenant, gate: GateId): Promise<GateRow> {
  const stored = isName(gate) ? await ports.store.row(tenant, "gate", gate) : null;
  if (stored === null) {
    const message = isName(gate) ? `no gate ${gate} in tenant ${tenant}` : "that is not the id of a gate";
    throw new FaultError(fault("GATE_NOT_FOUND", `${message}; list the open gates to see which there are`));
  }
  return JSON.parse(stored.row) as GateRow;
}

/** The gate with the exact call it holds, which is only in the journal. */
export async function gateView(ports: Ports, tenant: Tenant, row: GateRow): Promise<GateView> {
  const { run } = await load(ports.store, tenant, row.run_id);
  const gate = run.gates.get(row.gate_id);
  if (gate === undefined)
    throw new FaultError(
      fault("GATE_NOT_FOUND", `gate ${row.gate_id} is not in the journal of run ${row.run_id}; audit the run`),
    );
  const { gate_id, run_id, step_id, tool, status, requester, expires_at } = row;
  return {
    gate_id,
    run_id,
    step_id,
    tool,
    status,
    requester,
    expires_at,
    input: gate.call.input,
    digest: gate.call.digest,
    reason: gate.reason,
  };
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

/** Spending is counted per principal and day, and per tenant and month; nothing else has an answer. */
export async function spentOver(ports: Ports, tenant: Tenant, period: string, by: string | null): Promise<SpentOver> {
  const form = by === null ? /^\d{4}-\d\d$/ : /^\d{4}-\d\d-\d\d$/;
  if (!form.test(period) || (by !== null && !isName(by))) {
    const message =
      "spending is told of a month (2025-11), or of a day (2025-11-15) with whose it is; ask for one of them";
    throw new FaultError(fault("INVALID_INPUT", message));
  }
  const used = (unit: Parameters<typeof tallyOf>[0]) =>
    ports.store.used(tenant, tallyOf(unit, by === null ? "tenant" : "principal", by ?? "", period));
  const [usd_micros, credits, tokens_in, tokens_out] = await Promise.all([
    used("usd_micros"),
    used("credits"),
    used("tokens_in"),
    used("tokens_out"),
  ]);
  return { period, usd_micros, credits, tokens_in, tokens_out };
}

/** Erases bodies, never heads, hashes, ledger rows or the receipts they point to. */
export async function retain(ports: Ports, tenant: Tenant, endedBefore: Instant): Promise<Retained> {
  if (!Number.isSafeInteger(endedBefore)) {
    const message =
      "endedBefore must be a moment in milliseconds since 1970; runs that ended before it lose their bodies";
    throw new FaultError(fault("INVALID_INPUT", message));
  }
  const receipts = await receiptsOf(ports, tenant);
  const erased = { runs: 0, events: 0, waiting: 0 };
  for await (const { row } of rows(ports, tenant, "run")) {
    const { run_id, ended_at } = JSON.parse(row) as RunRow;
    if (ended_at === null || ended_at >= endedBefore) continue;
    if (await hasNotices(ports, tenant, run_id)) {
      erased.waiting += 1;
      continue;
    }
    const keep = receipts.get(run_id) ?? [];
    const blobs = await blobsOf(ports, tenant, run_id, keep);
    const events = await ports.store.erase(tenant, run_id, keep, bodyHash, blobs);
    if (events > 0) erased.runs += 1;
    erased.events += events;
  }
  return erased;
}

/** A message that nobody has taken yet is in the bodies; without them it could never be delivered. */
async function hasNotices({ store }: Ports, tenant: Tenant, run: RunId): Promise<boolean> {
  const where = { field: "run_id", equals: run };
  return (await store.list(tenant, { table: "notice", where, order: "oldest", limit: 1 })).length > 0;
}

/** The blobs that only bodies that are about to go point to. */
async function blobsOf(
  { store }: Ports,
  tenant: Tenant,
  run: RunId,
  keep: readonly number[],
): Promise<readonly Digest[]> {
  const named = { going: new Set<Digest>(), staying: new Set<Digest>() };
  for (const { position, body } of await store.events(tenant, run, 0)) {
    const name = body === null ? null : blobIn(body);
    if (name !== null) named[keep.includes(position) ? "staying" : "going"].add(name);
  }
  return [...named.going].filter((name) => !named.staying.has(name));
}

async function receiptsOf(ports: Ports, tenant: Tenant): Promise<ReadonlyMap<RunId, readonly number[]>> {
  const receipts = new Map<RunId, number[]>();
  for await (const { row } of rows(ports, tenant, "ledger")) {
    const { run_id, receipt } = JSON.parse(row) as LedgerRow;
    if (receipt === null) continue;
    const kept = receipts.get(run_id);
    if (kept === undefined) receipts.set(run_id, [receipt]);
    else kept.push(receipt);
  }
  return receipts;
}
