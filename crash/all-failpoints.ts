import { type Failpoint, failpoints } from "../src/engine/ports/failpoint.ts";
import { type WorkerFailpoint, workerFailpoints } from "../src/store/sqlite/worker-failpoints.ts";

/** The failpoints of the engine and of the SQLite store. */
export const allFailpoints: readonly (Failpoint | WorkerFailpoint)[] = [...failpoints, ...workerFailpoints];

/** True if the source passes this point, and not only a scenario or a store call. */
export function isFailpoint(point: string): boolean {
  return (allFailpoints as readonly string[]).includes(point);
}
