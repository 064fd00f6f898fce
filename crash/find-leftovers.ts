import { connectSqlite, type SqliteStatement } from "../src/store/sqlite/sqlite-driver.ts";
import { lockFileNames, storeFile } from "./store-files.ts";

/** By problem: a query for rows that must not remain in a closed store. */
const leftoverQueries: Readonly<Record<string, string>> = {
  "the file is damaged": "select integrity_check as id from pragma_integrity_check where integrity_check <> 'ok'",
  "a lease that is still held": "select run as id from lease where worker is not null",
  "a worker that is still registered": "select id from worker",
  "a marker without a run": "select run as id from marker where run not in (select run from head)",
  "a lease without a run": "select run as id from lease where run not in (select run from head)",
  "a timer without a run": "select key as id from timer where key not in (select run from head)",
  "a journal without a run row":
    "select run as id from event where tenant is not null and type <> 'signal.sent' and run like 'run_%' and run not in (select key from run)",
  "an event without a head":
    "select type || ' ' || seq as id from event where journal not in (select journal from head)",
  "a timer of a removed schedule":
    "select key as id from timer where key like 'sch_%' and key not in (select key from setting)",
  ...Object.fromEntries(
    ["run", "ledger", "gate", "request", "notice", "outcome"].map((table) => [
      `a row of ${table} without its run`,
      `select key as id from ${table} where row ->> 'run_id' not in (select run from head)`,
    ]),
  ),
};

/** Returns a description of each leftover row and lock file of the store in a folder. */
export function findLeftovers(folder: string): readonly string[] {
  const db = connectSqlite(storeFile(folder));
  try {
    const rows = Object.entries(leftoverQueries).flatMap(([what, sql]) => {
      const query = db.prepare(sql) as SqliteStatement<{ readonly id: string }>;
      return query.all().map(({ id }) => `${what}: ${id}`);
    });
    return [...rows, ...lockFileNames(folder).map((name) => `the lock file of a worker: ${name}`)];
  } finally {
    db.close();
  }
}
