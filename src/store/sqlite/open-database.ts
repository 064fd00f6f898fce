import { resolve } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import { assertKnownSchema } from "./assert-known-schema.ts";
import { assertExists, createFile } from "./create-file.ts";
import {
  assertNotForeign,
  assertUpToDate,
  type FileMigration,
  isUpToDate,
  migrateFile,
  schemaVersion,
} from "./migrate-file.ts";
import { assertSqliteVersion, connectSqlite, type SqliteDatabase } from "./sqlite-driver.ts";
import { toOpeningFault, toSqliteFault } from "./sqlite-fault.ts";
import { sqliteTimes } from "./sqlite-times.ts";
import { shareVersionLock, takeVersionLock, type VersionLock } from "./version-lock.ts";

/** How long opening waits between two attempts, in milliseconds. */
const openingPauseMs = 10;

/** The path of a database in memory, as SQLite names it. Its data ends when the store is closed. */
export const IN_MEMORY = ":memory:";

/**
 * Opens the file of a store, and creates or migrates it unless `create` is false. Throws a fault, before anything is
 * changed, if it cannot be used. Closing the connection also frees the version lock.
 */
export function openDatabase(path: string, create = true): { readonly db: SqliteDatabase; readonly file: string } {
  if (path === IN_MEMORY) return { db: connectToStore(path, migrateInMemory), file: path };
  const file = resolve(path);
  if (create) createFile(file);
  else assertExists(file);
  return { db: connectToStore(file, (db) => shareStore(db, file, create ? "migrate" : "refuse")), file };
}

/** Migrates the file of an existing store. */
export function migrateSqlite(path: string): FileMigration {
  const file = resolve(path);
  assertExists(file);
  const applied: string[] = [];
  const db = connectToStore(file, (db) => shareStore(db, file, "migrate", applied));
  const version = schemaVersion(db, file);
  db.close();
  return { applied, version };
}

function connectToStore(file: string, share: (db: SqliteDatabase) => VersionLock): SqliteDatabase {
  const db = connectOrFault(file);
  try {
    // This comes first: the next statement reads the file, and another process may be creating it.
    db.exec(`pragma busy_timeout = ${sqliteTimes.openingMs}`);
    assertSqliteVersion(queryText(db, "select sqlite_version()"));
    // Before the journal mode, which would change a foreign database.
    assertNotForeign(db, file);
    assertWriteAheadLog(queryText(db, "pragma journal_mode = wal"), file);
    // On macOS a sync reaches only the cache of the drive unless this is on. On other systems it has no effect.
    db.exec("pragma fullfsync = on");
    // Erased data is overwritten, not only unlinked.
    db.exec("pragma secure_delete = on");
    const lock = share(db);
    try {
      assertKnownSchema(db, file);
    } catch (error) {
      lock.free();
      throw error;
    }
    return freeOnClose(db, lock);
  } catch (error) {
    db.close();
    throw toOpeningFault(error, file);
  }
}

/** No other process reaches a database in memory. */
function migrateInMemory(db: SqliteDatabase): VersionLock {
  migrateFile(db, IN_MEMORY);
  return { free: () => {} };
}

function freeOnClose(db: SqliteDatabase, lock: VersionLock): SqliteDatabase {
  return {
    get isTransaction() {
      return db.isTransaction;
    },
    prepare: (sql) => db.prepare(sql),
    exec: (sql) => db.exec(sql),
    close: () => {
      db.close();
      lock.free();
    },
  };
}

/**
 * Holds the version lock together with the other processes of this version, after migrating the file if needed. Adds
 * the migrations that it applies to `applied`.
 */
function shareStore(
  db: SqliteDatabase,
  file: string,
  ifOlder: "migrate" | "refuse",
  applied: string[] = [],
): VersionLock {
  const started = performance.now();
  for (;;) {
    const shared = shareVersionLock(file);
    if (shared !== null && isUpToDate(db, file)) return shared;
    shared?.free();
    if (ifOlder === "refuse") assertUpToDate(db, file);
    const alone = shared === null ? null : takeVersionLock(file);
    if (alone !== null) applied.push(...migrateAlone(db, file, alone));
    else if (performance.now() - started > sqliteTimes.openingMs) throw busyFault(db, file);
    else pause(openingPauseMs);
  }
}

function migrateAlone(db: SqliteDatabase, file: string, alone: VersionLock): readonly string[] {
  try {
    return migrateFile(db, file);
  } finally {
    alone.free();
  }
}

function busyFault(db: SqliteDatabase, file: string): FaultError {
  const processes = listProcesses(db);
  const users = processes.length === 0 ? "another process" : processes.join(", ");
  const message = `${file} has another schema version, and ${users} uses it; stop it, and open the store again`;
  return new FaultError(fault("STORE_BUSY", message, { processes: [...processes] }));
}

/** Returns the workers of the file with their versions; none if its schema is from before workers were registered. */
function listProcesses(db: SqliteDatabase): readonly string[] {
  try {
    const workers = db.prepare("select pid, version from worker order by pid").all() as readonly WorkerProcess[];
    return workers.map(({ pid, version }) => `process ${pid} (Writ ${version})`);
  } catch {
    return [];
  }
}

interface WorkerProcess {
  readonly pid: number;
  readonly version: string;
}

/** Blocks the thread. Only opening a store waits like this. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms * (0.5 + Math.random()));
}

function queryText(db: SqliteDatabase, sql: string): string {
  return String(Object.values(db.prepare(sql).get() ?? {})[0]);
}

/** Hard and soft appends need a write-ahead log, which some network file systems do not support. */
function assertWriteAheadLog(mode: string, file: string): void {
  if (mode === "wal" || file === IN_MEMORY) return;
  const message = `${file} is on a disk that does not support a write-ahead log; put it on a local disk`;
  throw new FaultError(fault("STORE_UNUSABLE", message, { found: mode }));
}

export function connectOrFault(file: string): SqliteDatabase {
  try {
    return connectSqlite(file);
  } catch (error) {
    throw toSqliteFault(error, file);
  }
}
