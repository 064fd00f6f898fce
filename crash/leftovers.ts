import { connect, type Statement } from "../src/store/sqlite/driver.ts";

/** What must never be found in a store that everybody has left, and what is wrong with it. */
const questions: Readonly<Record<string, string>> = {
  "the file is damaged": "select integrity_check as id from pragma_integrity_check where integrity_check <> 'ok'",
  "a lease that is still held": "select run as id from lease where worker is not null and until > 0",
  "a marker without a run": "select run as id from marker where run not in (select run from head)",
  "a lease without a run": "select run as id from lease where run not in (select run from head)",
  "a timer without a run": "select key as id from timer where key not in (select run from head)",
  "a journal that no list shows":
    "select distinct run as id from event where type <> 'signal.sent' and run not like 'sch_%' and run not in (select key from run)",
  "a schedule that was removed":
    "select key as id from timer where key like 'sch_%' and key not in (select key from setting)",
  ...Object.fromEntries(
    ["run", "ledger", "gate", "request", "notice", "outcome"].map((table) => [
      `a row of ${table} without its run`,
      `select key as id from ${table} where row ->> 'run_id' not in (select run from head)`,
    ]),
  ),
};

/** Everything that was left lying about, in words. */
export function leftoversIn(file: string): readonly string[] {
  const db = connect(file);
  try {
    return Object.entries(questions).flatMap(([what, sql]) => {
      const asked = db.prepare(sql) as Statement<{ readonly id: string }>;
      return asked.all().map(({ id }) => `${what}: ${id}`);
    });
  } finally {
    db.close();
  }
}
