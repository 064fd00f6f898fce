import type { Rng } from "../sim/rng.ts";
import type { Failpoint } from "../src/engine/ports/failpoint.ts";
import type { CommitCut, CuttingProxy } from "../tests/store/postgres/cutting-proxy.ts";
import { type KillablePostgres, serverFailures } from "./killable-postgres.ts";
import type { LineAppender } from "./record-store.ts";
import type { WorkerProcesses } from "./worker-processes.ts";

/** The counts of injected faults. */
export interface InjectedFaults {
  worker_kills: number;
  zombies: number;
  server_faults: number;
  terminated: number;
  cuts: number;
}

/** The average time between two faults of a kind, and the minimum duration of a stop. */
export interface FaultIntervals {
  readonly killMs: number;
  readonly stopMs: number;
  readonly stoppedMs: number;
  readonly crashMs: number;
  readonly terminateMs: number;
  readonly cutMs: number;
  /** The failpoints at which every second kill or stop happens. */
  readonly failpoints: readonly Failpoint[];
}

interface FaultTargets {
  readonly workers: WorkerProcesses;
  readonly server: KillablePostgres;
  readonly proxy: CuttingProxy;
  readonly history: LineAppender;
  readonly rng: Rng;
}

/** Injects faults of all kinds at the same time, each at its own rate, until it is stopped. */
export class FaultInjector {
  readonly counts: InjectedFaults = { worker_kills: 0, zombies: 0, server_faults: 0, terminated: 0, cuts: 0 };
  readonly #targets: FaultTargets;
  readonly #stop = new AbortController();
  #work: Promise<unknown> = Promise.resolve();
  #isDown = false;

  constructor(targets: FaultTargets) {
    this.#targets = targets;
  }

  start(rates: FaultIntervals): void {
    this.#work = Promise.all([
      this.#every(rates.killMs, () => this.#kill(rates.failpoints)),
      this.#every(rates.stopMs, () => this.#stopWorker(rates)),
      this.#every(rates.crashMs, () => this.#crashServer()),
      this.#every(rates.terminateMs, () => this.#terminate()),
      this.#every(rates.cutMs, () => this.#cut()),
    ]);
  }

  /** Stops, after every stopped worker continues and the server is up. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  /** Injects a fault at random intervals, without waiting for the previous one to end. */
  async #every(ms: number, inject: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    const pending = new Set<Promise<void>>();
    for (;;) {
      await pause(ms * (0.5 + this.#targets.rng.float()), signal);
      if (signal.aborted) break;
      const injection = inject().finally(() => pending.delete(injection));
      pending.add(injection);
    }
    await Promise.all(pending);
  }

  readonly #choose = (count: number): number => this.#targets.rng.below(Math.max(1, count));

  /** Draws a failpoint every second time, else null: any moment. */
  #drawFailpoint(failpoints: readonly Failpoint[]): Failpoint | null {
    const { rng } = this.#targets;
    return rng.below(2) === 0 ? null : (failpoints[rng.below(failpoints.length)] ?? null);
  }

  async #kill(failpoints: readonly Failpoint[]): Promise<void> {
    if (await this.#targets.workers.kill(this.#choose, this.#drawFailpoint(failpoints))) this.counts.worker_kills += 1;
  }

  async #stopWorker({ stoppedMs, failpoints }: FaultIntervals): Promise<void> {
    const ms = stoppedMs * (1 + this.#targets.rng.float() / 2);
    if (await this.#targets.workers.stop(this.#choose, ms, this.#drawFailpoint(failpoints))) this.counts.zombies += 1;
  }

  async #crashServer(): Promise<void> {
    const { server, history } = this.#targets;
    if (this.#isDown) return;
    this.#isDown = true;
    history.write({ server: "dies" });
    const hasCrashed = await server.crash(
      serverFailures[this.counts.server_faults % serverFailures.length] ?? "killed",
    );
    history.write({ server: "is back" });
    if (hasCrashed) this.counts.server_faults += 1;
    this.#isDown = false;
  }

  async #terminate(): Promise<void> {
    try {
      await this.#targets.server.terminate(this.#choose);
      this.counts.terminated += 1;
    } catch {
      // The server is down, so there is no connection.
    }
  }

  /** Cuts alternately before the server receives the commit and after it has answered. */
  async #cut(): Promise<void> {
    const how: CommitCut = this.counts.cuts % 2 === 0 ? "landed" : "not landed";
    this.counts.cuts += 1;
    void this.#targets.proxy.cut(how);
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
