import type { RunRow } from "../../core/store/tables.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Instant, RunId, Tenant } from "../../core/values/ids.ts";
import type { ChangesOptions, ListPage, RunChange, RunListOptions } from "../api/list-api.ts";
import { readPrincipal } from "../api/read-principal.ts";
import type { PrincipalOptions } from "../api/request-options.ts";
import { isStoreFault } from "../journal/append-errors.ts";
import type { LeasedRuns } from "../worker/leased-runs.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** The statuses of runs that can still change by themselves. */
const liveStatuses = ["running", "waiting", "rolling_back", "open", "closing", "poison", "restored"] as const;

/** The number of runs of each live status, and of the newest runs, that are watched. */
const WATCHED_MAX = 1000;

type ListRuns = (options: RunListOptions) => Promise<ListPage<RunRow>>;

/**
 * Yields the runs whose rows have changed since the last look. A look follows each write of this process and, as far as
 * the store reports them, of others; and each sweep. The process stays alive while a caller waits for a change.
 */
export async function* watchRunChanges(
  { store, loopTimers, keepAlive }: WorkerPorts,
  leasedRuns: LeasedRuns,
  listRuns: ListRuns,
  { principal, since }: Omit<ChangesOptions, "signal">,
  stop: AbortSignal,
): AsyncGenerator<RunChange> {
  const { tenant } = readPrincipal(principal);
  if (since !== undefined) yield* changesSince(listRuns, principal, readSince(since));
  let known: ReadonlyMap<RunId, string> | null = null;
  const pause = (ms: number) => new Promise<void>((resolve) => void loopTimers.after(ms, resolve));
  while (!stop.aborted) {
    const { changed } = leasedRuns.watch({ appends: true, signal: stop });
    const rested = pause(waitTimes.changesMs);
    const rows = await readWatchedRows(listRuns, principal);
    if (rows !== null) {
      for (const change of known === null ? [] : await changesBetween(known, rows, store, tenant)) yield change;
      known = new Map(Array.from(rows, ([run_id, row]) => [run_id, JSON.stringify(row)]));
    }
    await keepAlive(changed);
    // A write after a rest is seen at once, together with what follows from it in the same moment.
    if (!stop.aborted) await keepAlive(Promise.all([rested, pause(waitTimes.changesTogetherMs)]));
  }
}

/** Clocks of processes differ, and a store writes a row shortly after the time in the row. */
const CLOCK_DIFFERENCE_MS = 60_000;

function readSince(since: unknown): number {
  if (Number.isSafeInteger(since)) return Number(since) - CLOCK_DIFFERENCE_MS;
  throw new FaultError(fault("INVALID_INPUT", "since must be a time in milliseconds since 1970"));
}

/** Yields every run whose row has changed since a time, also those that have ended. Reads the whole list. */
async function* changesSince(
  listRuns: ListRuns,
  principal: PrincipalOptions["principal"],
  since: number,
): AsyncGenerator<RunChange> {
  let after: string | null | undefined;
  while (after !== null) {
    const page: ListPage<RunRow> = await listRuns({
      principal,
      limit: WATCHED_MAX,
      ...(after !== undefined && { after }),
    });
    for (const row of page) if (changedAt(row) >= since) yield toChange(row);
    after = page.next;
  }
}

function toChange(row: RunRow): RunChange {
  return { run_id: row.run_id, status: row.ended_as ?? row.status, at: changedAt(row) };
}

/** Rows of an older version have no time of their last change. */
function changedAt({ updated_at, ended_at, accepted_at }: RunRow): Instant {
  return updated_at ?? ended_at ?? accepted_at;
}

/** Returns the rows of the live runs and of the newest runs. Null: the store does not answer now. */
async function readWatchedRows(
  listRuns: ListRuns,
  principal: PrincipalOptions["principal"],
): Promise<ReadonlyMap<RunId, RunRow> | null> {
  const rows = new Map<RunId, RunRow>();
  try {
    for (const status of [undefined, ...liveStatuses]) {
      const named = status === undefined ? {} : { status };
      for (const row of await listRuns({ principal, limit: WATCHED_MAX, ...named })) rows.set(row.run_id, row);
    }
    return rows;
  } catch (error) {
    if (isStoreFault(error)) return null;
    throw error;
  }
}

async function changesBetween(
  known: ReadonlyMap<RunId, string>,
  rows: ReadonlyMap<RunId, RunRow>,
  store: WorkerPorts["store"],
  tenant: Tenant,
): Promise<readonly RunChange[]> {
  const changes: RunChange[] = [];
  for (const [run_id, row] of rows)
    if (known.get(run_id) !== JSON.stringify(row)) changes.push({ ...toChange(row), status: row.status });
  for (const [run_id, text] of known) {
    if (rows.has(run_id)) continue;
    // It has ended, or newer runs took its place.
    const stored = await store.row(tenant, "run", run_id);
    const now = stored === null ? null : (JSON.parse(stored.row) as RunRow);
    const before = JSON.parse(text) as RunRow;
    if (now !== null && now.updated_at !== before.updated_at) changes.push(toChange(now));
  }
  return changes;
}
