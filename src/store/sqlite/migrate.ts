import { readdirSync, readFileSync } from "node:fs";
import { FaultError, fault } from "../../core/fault.ts";
import type { Database } from "./driver.ts";

const folder = new URL("./migrations/", import.meta.url);
const applicationId = 0x57524954;

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** Brings the schema up to date, each step in a transaction of its own that records itself. */
export function migrate(db: Database, file: string): void {
  const migrations = readMigrations();
  for (const migration of migrations) {
    if (schemaVersion(db, file) >= migration.number) continue;
    db.exec("begin immediate");
    try {
      // Another process may have been faster between the look and the lock.
      if (schemaVersion(db, file) < migration.number) apply(db, migration);
      db.exec("commit");
    } catch (error) {
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
  }
  assertNotNewer(schemaVersion(db, file), migrations.length, file);
}

function readMigrations(): readonly Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.sort().map((name) => ({
    number: Number.parseInt(name, 10),
    name: name.replace(/\.sql$/, ""),
    sql: readFileSync(new URL(name, folder), "utf8"),
  }));
}

function apply(db: Database, { number, name, sql }: Migration): void {
  db.exec(sql);
  db.prepare("insert into migration (number, name) values (?, ?)").run(number, name);
}

/** 0: a new file. */
function schemaVersion(db: Database, file: string): number {
  if (one(db, "pragma application_id") === applicationId) return one(db, "select max(number) from migration");
  if (one(db, "select count(*) from sqlite_schema") === 0) return 0;
  throw new FaultError(fault("STORE_UNUSABLE", `${file} is a SQLite database of something else; give another path`));
}

function assertNotNewer(found: number, known: number, file: string): void {
  if (found <= known) return;
  const message = `${file} has schema version ${found} and this version of Writ knows ${known}; use the newer Writ that wrote it`;
  throw new FaultError(fault("STORE_NEWER", message, { found, known }));
}

function one(db: Database, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0]);
}
