import { realpathSync } from "node:fs";
import { createFile } from "./create-file.ts";
import { connectExisting } from "./lock-file.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";
import { SQLITE_BUSY, sqliteCode, toSqliteFault } from "./sqlite-fault.ts";

/**
 * The lock that keeps two versions of the schema apart. Every process that has the store open holds it, shared; a
 * migration holds it alone. Earlier versions of Writ held it alone while they executed runs.
 */
export interface VersionLock {
  free(): void;
}

/** Takes the lock together with other processes. Null if a process holds it alone. */
export function shareVersionLock(file: string): VersionLock | null {
  // A transaction that has read holds a shared lock until it ends.
  return lockVersion(file, ["begin", "select count(*) from sqlite_schema"]);
}

/** Takes the lock alone. Null if any other process holds it. */
export function takeVersionLock(file: string): VersionLock | null {
  return lockVersion(file, ["begin exclusive"]);
}

function lockVersion(file: string, statements: readonly string[]): VersionLock | null {
  // The real path, so that two links to one store share a lock.
  const lockFile = `${realpathSync(file)}-worker`;
  const db = connectExisting(lockFile) ?? createAndConnect(lockFile);
  try {
    db.exec("pragma busy_timeout = 0; pragma journal_mode = memory");
    for (const sql of statements) db.exec(sql);
    return { free: () => db.close() };
  } catch (error) {
    db.close();
    if (sqliteCode(error) === SQLITE_BUSY) return null;
    throw toSqliteFault(error, lockFile);
  }
}

function createAndConnect(lockFile: string): SqliteDatabase {
  createFile(lockFile);
  const db = connectExisting(lockFile);
  if (db === null) throw new Error(`${lockFile} was removed while it was opened`);
  return db;
}
