import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, statSync, unlinkSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Store, StoreCopies, StoreCopy } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { createFile } from "./create-file.ts";
import { readTenants } from "./list-tenants.ts";
import { connectOrFault, IN_MEMORY } from "./open-database.ts";
import { backupSqlite, connectSqlite, type SqliteDatabase } from "./sqlite-driver.ts";
import { toSqliteFault } from "./sqlite-fault.ts";
import { truncateLog } from "./truncate-write-ahead-log.ts";

/** Copies the store online, with SQLite's backup interface. */
export function sqliteCopies(db: SqliteDatabase, file: string, open: (copy: string) => Store): StoreCopies {
  return {
    tenants: async () => readTenants(db),
    begin: (target) =>
      beginCopy(target, async (copy) => {
        createFile(copy);
        await copyDatabase(db, file, copy);
        return open(copy);
      }),
    open: (target) => {
      const copy = resolve(target);
      return existsSync(copy) ? { store: open(copy), bytes: statSync(copy).size } : null;
    },
  };
}

/** Prepares a copy with a temporary name. `write` fills and opens it. */
export function beginCopy(target: string, write: (copy: string) => Promise<Store>): StoreCopy {
  const file = resolve(target);
  assertNoFile(file);
  const copy = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  let store: Store | null = null;
  const removeFiles = (...suffixes: readonly string[]) => {
    for (const suffix of suffixes) rmSync(copy + suffix, { force: true });
  };
  return {
    write: async () => {
      store = await write(copy);
      return store;
    },
    publish: async () => {
      await store?.close();
      emptyLog(copy);
      removeFiles(...sideFiles);
      sync(copy);
      giveName(copy, file);
      sync(dirname(file));
      return statSync(file).size;
    },
    discard: async () => {
      await store?.close();
      removeFiles("", ...sideFiles);
    },
  };
}

const sideFiles = ["-wal", "-shm", "-worker"] as const;

function assertNoFile(file: string): void {
  const found = ["", "-wal", "-shm"].map((suffix) => file + suffix).find((path) => existsSync(path));
  if (found !== undefined) throw fileExists(found);
}

function fileExists(file: string): FaultError {
  return new FaultError(fault("INVALID_INPUT", `${file} exists, and nothing is overwritten; give another path`));
}

/**
 * Copies in one step on a thread, with a connection of its own, so that this process and others can go on. Several
 * steps would begin anew after each write of another connection.
 */
async function copyDatabase(db: SqliteDatabase, file: string, copy: string): Promise<void> {
  const source = file === IN_MEMORY ? db : connectSqlite(file);
  try {
    await backupSqlite(source, copy);
  } catch (error) {
    throw toSqliteFault(error, copy);
  } finally {
    if (source !== db) source.close();
  }
}

/** Copies the log into the file: a copy is one file. Throws if another process uses it. */
function emptyLog(copy: string): void {
  const db = connectOrFault(copy);
  try {
    if (truncateLog(db) !== "empty")
      throw new FaultError(fault("STORE_FAILED", `${copy} is in use by another process`));
  } catch (error) {
    throw toSqliteFault(error, copy);
  } finally {
    db.close();
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A link, unlike a rename, does not replace a file that was made meanwhile. */
function giveName(copy: string, file: string): void {
  try {
    linkSync(copy, file);
  } catch (error) {
    if ((error as { code?: unknown }).code === "EEXIST") throw fileExists(file);
    throw error;
  }
  unlinkSync(copy);
}
