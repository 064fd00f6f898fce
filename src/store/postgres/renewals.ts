import { Worker } from "node:worker_threads";
import { longList, textOf } from "./calls.ts";
import type { Settings, Value } from "./driver.ts";
import { failed } from "./postgres-fault.ts";

/** How many times the thread looks at the main thread's pulse while a lease lasts, and the main thread shows it. */
const PULSES = 20;

interface Answer {
  readonly id: number;
  readonly lost?: string;
  readonly error?: { readonly message: string; readonly code?: string };
}

interface Waiting {
  resolve(lost: readonly number[]): void;
  reject(error: unknown): void;
}

export interface Renewals {
  /** Null: there is no thread, or no longer. */
  readonly renew: ((values: readonly Value[]) => Promise<readonly number[]>) | null;
  /** There is nothing left to renew. */
  forget(): void;
  start(): void;
  stop(): Promise<void>;
}

export interface RenewalSetting {
  readonly settings: Settings;
  readonly leaseMs: number;
  readonly where: string;
}

/** Renewals from a thread of their own: see renewal-thread.js. The main thread's part is to tell it what, and to show that it lives. */
export function renewals({ settings, leaseMs, where }: RenewalSetting): Renewals {
  const pulse = new BigInt64Array(new SharedArrayBuffer(8));
  const waiting = new Map<number, Waiting>();
  let thread: Worker | null = null;
  let ticking: ReturnType<typeof setInterval> | undefined;
  let asked = 0;
  let isStopping = false;
  const beat = (): void => void Atomics.store(pulse, 0, process.hrtime.bigint());
  const heard = ({ id, lost, error }: Answer): void => {
    const waiter = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined)
      waiter?.reject(failed(Object.assign(new Error(error.message), { code: error.code }), where));
    else waiter?.resolve(longList(lost ?? "{}"));
  };
  /** From then on renewals go the common way: no lease is lost for it, as long as the main thread is not too busy. */
  const gone = (error: unknown): void => {
    if (thread === null) return;
    if (!isStopping) process.emitWarning(`writ: leases are renewed by the main thread from now on (${error})`);
    thread = null;
    clearInterval(ticking);
    for (const { reject } of waiting.values()) reject(failed(error, where));
    waiting.clear();
  };
  const renew = (values: readonly Value[]): Promise<readonly number[]> =>
    new Promise((resolve, reject) => {
      asked += 1;
      waiting.set(asked, { resolve, reject });
      beat();
      thread?.postMessage({ id: asked, values });
    });
  return {
    get renew() {
      return thread === null ? null : renew;
    },
    forget: () => thread?.postMessage(null),
    start: () => {
      if (thread !== null) return;
      beat();
      const workerData = {
        settings: { ...settings, query_timeout: leaseMs },
        text: textOf("renew", 6),
        leaseMs,
        renewMs: leaseMs / 3,
        pulse: pulse.buffer,
      };
      thread = new Worker(new URL("./renewal-thread.js", import.meta.url), { workerData });
      thread.on("message", heard);
      thread.on("error", gone);
      thread.on("exit", () => gone(new Error("the thread that renews leases has ended")));
      thread.unref();
      ticking = setInterval(beat, leaseMs / PULSES).unref();
    },
    stop: async () => {
      isStopping = true;
      clearInterval(ticking);
      await thread?.terminate();
    },
  };
}
