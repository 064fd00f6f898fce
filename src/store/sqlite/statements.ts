import { defaultQueue, type QueuedRun } from "../../core/store/select-fairly.ts";
import type { Head, Query, RunLease, StoredRow, Tally } from "../../core/store/store.ts";
import { indexedRowFields, type Table, tables, taggedRowFields } from "../../core/store/tables.ts";
import { assert } from "../../core/values/assert.ts";
import type { Instant, RunId, Tenant, WorkerId } from "../../core/values/ids.ts";
import { EpochStatement, epochChanges } from "./epoch-changes.ts";
import { anyJournal, eventStatements, progressTypes, returnArrays } from "./event-statements.ts";
import { LazyStatement } from "./lazy-statement.ts";
import { searchStatements } from "./search-statements.ts";
import type { Prepare, SqliteDatabase, SqliteStatement } from "./sqlite-driver.ts";
import { workerStatements } from "./worker-statements.ts";

/** Every statement of the store. Each is prepared once, at its first use. */
export type SqliteStatements = ReturnType<typeof sqliteStatements>;

export function sqliteStatements(db: SqliteDatabase) {
  const prepare = <Row>(sql: string) => new LazyStatement<Row>(db, sql);
  const changeEpoch: Prepare = (sql) => new EpochStatement(db, sql, "a run");
  return {
    epochChanges: epochChanges(db),
    ...journalStatements(prepare),
    ...eventStatements(prepare),
    ...dueRunStatements(prepare),
    ...leaseStatements(prepare, changeEpoch),
    ...workerStatements(prepare, (sql) => new EpochStatement(db, sql, "many runs")),
    ...tallyAndBlobStatements(prepare),
    ...rowStatements(prepare),
    ...searchStatements(prepare),
    list: createListStatements(prepare),
  };
}

/** The number of events, and their text with one line per event. */
export type EventLines = readonly [count: number, lines: string | null];

type RowColumns = readonly [key: string, version: number, row: string];

/** An event as one text: passing a value from the driver takes as long as reading three values. */
const eventAsText = `position || ' ' || at || ' ' || v || ' ' || hex(hash) || iif(body_hash is null, '', '-' || hex(body_hash))
  || ' ' || type || coalesce(' ' || body, '')`;

/** The number of events of a run that are read as one text: one row per event takes three times as long. */
export const EVENTS_PER_READ = 256;

/** An event counts only with the names of its journal, if it is the first, and else without names. */
const hasOwnNames = "(tenant = ?1 and run = ?2 or position > 1 and tenant is null and run is null)";

/**
 * The heads. While a worker holds a run, the row of its head may be behind: the head is the last event then, if the
 * events contain what the row names. Else the row counts, so that an audit finds what is missing.
 */
const headsIf = (
  condition: string,
) => `select coalesce(last.position, head.position) as position, coalesce(last.hash, head.hash) as hash,
    head.journal, head.run
  from head left join event as last on last.journal = head.journal
    and last.position = (select max(position) from event where journal = head.journal)
    and last.position > head.position and exists (
      select 1 from event as named
      where named.journal = head.journal and named.position = head.position and named.hash = head.hash)
    ${condition}`;

const heads = headsIf("");

/** The heads for an audit: an event that no call writes cannot follow the event that the row names. */
const auditedHeads = headsIf(`and not exists (
      select 1 from event as other where other.journal = head.journal and other.position > head.position
        and other.type not in (${[...progressTypes].map((type) => `'${type}'`).join(", ")}))`);

type HeadColumns = readonly [position: Head["position"], hash: Head["hash"], journal: number, run: RunId];

function journalStatements(prepare: Prepare) {
  return {
    events: returnArrays(
      prepare<readonly [text: string]>(
        `select ${eventAsText} from event
         where journal = ${anyJournal} and position > ?3 and ${hasOwnNames} order by position limit ?4`,
      ),
    ),
    // SQLite does not guarantee the order of the lines, and an event may contain a line break: the reader checks both.
    somePart: returnArrays(
      prepare<EventLines>(
        `select count(*), group_concat(${eventAsText}, char(10)) from event
         where journal = ${anyJournal} and position > ?3 and position <= ?4 and ${hasOwnNames}`,
      ),
    ),
    firstParts: returnArrays(
      prepare<readonly [...EventLines, journal: number, run: RunId]>(
        `select (select count(*) from event where event.journal = first.journal),
           (select group_concat(${eventAsText}, char(10)) from event
            where event.journal = first.journal and event.position <= ${EVENTS_PER_READ}
              and (event.seq = first.seq or event.position > 1 and event.tenant is null and event.run is null)),
           journal, run
         from event as first indexed by event_name where tenant = ? and run > ? order by run limit ?`,
      ),
    ),
    heads: returnArrays(
      prepare<HeadColumns>(`${auditedHeads} where head.tenant = ? and head.run > ? order by head.run limit ?`),
    ),
    insertHead: returnArrays(
      prepare<readonly [journal: number]>(
        `insert into head (position, hash, tenant, run, journal)
         values (?, ?, ?, ?, (select coalesce(max(seq), 0) + 1 from event)) on conflict (tenant, run) do nothing
         returning journal`,
      ),
    ),
    catchUpHead: prepare(
      `update head set position = last.position, hash = last.hash
       from (${heads} where head.tenant = ?1 and head.run = ?2) as last
       where head.tenant = ?1 and head.run = ?2 and head.position < last.position`,
    ),
    moveHead: prepare("update head set position = ?, hash = ? where tenant = ? and run = ?"),
    auditedHead: returnArrays(prepare<HeadColumns>(`${auditedHeads} where head.tenant = ? and head.run = ?`)),
    head: returnArrays(prepare<HeadColumns>(`${heads} where head.tenant = ? and head.run = ?`)),
    runs: prepare<{ readonly run: RunId }>(
      `select * from (select run from event indexed by event_name where tenant = ?1 and run > ?2 order by run limit ?3)
       union select * from (select run from head where tenant = ?1 and run > ?2 order by run limit ?3)
       order by run limit ?3`,
    ),
  };
}

const timerColumns = {
  queue: `coalesce(timer.row ->> 'queue', '${defaultQueue}')`,
  rank: "-coalesce(timer.row ->> 'priority', 0)",
  at: "timer.row ->> 'due_at'",
} as const;

const timerQueue = `case when ${timerColumns.at} is null then null else ${timerColumns.queue} end`;

/** Selects the next value of a column (tenant, queue or rank) after a given one. */
const nextAfter = (column: string, condition = "true") =>
  `select ${column} as found from timer indexed by timer_place
   where ${timerColumns.at} is not null and ${condition} and ${column} > ? order by ${column} limit 1`;

/** While a live worker has the rules of a run, only such workers claim it. */
const hasFreeRules = (own: string) =>
  `not exists (select 1 from worker where worker.rules = timer.row ->> 'rules' and worker.rules is not ${own})`;

/** A tool of a run is in a JSON list. */
const hasToolIn = (list: string) =>
  `exists (select 1 from json_each(timer.row, '$.tools') tool where tool.value in (select value from json_each(${list})))`;

const timerNeeds = "timer.row ->> 'needs'";

function dueRunStatements(prepare: Prepare) {
  return {
    // These skip in the index to the next tenant, queue and rank, so that the cost of a claim does not grow with the
    // queue.
    nextTenant: prepare<{ readonly found: Tenant }>(nextAfter("timer.tenant")),
    nextQueue: prepare<{ readonly found: string }>(nextAfter(timerColumns.queue, "timer.tenant = ?")),
    nextRank: prepare<{ readonly found: number }>(
      nextAfter(timerColumns.rank, `timer.tenant = ? and ${timerColumns.queue} = ?`),
    ),
    nextDueAt: prepare<{ readonly at: Instant }>(
      `select ${timerColumns.at} as at from timer indexed by timer_place
       where ${timerColumns.at} is not null and tenant = ? and ${timerColumns.queue} = ? and ${timerColumns.rank} = ?
         and ${timerColumns.at} > ? order by ${timerColumns.at} limit 1`,
    ),
    dueAt: prepare<{ readonly run: RunId; readonly at: number }>(
      `select timer.key as run, ${timerColumns.at} as at from timer indexed by timer_place
       left join lease on lease.tenant = timer.tenant and lease.run = timer.key
       where ${timerColumns.at} is not null and timer.tenant = ?1 and ${timerColumns.queue} = ?2 and ${timerColumns.rank} = ?3
         and ${timerColumns.at} <= ?4 and lease.worker is null and ${hasFreeRules("?6")}
         and (?9 is null or ${hasToolIn("?7")} or not ${hasToolIn("iif(timer.row ->> 'rules' is ?6, ?8, ?9)")})
       order by ${timerColumns.at}, timer.key limit ?5`,
    ),
    nextNeeds: prepare<{ readonly found: string }>(
      `select ${timerNeeds} as found from timer indexed by timer_needs
       where ${timerNeeds} is not null and ${timerNeeds} > ? order by ${timerNeeds} limit 1`,
    ),
    needing: prepare<QueuedRun>(
      `select timer.tenant, timer.key as run, ${timerColumns.queue} as queue, -(${timerColumns.rank}) as priority
       from timer indexed by timer_needs
       left join lease on lease.tenant = timer.tenant and lease.run = timer.key
       where ${timerNeeds} is not null and ${timerNeeds} = ?1
         and coalesce(${timerColumns.at} > ?2, true) and lease.worker is null and ${hasFreeRules("?3")}`,
    ),
  };
}

function leaseStatements(prepare: Prepare, changeEpoch: Prepare) {
  return {
    epoch: prepare<{ readonly epoch: number }>("select epoch from lease where tenant = ? and run = ?"),
    claim: changeEpoch<{ readonly epoch: number }>(
      `insert into lease (tenant, run, epoch, worker, since) values (?1, ?2, 1, ?3, ?4)
       on conflict (tenant, run) do update
       set epoch = epoch + 1, prior = coalesce(worker, prior), worker = excluded.worker, since = excluded.since,
         wanted = nullif(wanted, excluded.worker)
       where worker is null or worker = excluded.worker
       returning epoch`,
    ),
    held: prepare<Pick<QueuedRun, "tenant"> & { readonly queue: string | null }>(
      `select lease.tenant, ${timerQueue} as queue from lease indexed by lease_worker
       left join timer on timer.tenant = lease.tenant and timer.key = lease.run where lease.worker is not null`,
    ),
    holdings: prepare<Omit<RunLease, "until">>(
      `select lease.run, lease.worker, lease.epoch, ${timerQueue} as queue, lease.since from lease
       left join timer on timer.tenant = lease.tenant and timer.key = lease.run
       where lease.tenant = ? and lease.run > ? and lease.worker is not null order by lease.run limit ?`,
    ),
    heldBy: prepare<HeldLease>(
      "select tenant, run, epoch from lease indexed by lease_worker where worker = ? and worker is not null",
    ),
    abandon: changeEpoch(
      `update lease set epoch = epoch + 1, prior = worker, worker = null, since = 0, wanted = null
       where tenant = ? and run = ? and worker = ? and epoch = ?`,
    ),
    predecessor: prepare<{ readonly prior: WorkerId | null }>(
      "select prior from lease where tenant = ? and run = ? and worker = ? and epoch = ?",
    ),
    // The epoch moves when the worker that asks for the run claims it.
    release: prepare(
      `update lease set worker = wanted, prior = null, since = iif(wanted is null, 0, ?5), wanted = null
       where tenant = ?1 and run = ?2 and worker = ?3 and epoch = ?4`,
    ),
    ask: prepare("update lease set wanted = ?1 where tenant = ?2 and run = ?3 and wanted is not ?1"),
    withdrawAsk: prepare("update lease set wanted = null where tenant = ?2 and run = ?3 and wanted = ?1"),
    holder: prepare<{ readonly worker: WorkerId | null }>("select worker from lease where tenant = ? and run = ?"),
    isWanted: prepare(
      "select 1 from lease where tenant = ? and run = ? and worker = ? and epoch = ? and wanted is not null",
    ),
    ...markerStatements(prepare),
  };
}

function markerStatements(prepare: Prepare) {
  return {
    holds: prepare("select 1 from lease where tenant = ? and run = ? and worker = ? and epoch = ?"),
    // Writes nothing if the lease is lost, or the marker exists.
    mark: prepare(
      `insert into marker (tenant, run, step, attempt, epoch) select ?1, ?2, ?3, ?4, ?5
       where exists (select 1 from lease where tenant = ?1 and run = ?2 and worker = ?6 and epoch = ?5)
       on conflict (tenant, run, step, attempt) do nothing`,
    ),
    markAgain: prepare("update marker set epoch = ?5 where tenant = ?1 and run = ?2 and step = ?3 and attempt = ?4"),
    countMarker: prepare(
      `insert into sent (tenant, run, number) values (?, ?, 1)
       on conflict (tenant, run) do update set number = number + 1`,
    ),
    marked: prepare("select 1 from marker where tenant = ? and run = ? and step = ? and attempt = ?"),
    areAllMarkersCounted: prepare<{ readonly whole: 0 | 1 }>(
      `select (select count(*) from marker where tenant = ?1 and run = ?2)
         = coalesce((select number from sent where tenant = ?1 and run = ?2), 0) as whole`,
    ),
    claims: prepare<ClaimColumns>(
      `with runs(run) as (
         select run from lease where tenant = ?1 and run > ?2
         union select run from marker where tenant = ?1 and run > ?2
         union select run from sent where tenant = ?1 and run > ?2
         order by run limit ?3
       )
       select runs.run, lease.epoch, lease.worker,
         lease.worker is not null or lease.since <> 0 as held, coalesce(sent.number, 0) as sent, (
         select json_group_array(json_array(step, attempt, epoch)) from marker where marker.tenant = ?1 and marker.run = runs.run
       ) as markers
       from runs
       left join lease on lease.tenant = ?1 and lease.run = runs.run
       left join sent on sent.tenant = ?1 and sent.run = runs.run
       order by runs.run`,
    ),
  };
}

/** The epoch, the lease and the markers of a run. */
export interface ClaimColumns {
  readonly run: RunId;
  readonly epoch: number | null;
  readonly worker: WorkerId | null;
  /** 0 or null: no lease exists, or a release or an eviction ended it. */
  readonly held: 0 | 1 | null;
  readonly sent: number;
  readonly markers: string;
}

/** A lease that a worker holds. */
export interface HeldLease {
  readonly tenant: Tenant;
  readonly run: RunId;
  readonly epoch: number;
}

function tallyAndBlobStatements(prepare: Prepare) {
  return {
    charge: prepare(
      `insert into tally (tenant, tally, used) values (?, ?, ?)
       on conflict (tenant, tally) do update set used = used + excluded.used`,
    ),
    used: prepare<{ readonly used: number }>("select used from tally where tenant = ? and tally = ?"),
    tallies: prepare<Tally>("select tally, used from tally where tenant = ? and tally > ? order by tally limit ?"),
    dropBlob: prepare("delete from blob where tenant = ? and hash = ?"),
    putBlob: prepare("insert into blob (tenant, hash, bytes) values (?, ?, ?) on conflict (tenant, hash) do nothing"),
    blob: prepare<{ readonly bytes: Uint8Array }>("select bytes from blob where tenant = ? and hash = ?"),
    dataVersion: prepare<{ readonly data_version: number }>("pragma data_version"),
  };
}

/** The texts of the statements about rows, made once per process. */
const rowSqls = tables.map((table) => ({
  table,
  find: `select key, version, row from ${table} where tenant = ? and key = ?`,
  put: `insert into ${table} (tenant, key, version, row) values (?, ?, ?, ?)
        on conflict (tenant, key) do update set version = excluded.version, row = excluded.row`,
  insert: `insert into ${table} (tenant, key, version, row) values (?, ?, ?, ?) on conflict (tenant, key) do nothing`,
  update: `update ${table} set version = ?3, row = ?4 where tenant = ?1 and key = ?2 and version = ?5`,
  remove: `delete from ${table} where tenant = ? and key = ?`,
}));

function rowStatements(prepare: Prepare) {
  const each = <Row>(kind: "find" | "put" | "insert" | "update" | "remove") =>
    Object.fromEntries(rowSqls.map((sqls) => [sqls.table, prepare(sqls[kind])])) as Record<Table, SqliteStatement<Row>>;
  const row = each<RowColumns>("find");
  for (const table of tables) returnArrays(row[table]);
  return {
    findRow: (tenant: Tenant, table: Table, key: string): StoredRow | null => {
      const found = row[table].get(tenant, key);
      return found === undefined ? null : toSqliteRow(found);
    },
    putRow: each("put"),
    /** Write nothing if there is a row, or if its version is not the expected one. */
    insertRow: each("insert"),
    updateRow: each("update"),
    removeRow: each("remove"),
  };
}

/** Prepares the statement for each form of query once, at its first use. */
function createListStatements(prepare: Prepare): (query: Query) => SqliteStatement<RowColumns> {
  const prepared = new Map<string, SqliteStatement<RowColumns>>();
  return (query) => {
    const sql = listSql(query);
    const statement = prepared.get(sql) ?? returnArrays(prepare<RowColumns>(sql));
    prepared.set(sql, statement);
    return statement;
  };
}

function listSql({ table, where, after, order }: Query): string {
  const field = indexedRowFields[table]?.find((name) => name === where?.field);
  assert(where === undefined || field !== undefined, `${table} has an index on ${where?.field}`);
  const page = after === undefined ? "" : ` and key ${order === "oldest" ? ">" : "<"} ?`;
  const sorted = `order by key ${order === "oldest" ? "asc" : "desc"} limit ?`;
  if (field !== undefined && taggedRowFields[table]?.includes(field) === true)
    return `select key, version, row from ${taggedRows(table, field)} where true${page} ${sorted}`;
  // The index is named because SQLite, without statistics, would scan all rows of the tenant.
  const indexed = field === undefined ? "" : ` indexed by ${fieldIndex(table, field)}`;
  const equal = field === undefined ? "" : ` and row ->> '${field}' = ? and row ->> '${field}' is not null`;
  return `select key, version, row from ${table}${indexed} where tenant = ?${equal}${page} ${sorted}`;
}

/** The rows of a tenant with a value of a field, found by their tags. A tag is a text, and so equals no number. */
function taggedRows(table: Table, field: string): string {
  return `(select ${table}.key, version, row from tag cross join ${table} using (tenant, key)
    where tenant = ? and kind = '${table}' and tag = '${field}=' || ?2 and row ->> '${field}' = ?2)`;
}

/** Times are found in the order of the places of runs, which costs as much as the timers of the tenant. */
function fieldIndex(table: Table, field: string): string {
  return table === "timer" ? "timer_place" : `${table}_${field}`;
}

export function toSqliteRow({ 0: key, 1: version, 2: row }: RowColumns): StoredRow {
  return { key, version, row };
}
