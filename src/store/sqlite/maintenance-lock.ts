import { realpathSync } from "node:fs";
import { LockFile } from "./lock-file.ts";

/**
 * Takes the lock of the one retention or backup that may run on a file, and returns the function that frees it. Null: a
 * process holds it. The lock ends with the process.
 */
export function takeMaintenanceLock(file: string): (() => void) | null {
  // The real path, so that two links to one store share a lock.
  const lock = LockFile.takeOrCreate(`${realpathSync(file)}-maintenance`);
  return lock === null ? null : () => lock.free();
}
