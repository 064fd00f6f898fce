import { existsSync, realpathSync } from "node:fs";
import { FaultError, fault } from "../../core/fault.ts";
import type { Database } from "./driver.ts";
import { connectOrExplain, makeReady } from "./open.ts";
import { asFault, sqliteCode } from "./sqlite-fault.ts";

const busy = 5;
/** Longer than anyone takes to look whether there is a worker, shorter than a person notices. */
const lookMs = 100;

export interface WorkerLock {
  /** True if it was taken just now, false if we had it already. Throws STORE_BUSY if another worker has it. */
  take(): boolean;
  free(): void;
}

/**
 * Who executes: an exclusive transaction that is never committed, on a file of its own. The operating system ends it
 * with the process, however that dies, so there is no stale lock to break and no lease to wait for.
 */
export function workerLock(file: string): WorkerLock {
  let held: Database | null = null;
  return {
    take: () => {
      if (held !== null) return false;
      held = lock(file);
      return true;
    },
    free: () => {
      held?.close();
      held = null;
    },
  };
}

/** Whether a living process executes this store. */
export function hasWorker(file: string): boolean {
  const lockFile = lockFileOf(file);
  if (!existsSync(lockFile)) return false;
  const db = connectOrExplain(lockFile);
  try {
    db.exec("pragma busy_timeout = 0");
    db.prepare("select count(*) from sqlite_schema").get();
    return false;
  } catch (error) {
    if (sqliteCode(error) === busy) return true;
    throw asFault(error, lockFile);
  } finally {
    db.close();
  }
}

/** By its real name: two links to one store must meet at one lock. */
function lockFileOf(file: string): string {
  return `${realpathSync(file)}-worker`;
}

function lock(file: string): Database {
  const lockFile = lockFileOf(file);
  makeReady(lockFile);
  const db = connectOrExplain(lockFile);
  try {
    db.exec(`pragma busy_timeout = ${lookMs}`);
    db.exec("begin exclusive");
    return db;
  } catch (error) {
    db.close();
    if (sqliteCode(error) !== busy) throw asFault(error, lockFile);
    const message = `${file} already has a worker; stop that process, or open this one without working (work: false)`;
    throw new FaultError(fault("STORE_BUSY", message), { cause: error });
  }
}
