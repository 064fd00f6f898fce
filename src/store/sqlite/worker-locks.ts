import { existsSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { WorkerId } from "../../core/values/ids.ts";
import { LockFile } from "./lock-file.ts";

/** Returns the folder of the lock files. Uses the real path, so that two links to one store share their workers. */
export function workersFolder(file: string): string {
  return `${realpathSync(file)}-workers`;
}

export function lockName(worker: WorkerId): string {
  return `${encodeURIComponent(worker)}.lock`;
}

/** True if a running process is a worker of this store. */
export function hasWorker(file: string): boolean {
  const folder = workersFolder(file);
  return existsSync(folder) && readdirSync(folder).some((name) => isHeld(join(folder, name)));
}

/** True if the process of this worker runs. */
export function isWorkerAlive(file: string, worker: WorkerId): boolean {
  return isHeld(join(workersFolder(file), lockName(worker)));
}

function isHeld(lock: string): boolean {
  const found = LockFile.take(lock);
  if (found instanceof LockFile) found.free();
  return found === "held";
}
