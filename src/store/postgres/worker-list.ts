import { hostname } from "node:os";
import type { Store, WorkerProcess } from "../../core/store/store.ts";
import type { Digest, Instant, WorkerId } from "../../core/values/ids.ts";
import { writVersion } from "../../core/values/writ-version.ts";
import { textArray } from "./binary-array.ts";
import type { FunctionCaller } from "./function-caller.ts";

/** The process of this store, as the list of workers shows it. */
export const ownProcess: string = JSON.stringify({
  version: writVersion,
  host: hostname(),
  pid: process.pid,
} satisfies WorkerProcess);

interface WorkerOptions {
  readonly calls: FunctionCaller;
  readonly leaseMs: number;
  givenNow(): Instant | null;
  onRegistered(): void;
}

export interface WorkerList extends Pick<Store, "registerWorker" | "retireWorker" | "workers"> {
  /** Ends the registrations of this store, which is closing. If one cannot be ended, it expires. */
  forgetOwn(last: FunctionCaller): Promise<void>;
}

type WorkerColumns = readonly [worker: WorkerId, rules: Digest | null, offers: string | null, about: string | null];

/** Registers and lists workers. A registration expires like a lease; each claim of due runs renews it. */
export function workerList({ calls, leaseMs, givenNow, onRegistered }: WorkerOptions): WorkerList {
  const own = new Set<WorkerId>();
  return {
    registerWorker: async (worker, { rules = null, offers = [] } = {}) => {
      const values = [worker, rules, textArray(offers), ownProcess, leaseMs, givenNow()];
      own.add(worker);
      await calls({ name: "note_worker", isValue: true, values });
      onRegistered();
    },
    retireWorker: async (worker) => void (await calls({ name: "retire_worker", isValue: true, values: [worker] })),
    forgetOwn: async (last) => {
      const forget = (worker: WorkerId) => last({ name: "forget_worker", isValue: true, values: [worker] });
      await Promise.allSettled([...own].map(forget));
    },
    workers: async () => {
      const found = await calls<WorkerColumns>({ name: "workers", values: [givenNow()] });
      return found.map(([worker, rules, offers, about]) => ({
        worker,
        rules,
        offers: JSON.parse(offers ?? "[]") as readonly string[],
        process: JSON.parse(about ?? "{}") as WorkerProcess,
      }));
    },
  };
}
