import type { Rng } from "../sim/rng.ts";
import type { WorkerProcesses } from "./worker-processes.ts";

/** A kind of fault: the average time between two, and how to inject one. Returns false if none was injected. */
export interface InjectedFault {
  readonly everyMs: number;
  inject(rng: Rng): Promise<boolean>;
}

/** The counts of injected faults, by name. */
export type FaultCounts = Readonly<Record<string, number>>;

/** The average time between two faults of a kind, and the minimum duration of a stop. */
export interface WorkerFaultRates {
  readonly killMs: number;
  readonly stopMs: number;
  readonly stoppedMs: number;
  /** The average time between two stops that are too short to count as a stall, and their longest duration. Null: none. */
  readonly pauses: { readonly everyMs: number; readonly pausedMs: number } | null;
  /** The average time between two stops of all workers at once. Null: never. */
  readonly suspendMs: number | null;
  /** The average time between two workers that die while they start. Null: never. */
  readonly startKillMs: number | null;
  /** The failpoints that a worker passes while it starts. */
  readonly startFailpoints: readonly string[];
  /** The failpoints at which every second kill or stop happens. */
  readonly failpoints: readonly string[];
}

/** Injects faults of all kinds at the same time, each at its own rate, until it is stopped. */
export class FaultInjector {
  readonly counts: Record<string, number> = {};
  readonly #workers: WorkerProcesses;
  readonly #rng: Rng;
  readonly #stop = new AbortController();
  #work: Promise<unknown> = Promise.resolve();

  constructor(workers: WorkerProcesses, rng: Rng) {
    this.#workers = workers;
    this.#rng = rng;
  }

  start(rates: WorkerFaultRates, storeFaults: Readonly<Record<string, InjectedFault>>): void {
    const faults = { ...this.#workerFaults(rates), ...storeFaults };
    this.#work = Promise.all(Object.entries(faults).map(([name, fault]) => this.#every(name, fault)));
  }

  #workerFaults(rates: WorkerFaultRates): Readonly<Record<string, InjectedFault>> {
    const { killMs, stopMs, stoppedMs, pauses, suspendMs, failpoints, startKillMs, startFailpoints } = rates;
    const workers = this.#workers;
    const drawPoint = () => this.#drawFailpoint(failpoints);
    const stopDuration = () => stoppedMs * (1 + this.#rng.float() / 2);
    return {
      worker_kills: { everyMs: killMs, inject: () => workers.kill(this.#choose, drawPoint()) },
      zombies: { everyMs: stopMs, inject: () => workers.stop(this.#choose, stopDuration(), drawPoint()) },
      ...(pauses !== null && {
        pauses: {
          everyMs: pauses.everyMs,
          inject: () => workers.pause(this.#choose, pauses.pausedMs * (0.5 + this.#rng.float() / 2)),
        },
      }),
      ...(suspendMs !== null && {
        suspends: { everyMs: suspendMs, inject: () => workers.suspend(this.#choose, stopDuration()) },
      }),
      ...(startKillMs !== null && {
        start_kills: {
          everyMs: startKillMs,
          inject: async () => workers.killNextAt(startFailpoints[this.#choose(startFailpoints.length)] ?? ""),
        },
      }),
    };
  }

  /** Stops, after every stopped worker continues and every fault has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  /** Injects a fault at random intervals, without waiting for the previous one to end. */
  async #every(name: string, { everyMs, inject }: InjectedFault): Promise<void> {
    const { signal } = this.#stop;
    const pending = new Set<Promise<void>>();
    this.counts[name] ??= 0;
    for (;;) {
      await pause(everyMs * (0.5 + this.#rng.float()), signal);
      if (signal.aborted) break;
      const injection = inject(this.#rng)
        .then((injected) => {
          if (injected) this.counts[name] = (this.counts[name] ?? 0) + 1;
        })
        .finally(() => pending.delete(injection));
      pending.add(injection);
    }
    await Promise.all(pending);
  }

  readonly #choose = (count: number): number => this.#rng.below(Math.max(1, count));

  /** Draws a failpoint every second time, else null: any moment. */
  #drawFailpoint(failpoints: readonly string[]): string | null {
    return this.#rng.below(2) === 0 ? null : (failpoints[this.#rng.below(failpoints.length)] ?? null);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}
