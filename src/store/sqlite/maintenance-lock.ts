import { realpathSync } from "node:fs";
import { createFile } from "./create-file.ts";
import { LockFile } from "./lock-file.ts";

/**
 * Takes the lock of the one retention or backup that may run on a file, and returns the function that frees it. Null: a
 * process holds it. The lock ends with the process. The lock file is never removed: a process that has opened it could
 * lock the removed file, while another one locks a new file of the same name.
 */
export function takeMaintenanceLock(file: string): (() => void) | null {
  // The real path, so that two links to one store share a lock.
  const path = `${realpathSync(file)}-maintenance`;
  createFile(path);
  const lock = LockFile.take(path);
  return lock instanceof LockFile ? () => lock.free() : null;
}
