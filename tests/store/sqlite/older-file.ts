import { connectSqlite, type SqliteDatabase } from "../../../src/store/sqlite/sqlite-driver.ts";
import { sqliteMigrations } from "../../../src/store/sqlite/sqlite-migrations.ts";

/** Makes a file as an older version of the schema had it, with the rows of a file of this version. */
export function makeOlderFile(file: string, from: string | null, version = 5): void {
  const db = connectSqlite(file);
  for (const { number, name, sql } of sqliteMigrations.slice(0, version)) {
    db.exec(sql);
    db.prepare("insert into migration (number, name) values (?, ?)").run(number, name);
  }
  if (from !== null) copyRows(db, from);
  db.close();
}

function copyRows(db: SqliteDatabase, from: string): void {
  db.exec(`attach '${from}' as newer`);
  const columns = (schema: string, table: string) =>
    (db.prepare(`pragma ${schema}.table_xinfo(${table})`).all() as { name: string; hidden: number }[])
      .filter(({ hidden }) => hidden === 0)
      .map(({ name }) => name);
  const tables = db.prepare("select name from main.sqlite_schema where type = 'table'").all() as { name: string }[];
  for (const { name } of tables.filter(({ name }) => !["migration", "lease", "event"].includes(name))) {
    const shared = columns("main", name).filter((column) => columns("newer", name).includes(column));
    db.exec(`insert into main.${name} (${shared}) select ${shared} from newer.${name}`);
  }
  db.exec(`insert into main.event (tenant, run, position, type, v, at, body, hash, body_hash)
    select head.tenant, head.run, event.position, type, v, at, body, event.hash, body_hash
    from newer.event join newer.head using (journal)`);
  db.exec("detach newer");
}

/** Adds a run with many events, which no engine made. */
export function addLongRun(file: string, run: string, events: number): void {
  const db = connectSqlite(file);
  db.exec(`
    with recursive number(n) as (select 1 union all select n + 1 from number where n < ${events})
    insert into event (tenant, run, position, type, v, at, body, hash)
    select 'bulk', '${run}', n, 'step.succeeded', 1, n, 'body ' || n, cast(n as blob) from number;
    insert into head (tenant, run, position, hash) values ('bulk', '${run}', ${events}, x'00')`);
  db.close();
}

/** Returns every event, in either layout or in both, as one text per event; a moved event must be in one only. */
export function listStoredEvents(file: string): readonly string[] {
  const db = connectSqlite(file);
  const has = (table: string) => db.prepare("select 1 from sqlite_schema where name = ?").get(table) !== undefined;
  const text = (name: string, event: string) =>
    `select concat_ws(' ', ${name}.tenant, ${name}.run, ${event}.position, ${event}.type, ${event}.v, ${event}.at,
       hex(${event}.hash), hex(${event}.body_hash), ${event}.body) as event`;
  const old = (table: string) => `${text(table, table)} from ${table}`;
  const log = `${text("name", "event")} from event join event as name
    on name.journal = event.journal and name.tenant is not null`;
  const sql = has("event_name") ? (has("old_event") ? `${log} union all ${old("old_event")}` : log) : old("event");
  const rows = db.prepare(`select event from (${sql}) order by 1`).all() as { readonly event: string }[];
  db.close();
  return rows.map(({ event }) => event);
}
