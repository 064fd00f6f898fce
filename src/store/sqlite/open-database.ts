import { resolve } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { WorkerId } from "../../core/values/ids.ts";
import { assertOnlyOwnObjects } from "./assert-only-own-objects.ts";
import { assertExists, createFile } from "./create-file.ts";
import {
  assertUpToDate,
  type FileMigration,
  isUpToDate,
  type MigrationProgress,
  migrateFile,
  schemaVersion,
} from "./migrate-file.ts";
import { retryOpening } from "./retry-opening.ts";
import { assertSqliteVersion, connectSqlite, type SqliteDatabase } from "./sqlite-driver.ts";
import { toOpeningFault, toSqliteFault } from "./sqlite-fault.ts";
import { shareVersionLock, takeVersionLock, type VersionLock } from "./version-lock.ts";
import { isWorkerAlive } from "./worker-locks.ts";

/** The path of a database in memory, as SQLite names it. Its data ends when the store is closed. */
export const IN_MEMORY = ":memory:";

/**
 * Opens the file of a store, and creates or migrates it unless `create` is false. Throws a fault, before anything is
 * changed, if it cannot be used now. Closing the connection also frees the version lock.
 */
export function openDatabase(path: string, create = true): { readonly db: SqliteDatabase; readonly file: string } {
  if (path === IN_MEMORY) return { db: connectToStore(path, migrateInMemory), file: path };
  const file = resolve(path);
  if (create) createFile(file);
  else assertExists(file);
  const share = (db: SqliteDatabase, found: number) => {
    if (create && !isUpToDate(found, file)) migrateAlone(db, file);
    return shareStore(db, file);
  };
  return { db: connectToStore(file, share), file };
}

/** Migrates the file of an existing store, as soon as no other process uses it. */
export async function migrateSqlite(
  path: string,
  onProgress: (progress: MigrationProgress) => void = () => {},
): Promise<FileMigration> {
  const file = resolve(path);
  assertExists(file);
  const applied: string[] = [];
  const share = (db: SqliteDatabase, found: number) => {
    if (!isUpToDate(found, file)) applied.push(...migrateAlone(db, file, onProgress));
    return shareStore(db, file);
  };
  const db = await retryOpening(() => connectToStore(file, share));
  const version = schemaVersion(db, file);
  db.close();
  return { applied, version };
}

/** Connects to a file. `share` gets the version of the schema that was found before the version lock was taken. */
function connectToStore(file: string, share: (db: SqliteDatabase, found: number) => VersionLock): SqliteDatabase {
  const db = connectOrFault(file);
  try {
    // Nothing waits inside SQLite: that would block the event loop.
    db.exec("pragma busy_timeout = 0");
    assertSqliteVersion(queryText(db, "select sqlite_version()"));
    // Before the journal mode, which would change a database of another program.
    const found = schemaVersion(db, file);
    assertWriteAheadLog(queryText(db, "pragma journal_mode = wal"), file);
    // On macOS a sync reaches only the cache of the drive unless this is on. On other systems it has no effect.
    db.exec("pragma fullfsync = on");
    // Erased data is overwritten, not only unlinked.
    db.exec("pragma secure_delete = on");
    const lock = share(db, found);
    try {
      assertOnlyOwnObjects(db, file);
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

/** Migrates a file while no other process uses it. Throws STORE_BUSY, without waiting, if another has to end first. */
function migrateAlone(
  db: SqliteDatabase,
  file: string,
  onProgress?: (progress: MigrationProgress) => void,
): readonly string[] {
  const alone = takeVersionLock(file);
  if (alone === null) throw busyFault(db, file);
  try {
    return migrateFile(db, file, onProgress);
  } finally {
    alone.free();
  }
}

/**
 * Holds the version lock together with the other processes of this version. Throws STORE_BUSY, without waiting, if
 * another process holds it alone, and a fault if the file is of another version.
 */
function shareStore(db: SqliteDatabase, file: string): VersionLock {
  const shared = shareVersionLock(file);
  if (shared === null) throw busyFault(db, file);
  try {
    assertUpToDate(db, file);
    return shared;
  } catch (error) {
    shared.free();
    throw error;
  }
}

/** The fault of a version lock that another process holds: alone, to create or migrate the file, or to use it. */
function busyFault(db: SqliteDatabase, file: string): FaultError {
  const shared = shareVersionLock(file);
  shared?.free();
  if (shared === null) {
    const about = "which creates or migrates it, or is an earlier version of Writ";
    const message = `${file} is held alone by another process, ${about}; open the store again when that has ended`;
    return new FaultError(fault("STORE_BUSY", message, { held: "alone" }));
  }
  const processes = listProcesses(db, file);
  const users = processes.length === 0 ? "another process" : processes.join(", ");
  const message = `${file} has another schema version, and ${users} uses it; stop it, and open the store again`;
  return new FaultError(fault("STORE_BUSY", message, { processes: [...processes] }));
}

/** Returns the live workers with their versions; none if the schema is from before workers were registered. */
function listProcesses(db: SqliteDatabase, file: string): readonly string[] {
  try {
    const workers = db.prepare("select id, pid, version from worker order by pid").all() as readonly WorkerProcess[];
    return workers
      .filter(({ id }) => isWorkerAlive(file, id))
      .map(({ pid, version }) => `process ${pid} (Writ ${version})`);
  } catch {
    return [];
  }
}

interface WorkerProcess {
  readonly id: WorkerId;
  readonly pid: number;
  readonly version: string;
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
