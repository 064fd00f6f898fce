import { accessSync, chmodSync, closeSync, constants, openSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type FaultCode, FaultError, fault } from "../../core/fault.ts";
import { assertRecent, connect, type Database } from "./driver.ts";
import { migrate } from "./migrate.ts";
import { asFault, asOpeningFault } from "./sqlite-fault.ts";

/** How long a writer waits for another process's transaction, which is over in milliseconds unless that process hangs. */
const busyTimeoutMs = 5000;

/** Opens a store's file, creating it if need be, or throws a fault that says why not. */
export function openDatabase(path: string): { readonly db: Database; readonly file: string } {
  const file = resolve(path);
  makeReady(file);
  const db = connectOrExplain(file);
  try {
    // First of all: the next line already reads the file, and someone else may be creating it.
    db.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    assertRecent(textOf(db, "select sqlite_version()"));
    assertLogged(textOf(db, "pragma journal_mode = wal"), file);
    // On macOS a sync stops at the drive's own memory unless it is asked to go further; elsewhere this changes nothing.
    db.exec("pragma fullfsync = on");
    // What is erased is overwritten, not only unlinked.
    db.exec("pragma secure_delete = on");
    migrate(db, file);
    return { db, file };
  } catch (error) {
    db.close();
    throw asOpeningFault(error, file);
  }
}

function textOf(db: Database, sql: string): string {
  return String(Object.values(db.prepare(sql).get() ?? {})[0]);
}

/** Hard and soft mean what they say only with a write-ahead log, which some network disks cannot have. */
function assertLogged(mode: string, file: string): void {
  if (mode === "wal") return;
  const message = `${file} is on a disk that cannot keep a write-ahead log; put it on a local one`;
  throw new FaultError(fault("STORE_UNUSABLE", message, { found: mode }));
}

export function connectOrExplain(file: string): Database {
  try {
    return connect(file);
  } catch (error) {
    throw asFault(error, file);
  }
}

/** Creates the file for its owner alone, before SQLite would create it for everyone; the log files take its mode over. */
export function makeReady(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    // An existing file is not opened here: closing it would drop the locks this process may hold on it.
    if (codeOf(error) !== "EEXIST") throw unusable(file, error);
    if (statSync(file).size === 0) chmodSync(file, 0o600); // Someone made room for a store; what is put there is its owner's alone.
  }
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    throw unusable(file, error);
  }
}

const reasons: Readonly<Record<string, readonly [FaultCode, string]>> = {
  ENOENT: ["STORE_UNUSABLE", "its directory does not exist; create it or give another path"],
  ENOTDIR: ["STORE_UNUSABLE", "its directory is a file; give another path"],
  EROFS: ["STORE_READ_ONLY", "it is on a read-only disk; give another path"],
  EACCES: [
    "STORE_READ_ONLY",
    "this user may not write it and its directory; change the permissions or give another path",
  ],
};

function unusable(file: string, cause: unknown): FaultError {
  const [code, about] = reasons[codeOf(cause)] ?? ["STORE_UNUSABLE", `it cannot be opened (${codeOf(cause)})`];
  return new FaultError(fault(code, `${file}: ${about}`), { cause });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
