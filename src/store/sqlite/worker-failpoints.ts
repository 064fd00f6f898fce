/**
 * The points of a registration or an eviction where a crash of the process leaves a distinct state. In production no
 * listener is set. Crash tests pass a listener that kills the process at one of them.
 */
export const workerFailpoints = [
  "register.before",
  "register.after",
  "unregister.after",
  "evict.before",
  "evict.after",
] as const;

export type WorkerFailpoint = (typeof workerFailpoints)[number];

export type WorkerFailpoints = (point: WorkerFailpoint) => void;
