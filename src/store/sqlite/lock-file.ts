import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { FaultError, fault } from "../../core/values/fault.ts";
import { createFile } from "./create-file.ts";
import { connectSqlite, type SqliteDatabase } from "./sqlite-driver.ts";
import { sqliteCode, toSqliteFault } from "./sqlite-fault.ts";

const SQLITE_CANTOPEN = 14;

/** How often a new lock file is created again, because another process removed it as a leftover before it was locked. */
const creationsMax = 100;

/**
 * A file that this process has locked: an exclusive transaction of SQLite on it, which is never committed. The
 * operating system ends the lock when the process ends in any way, so a lock is never stale. Only SQLite may open the
 * file: the locks of a process on a file end when the process closes any descriptor of that file.
 */
export class LockFile {
  readonly path: string;
  readonly #db: SqliteDatabase;
  /** The identity of a file that processes take in turn. */
  readonly #inode: string | null;

  private constructor(path: string, db: SqliteDatabase, inode: string | null = null) {
    this.path = path;
    this.#db = db;
    this.#inode = inode;
  }

  /** Creates a file that is locked before it has this name. */
  static create(path: string): LockFile {
    const hidden = join(dirname(path), `.${basename(path)}`);
    for (let created = 0; created < creationsMax; created += 1) {
      createFile(hidden);
      const lock = LockFile.take(hidden);
      if (lock === "held" || lock === "missing") continue;
      try {
        renameSync(hidden, path);
        return new LockFile(path, lock.#db);
      } catch (error) {
        lock.free();
        if (existsSync(hidden)) throw error;
      }
    }
    throw new FaultError(fault("STORE_FAILED", `${path} could not be created and locked; try again`));
  }

  /** Locks an existing file, without waiting. */
  static take(path: string): LockFile | "held" | "missing" {
    const db = connectExisting(path);
    if (db === null) return "missing";
    try {
      // Without a journal in memory, the transaction would create a second file.
      db.exec("pragma busy_timeout = 0; pragma journal_mode = memory; begin exclusive");
      return new LockFile(path, db);
    } catch (error) {
      db.close();
      // Another program may have written to the file. Its holder then counts as alive.
      if (sqliteCode(error) === null) throw error;
      return "held";
    }
  }

  /**
   * Locks a file that processes take in turn, without waiting, and creates it if it is missing. Null: it is held. Such a
   * file is never removed: a process that has opened it could lock the removed file, while another one locks a new file
   * of the same name.
   */
  static takeOrCreate(path: string): LockFile | null {
    createFile(path);
    // Read before the file is opened: if it is replaced in between, `relock` finds another identity and fails.
    const inode = fileInode(path);
    const lock = LockFile.take(path);
    return lock instanceof LockFile ? new LockFile(path, lock.#db, inode) : null;
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
    return this.#inode !== null && this.#inode === fileInode(this.path);
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
  try {
    return connectSqlite(`${pathToFileURL(path).href}?mode=rw`);
  } catch (error) {
    if (sqliteCode(error) === SQLITE_CANTOPEN && !existsSync(path)) return null;
    throw toSqliteFault(error, path);
  }
}

/** Returns the identity of the file that has this path, or null if there is none. */
function fileInode(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
