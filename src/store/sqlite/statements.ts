import { assert } from "../../core/assert.ts";
import type { RunId, Tenant, WorkerId } from "../../core/id.ts";
import { indexed, type Table, tables } from "../../core/rows.ts";
import type { Head, Holding, Query, StoredRow, Tally } from "../../core/store.ts";
import { queueDefault, type Waiter } from "../../core/turns.ts";
import type { Database, Statement } from "./driver.ts";

/** Every statement of the store, prepared once. */
export type Statements = ReturnType<typeof prepareAll>;

export function prepareAll(db: Database) {
  const prepare = <Row>(sql: string) => db.prepare(sql) as Statement<Row>;
  return { ...journal(prepare), ...leases(prepare), ...kept(prepare), ...rows(prepare), list: lists(prepare) };
}

type Prepare = <Row>(sql: string) => Statement<Row>;

/** Rows come as arrays, because whole stores are read with them and objects from the driver cost half as much again. */
const asArrays = <Row>(statement: Statement<Row>): Statement<Row> => {
  statement.setReturnArrays(true);
  return statement;
};

/** So many events, a line each. */
export type EventLines = readonly [count: number, lines: string | null];

type RowColumns = readonly [key: string, version: number, row: string];

/** An event in one text: each value that the driver hands over takes as long as reading three. */
const eventText = `position || ' ' || at || ' ' || v || ' ' || hex(hash) || iif(body_hash is null, '', '-' || hex(body_hash))
  || ' ' || type || coalesce(' ' || body, '')`;

/** How many events of a run are asked for in one text: a row of its own for each takes three times as long. */
export const PART = 256;

/** So many rows in one statement take half of what they take in one each: it is binding values that costs. With more, it takes that back. */
export const MANY = 16;

/** Events that follow each other: what they share first, the position of the first with it, then what each has of its own. */
function insertEvents(count: number): string {
  const values = Array.from({ length: count }, (_, index) => `(?1, ?2, ?3, ?4, ?5 + ${index}, ?, ?, ?)`);
  return `insert into event (tenant, run, type, v, position, at, body, hash) values ${values.join(", ")}`;
}

const currentEpoch = "(select epoch from lease where lease.tenant = ?3 and lease.run = ?4)";

function journal(prepare: Prepare) {
  return {
    events: asArrays(
      prepare<readonly [text: string]>(
        `select ${eventText} from event where tenant = ? and run = ? and position > ? order by position limit ?`,
      ),
    ),
    // Nothing says that they are in order, nor that no event has a line of its own: whoever reads them looks.
    somePart: asArrays(
      prepare<EventLines>(
        `select count(*), group_concat(${eventText}, char(10)) from event
         where tenant = ? and run = ? and position > ? and position <= ?`,
      ),
    ),
    firstParts: asArrays(
      prepare<readonly [...EventLines, run: RunId]>(
        `select count(*), group_concat(case when position <= ${PART} then ${eventText} end, char(10)), run from event
         where tenant = ? and run > ? group by run order by run limit ?`,
      ),
    ),
    heads: asArrays(
      prepare<readonly [position: Head["position"], hash: Head["hash"], run: RunId]>(
        "select position, hash, run from head where tenant = ? and run > ? order by run limit ?",
      ),
    ),
    insertHead: prepare("insert into head (position, hash, tenant, run) values (?, ?, ?, ?)"),
    advanceHead: prepare("update head set position = ?1, hash = ?2 where tenant = ?3 and run = ?4 and position = ?5"),
    advanceFencedHead: prepare(
      `update head set position = ?1, hash = ?2
       where tenant = ?3 and run = ?4 and position = ?5 and ${currentEpoch} = ?6`,
    ),
    head: asArrays(
      prepare<readonly [position: Head["position"], hash: Head["hash"]]>(
        "select position, hash from head where tenant = ? and run = ?",
      ),
    ),
    insertEvent: prepare(insertEvents(1)),
    insertManyEvents: prepare(insertEvents(MANY)),
    eventHash: prepare<{ readonly hash: Uint8Array }>(
      "select hash from event where tenant = ? and run = ? and position = ?",
    ),
    // From run to run by the key: reading every event to name its run would take as long as reading the journal.
    runs: prepare<{ readonly run: RunId }>(
      `with recursive told(run) as (
         select * from (select run from event where tenant = ?1 and run > ?2 order by run limit 1)
         union all
         select (select run from event where tenant = ?1 and event.run > told.run order by run limit 1)
         from told where told.run is not null limit ?3
       )
       select run from told where run is not null
       union select * from (select run from head where tenant = ?1 and run > ?2 order by run limit ?3)
       order by run limit ?3`,
    ),
    eraseBody: prepare("update event set body = null, body_hash = ? where tenant = ? and run = ? and position = ?"),
  };
}

const place = {
  queue: `coalesce(timer.row ->> 'queue', '${queueDefault}')`,
  rank: "-coalesce(timer.row ->> 'priority', 0)",
  at: "timer.row ->> 'due_at'",
} as const;

const queue = `case when ${place.at} is null then null else ${place.queue} end`;

/** The first of a part of a place that is beyond another. */
const beyond = (part: string, within = "true") =>
  `select ${part} as found from timer indexed by timer_place
   where ${place.at} is not null and ${within} and ${part} > ? order by ${part} limit 1`;

const needs = "timer.row ->> 'needs'";

function leases(prepare: Prepare) {
  return {
    epoch: prepare<{ readonly epoch: number }>("select epoch from lease where tenant = ? and run = ?"),
    claim: prepare<{ readonly epoch: number }>(
      `insert into lease (tenant, run, epoch, worker, until, since) values (?1, ?2, 1, ?3, ?4, ?5)
       on conflict (tenant, run) do update
       set epoch = epoch + 1, prior = worker, worker = excluded.worker, until = excluded.until, since = excluded.since
       where until <= ?5 or worker = excluded.worker
       returning epoch`,
    ),
    // From place to place by the index, so that a claim costs what it takes and not what waits.
    nextTenant: prepare<{ readonly found: Tenant }>(beyond("timer.tenant")),
    nextQueue: prepare<{ readonly found: string }>(beyond(place.queue, "timer.tenant = ?")),
    nextRank: prepare<{ readonly found: number }>(beyond(place.rank, `timer.tenant = ? and ${place.queue} = ?`)),
    dueAt: prepare<{ readonly run: RunId; readonly at: number }>(
      `select timer.key as run, ${place.at} as at from timer indexed by timer_place
       left join lease on lease.tenant = timer.tenant and lease.run = timer.key
       where ${place.at} is not null and timer.tenant = ?1 and ${place.queue} = ?2 and ${place.rank} = ?3
         and ${place.at} <= ?4 and coalesce(lease.until, 0) <= ?4
       order by ${place.at}, timer.key limit ?5`,
    ),
    nextNeeds: prepare<{ readonly found: string }>(
      `select ${needs} as found from timer indexed by timer_needs
       where ${needs} is not null and ${needs} > ? order by ${needs} limit 1`,
    ),
    needing: prepare<Waiter>(
      `select timer.tenant, timer.key as run, ${place.queue} as queue, -(${place.rank}) as priority
       from timer indexed by timer_needs
       left join lease on lease.tenant = timer.tenant and lease.run = timer.key
       where ${needs} is not null and ${needs} = ?1
         and coalesce(${place.at} > ?2, true) and coalesce(lease.until, 0) <= ?2`,
    ),
    held: prepare<Pick<Waiter, "tenant"> & { readonly queue: string | null }>(
      `select lease.tenant, ${queue} as queue from lease
       left join timer on timer.tenant = lease.tenant and timer.key = lease.run where lease.until > ?`,
    ),
    holdings: prepare<Holding>(
      `select lease.run, lease.worker, lease.epoch, ${queue} as queue, lease.since, lease.until from lease
       left join timer on timer.tenant = lease.tenant and timer.key = lease.run
       where lease.tenant = ? and lease.run > ? and lease.until > ? order by lease.run limit ?`,
    ),
    nextDue: prepare<{ readonly at: number }>(
      `select row ->> 'due_at' as at from timer indexed by timer_due_at
       where row ->> 'due_at' > ? order by row ->> 'due_at' limit 1`,
    ),
    renew: prepare("update lease set until = ? where tenant = ? and run = ? and worker = ? and epoch = ?"),
    predecessor: prepare<{ readonly prior: WorkerId | null }>(
      "select prior from lease where tenant = ? and run = ? and worker = ? and epoch = ?",
    ),
    release: prepare(
      "update lease set worker = null, until = 0, prior = null, since = 0 where tenant = ? and run = ? and worker = ? and epoch = ?",
    ),
    expireAll: prepare("update lease set until = 0 where until > 0"),
    mark: prepare(
      `insert into marker (step, attempt, tenant, run, epoch) select ?1, ?2, ?3, ?4, ?5 where ${currentEpoch} = ?5
       on conflict (tenant, run, step, attempt) do update set epoch = excluded.epoch`,
    ),
    marked: prepare("select 1 from marker where tenant = ? and run = ? and step = ? and attempt = ?"),
  };
}

function kept(prepare: Prepare) {
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

function rows(prepare: Prepare) {
  const each = <Row>(sql: (table: Table) => string) =>
    Object.fromEntries(tables.map((table) => [table, prepare(sql(table))])) as Record<Table, Statement<Row>>;
  const row = each<RowColumns>((table) => `select key, version, row from ${table} where tenant = ? and key = ?`);
  for (const table of tables) asArrays(row[table]);
  return {
    findRow: (tenant: Tenant, table: Table, key: string): StoredRow | null => {
      const found = row[table].get(tenant, key);
      return found === undefined ? null : storedRow(found);
    },
    putRow: each(
      (table) =>
        `insert into ${table} (tenant, key, version, row) values (?, ?, ?, ?)
         on conflict (tenant, key) do update set version = excluded.version, row = excluded.row`,
    ),
    removeRow: each((table) => `delete from ${table} where tenant = ? and key = ?`),
  };
}

/** The statement for a query's shape, prepared when that shape is first asked for. */
function lists(prepare: Prepare): (query: Query) => Statement<RowColumns> {
  const known = new Map<string, Statement<RowColumns>>();
  return (query) => {
    const sql = listSql(query);
    const statement = known.get(sql) ?? asArrays(prepare<RowColumns>(sql));
    known.set(sql, statement);
    return statement;
  };
}

function listSql({ table, where, after, order }: Query): string {
  const field = indexed[table]?.find((name) => name === where?.field);
  assert(where === undefined || field !== undefined, `${table} can be asked for ${where?.field}`);
  // Without statistics SQLite would rather walk the whole tenant than use the index, so it is named.
  const by = field === undefined ? "" : ` indexed by ${table}_${field}`;
  const equal = field === undefined ? "" : ` and row ->> '${field}' = ? and row ->> '${field}' is not null`;
  const beyond = after === undefined ? "" : ` and key ${order === "oldest" ? ">" : "<"} ?`;
  const direction = order === "oldest" ? "asc" : "desc";
  return `select key, version, row from ${table}${by} where tenant = ?${equal}${beyond} order by key ${direction} limit ?`;
}

export function storedRow({ 0: key, 1: version, 2: row }: RowColumns): StoredRow {
  return { key, version, row };
}
