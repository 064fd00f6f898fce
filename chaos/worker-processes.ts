import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Failpoint } from "../src/engine/ports/failpoint.ts";
import type { CleanupGuard } from "./cleanup-guard.ts";
import { WORKER_READY, WORKER_STOPS, type WorkerOrder, type WorkerTask } from "./worker-task.ts";

/** One worker process. */
interface ChildWorker {
  readonly by: string;
  readonly child: ChildProcessWithoutNullStreams;
  readonly exited: Promise<void>;
  /** True if it works and no fault is planned for it. */
  isFree: boolean;
  /** True if it is expected to end. */
  isEnding: boolean;
  onStop: () => void;
}

/** Picks an index below `count`. */
export type PickIndex = (count: number) => number;

/** A worker that does not pass its failpoint in this time is hit anywhere; its order expires a little earlier. */
const waitForFailpointMs = 1_000;
const orderValidMs = 800;

/** The worker processes. A killed worker is replaced at once. */
export class WorkerProcesses {
  readonly #program: string;
  readonly #task: Omit<WorkerTask, "by">;
  readonly #guard: CleanupGuard;
  readonly #workers = new Set<ChildWorker>();
  #started = 0;
  /** Workers that ended unexpectedly, with their output. */
  readonly failures: string[] = [];

  constructor(program: string, task: Omit<WorkerTask, "by">, guard: CleanupGuard) {
    this.#program = program;
    this.#task = task;
    this.#guard = guard;
  }

  start(): void {
    this.#started += 1;
    const by = `w${this.#started}`;
    const env = { ...process.env, WRIT_CHAOS_TASK: JSON.stringify({ ...this.#task, by } satisfies WorkerTask) };
    const child = this.#guard.keep(spawn(process.execPath, [this.#program], { env, stdio: "pipe" }));
    const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const worker: ChildWorker = { by, child, exited, isFree: false, isEnding: false, onStop: () => {} };
    this.#workers.add(worker);
    child.stdin.on("error", () => {}); // The worker died before it read the order.
    child.stdout.on("data", (text: Buffer) => {
      if (`${text}`.includes(WORKER_READY)) worker.isFree = true;
      if (`${text}`.includes(WORKER_STOPS)) worker.onStop();
    });
    let output = "";
    child.stderr.on("data", (text: Buffer) => {
      output = `${output}${text}`.slice(-2_000);
    });
    child.once("close", (code, signal) => this.#closed(worker, signal ?? code, output));
  }

  #closed(worker: ChildWorker, how: number | string | null, output: string): void {
    this.#workers.delete(worker);
    const isExpected = worker.isEnding && (how === 0 || how === "SIGKILL");
    if (!isExpected) this.failures.push(`${worker.by} ended with ${how}: ${output}`);
  }

  #pick(pick: PickIndex): ChildWorker | undefined {
    const free = [...this.#workers].filter(({ isFree }) => isFree);
    const worker = free[pick(free.length)];
    if (worker !== undefined) worker.isFree = false;
    return worker;
  }

  /** Kills a free worker, at a failpoint or anywhere, and starts another. Returns false if no worker is free. */
  async kill(pick: PickIndex, at: Failpoint | null): Promise<boolean> {
    const worker = this.#pick(pick);
    if (worker === undefined) return false;
    worker.isEnding = true;
    if (at !== null) await Promise.race([worker.exited, sendOrder(worker, { do: "die", at })]);
    worker.child.kill("SIGKILL");
    this.start();
    return true;
  }

  /** Stops a free worker and continues it after a while. Returns false if no worker is free. */
  async stop(pick: PickIndex, ms: number, at: Failpoint | null): Promise<boolean> {
    const worker = this.#pick(pick);
    if (worker === undefined) return false;
    const stoppedItself = new Promise<"by itself">((resolve) => {
      worker.onStop = () => resolve("by itself");
    });
    const stopped =
      at === null ? "not yet" : await Promise.race([stoppedItself, sendOrder(worker, { do: "stop", at })]);
    // A worker that received both stops would stop again after it continues.
    if (stopped === "not yet") worker.child.kill("SIGSTOP");
    await pause(ms);
    worker.child.kill("SIGCONT");
    worker.isFree = true;
    return true;
  }

  /** Asks all workers to stop. Kills those that run longer than `withinMs`, and returns them. */
  async stopAll(withinMs: number): Promise<readonly string[]> {
    const workers = [...this.#workers];
    for (const worker of workers) {
      worker.isEnding = true;
      worker.child.kill("SIGCONT");
      worker.child.kill("SIGTERM");
    }
    const exited = Promise.all(workers.map((worker) => worker.exited));
    await Promise.race([exited, pause(withinMs)]);
    const unstopped = [...this.#workers];
    for (const { child } of unstopped) child.kill("SIGKILL");
    await exited;
    return unstopped.map(({ by }) => `${by} did not stop`);
  }
}

/** Sends an order and waits until it is executed or has expired. */
async function sendOrder({ child }: ChildWorker, order: Omit<WorkerOrder, "until">): Promise<"not yet"> {
  const until = Date.now() + orderValidMs;
  child.stdin.write(`${JSON.stringify({ ...order, until } satisfies WorkerOrder)}\n`);
  await pause(waitForFailpointMs);
  return "not yet";
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
