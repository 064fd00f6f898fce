/**
 * The points of a registration or an eviction where a crash of the process leaves a distinct state, or where it meets
 * another process: "lock.before" is between a new lock file and its lock, "look.before" between opening the lock file of
 * another worker and trying to lock it. In production no
 * listener is set. Crash tests pass a listener that kills the process at one of them.
 */
export const workerFailpoints = [
  "lock.before",
  "register.before",
  "register.after",
  "unregister.after",
  "look.before",
  "evict.before",
  "evict.after",
] as const;

export type WorkerFailpoint = (typeof workerFailpoints)[number];

export type WorkerFailpoints = (point: WorkerFailpoint) => void;
