import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { FaultError, fault } from "../../core/values/fault.ts";
import { createFile, createNewFile } from "./create-file.ts";
import { connectSqlite, type SqliteDatabase } from "./sqlite-driver.ts";
import { sqliteCode, toSqliteFault } from "./sqlite-fault.ts";

const SQLITE_CANTOPEN = 14;

/** How many files are created for one lock at most. Another process may remove each as a leftover before it is locked. */
const creationsMax = 100;

/** How often a file is opened that exists, but did not when SQLite looked for it. */
const openingsMax = 3;

/**
 * A file that this process has locked: an exclusive transaction of SQLite on it, which is never committed. The
 * operating system ends the lock when the process ends in any way, so a lock is never stale. Only SQLite may open the
 * file: the locks of a process on a file end when the process closes any descriptor of that file.
 */
export class LockFile {
  readonly path: string;
  readonly #db: SqliteDatabase;
  readonly #identity: string | null;

  private constructor(path: string, db: SqliteDatabase, identity: string | null) {
    this.path = path;
    this.#db = db;
    this.#identity = identity;
  }

  /**
   * Creates a file that is locked before it has this name. Each attempt uses another hidden name, so that a process that
   * removes leftovers delays it once, however long it holds the file. `onCreated` runs before the file is locked.
   */
  static create(path: string, onCreated: () => void = () => {}): LockFile {
    for (let nth = 0; nth < creationsMax; nth += 1) {
      const hidden = join(dirname(path), `.${nth}-${basename(path)}`);
      if (!createNewFile(hidden)) continue;
      onCreated();
      const lock = LockFile.take(hidden);
      if (lock === "held" || lock === "missing") continue;
      try {
        renameSync(hidden, path);
      } catch (error) {
        const wasRemoved = !existsSync(hidden);
        lock.remove();
        if (wasRemoved) continue;
        throw error;
      }
      return new LockFile(path, lock.#db, fileIdentity(path));
    }
    throw new FaultError(fault("STORE_FAILED", `${path} could not be created and locked; try again`));
  }

  /**
   * Locks an existing file, without waiting. `onOpened` runs before the file is locked. The lock of a file that was
   * replaced meanwhile says nothing about the holder of the new file, which then counts as held.
   */
  static take(path: string, onOpened: () => void = () => {}): LockFile | "held" | "missing" {
    const identity = fileIdentity(path);
    const db = identity === null ? null : connectExisting(path);
    if (db === null) return "missing";
    try {
      onOpened();
      // Without a journal in memory, the transaction would create a second file.
      db.exec("pragma busy_timeout = 0; pragma journal_mode = memory; begin exclusive");
    } catch (error) {
      db.close();
      // Another program may have written to the file. Its holder then counts as alive.
      if (sqliteCode(error) === null) throw error;
      return "held";
    }
    const lock = new LockFile(path, db, identity);
    if (lock.hasItsName) return lock;
    lock.free();
    return existsSync(path) ? "held" : "missing";
  }

  /**
   * Locks a file that processes take in turn, without waiting, and creates it if it is missing. Null: it is held. Such a
   * file is never removed: a process that has opened it could lock the removed file, while another one locks a new file
   * of the same name.
   */
  static takeOrCreate(path: string): LockFile | null {
    createFile(path);
    const lock = LockFile.take(path);
    return lock instanceof LockFile ? lock : null;
  }

  /** False if the file was removed, or another one has its name. */
  get hasItsName(): boolean {
    return this.#identity !== null && this.#identity === fileIdentity(this.path);
  }

  /** Ends the lock of a file that processes take in turn. The connection stays open, so that `relock` is cheap. */
  unlock(): void {
    this.#db.exec("rollback");
  }

  /** Locks the file again after `unlock`. False: it is held, or another file has its name, and `free` must follow. */
  relock(): boolean {
    try {
      this.#db.exec("begin exclusive");
    } catch (error) {
      if (sqliteCode(error) === null) throw error;
      return false;
    }
    return this.hasItsName;
  }

  /** Removes the file before it is unlocked, so that no process finds it unlocked. */
  remove(): void {
    rmSync(this.path, { force: true });
    this.free();
  }

  free(): void {
    this.#db.close();
  }
}

/** Connects to a file, or returns null if it is missing. Never creates it. */
export function connectExisting(path: string): SqliteDatabase | null {
  for (let nth = 1; ; nth += 1)
    try {
      return connectSqlite(`${pathToFileURL(path).href}?mode=rw`);
    } catch (error) {
      const cannotOpen = sqliteCode(error) === SQLITE_CANTOPEN;
      if (cannotOpen && !existsSync(path)) return null;
      // Another process may have created it since.
      if (!cannotOpen || nth === openingsMax) throw toSqliteFault(error, path);
    }
}

/** Returns the identity of the file that has this path, or null if there is none. A file created later has another. */
function fileIdentity(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev}:${found.ino}:${found.birthtimeNs}`;
}
