import { Worker } from "node:worker_threads";
import { callText, parseInt8Array } from "./function-caller.ts";
import { type ConnectionSettings, type PgValue, pgDriverPath } from "./pg-driver.ts";
import { toPostgresFault } from "./postgres-fault.ts";
import { renewalThread } from "./renewal-thread.ts";

/** How many times the main thread writes its pulse during one lease. */
const PULSES = 20;

interface ThreadAnswer {
  readonly id: number;
  readonly lost?: string;
  readonly error?: { readonly message: string; readonly code?: string };
}

interface PendingRenewal {
  resolve(lost: readonly number[]): void;
  reject(error: unknown): void;
}

export interface LeaseRenewals {
  /** Null if the thread has not started or has ended. */
  readonly renew: ((values: readonly PgValue[]) => Promise<readonly number[]>) | null;
  /** Makes the thread stop repeating the latest renewal. */
  clear(): void;
  start(): void;
  stop(): Promise<void>;
}

export interface LeaseRenewalOptions {
  readonly settings: ConnectionSettings;
  readonly leaseMs: number;
  readonly where: string;
}

/** Renews leases from a separate thread (renewal-thread.ts). The main thread sends the claims and writes a pulse. */
export function createLeaseRenewals({ settings, leaseMs, where }: LeaseRenewalOptions): LeaseRenewals {
  const pulse = new BigInt64Array(new SharedArrayBuffer(8));
  const waiting = new Map<number, PendingRenewal>();
  let thread: Worker | null = null;
  let pulseTimer: ReturnType<typeof setInterval> | undefined;
  let lastId = 0;
  let isStopping = false;
  const writePulse = (): void => void Atomics.store(pulse, 0, process.hrtime.bigint());
  const settle = ({ id, lost, error }: ThreadAnswer): void => {
    const waiter = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined)
      waiter?.reject(toPostgresFault(Object.assign(new Error(error.message), { code: error.code }), where));
    else waiter?.resolve(parseInt8Array(lost ?? "{}"));
  };
  /** After the thread has ended, the main thread renews, so leases expire if it is blocked for too long. */
  const dropThread = (error: unknown): void => {
    if (thread === null) return;
    if (!isStopping) process.emitWarning(`writ: leases are renewed by the main thread from now on (${error})`);
    thread = null;
    clearInterval(pulseTimer);
    for (const { reject } of waiting.values()) reject(toPostgresFault(error, where));
    waiting.clear();
  };
  const renew = (values: readonly PgValue[]): Promise<readonly number[]> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      writePulse();
      thread?.postMessage({ id: lastId, values });
    });
  return {
    get renew() {
      return thread === null ? null : renew;
    },
    clear: () => thread?.postMessage(null),
    start: () => {
      if (thread !== null) return;
      writePulse();
      const workerData = {
        driver: pgDriverPath(),
        settings: { ...settings, query_timeout: leaseMs },
        text: callText("renew", 6),
        leaseMs,
        pulse: pulse.buffer,
      };
      thread = new Worker(renewalThread, { eval: true, execArgv: [], workerData });
      thread.on("message", settle);
      thread.on("error", dropThread);
      thread.on("exit", () => dropThread(new Error("the thread that renews leases has ended")));
      thread.unref();
      pulseTimer = setInterval(writePulse, leaseMs / PULSES).unref();
    },
    stop: async () => {
      isStopping = true;
      clearInterval(pulseTimer);
      await thread?.terminate();
    },
  };
}
