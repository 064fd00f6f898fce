import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { CleanupGuard } from "./cleanup-guard.ts";
import type { LineAppender } from "./record-store.ts";
import type { HistoryLine } from "./store-history.ts";
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
  /** True if it dies while it starts. */
  readonly diesAtStart: boolean;
  onStop: () => void;
}

/** Picks an index below `count`. */
export type PickIndex = (count: number) => number;

/** A worker that does not pass its failpoint in this time is hit anywhere; its order expires a little earlier. */
const waitForFailpointMs = 1_000;
const orderValidMs = 800;

/** A worker that dies at its start does so within this time. */
const startOrderMs = 60_000;

type CommonTask = Omit<WorkerTask, "by" | "order">;

/** The worker processes. A killed worker is replaced at once. Faults of single workers are lines of the history. */
export class WorkerProcesses {
  readonly #program: string;
  readonly #task: CommonTask;
  readonly #guard: CleanupGuard;
  readonly #history: LineAppender;
  readonly #workers = new Set<ChildWorker>();
  #started = 0;
  /** The kills and stops in progress. */
  #faults = 0;
  #isSuspending = false;
  #isOver = false;
  #nextDiesAt: string | null = null;
  /** Workers that ended unexpectedly, with their output. */
  readonly failures: string[] = [];

  constructor(program: string, task: CommonTask, guard: CleanupGuard, history: LineAppender) {
    this.#program = program;
    this.#task = task;
    this.#guard = guard;
    this.#history = history;
  }

  #record(worker: string, fault: Extract<HistoryLine, { readonly worker: string }>["fault"]): void {
    this.#history.write({ worker, fault } satisfies HistoryLine);
  }

  start(): void {
    this.#started += 1;
    const by = `w${this.#started}`;
    const order = this.#takeStartOrder();
    if (order !== null) this.#record(by, "is killed");
    const task: WorkerTask = { ...this.#task, by, order };
    const env = { ...process.env, WRIT_CHAOS_TASK: JSON.stringify(task) };
    const child = this.#guard.keep(spawn(process.execPath, [this.#program], { env, stdio: "pipe" }));
    const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const diesAtStart = order !== null;
    const worker: ChildWorker = {
      by,
      child,
      exited,
      isFree: false,
      isEnding: diesAtStart,
      diesAtStart,
      onStop: () => {},
    };
    this.#workers.add(worker);
    child.stdin.on("error", () => {}); // The worker died before it read the order.
    child.stdout.on("data", (text: Buffer) => {
      if (`${text}`.includes(WORKER_READY)) worker.isFree = !diesAtStart;
      if (`${text}`.includes(WORKER_STOPS)) worker.onStop();
    });
    let output = "";
    child.stderr.on("data", (text: Buffer) => {
      output = `${output}${text}`.slice(-2_000);
    });
    child.once("close", (code, signal) => this.#closed(worker, signal ?? code, output));
  }

  /** Waits until all workers that were started work. */
  async ready(): Promise<void> {
    while ([...this.#workers].some(({ isFree }) => !isFree)) await pause(20);
  }

  /** Makes the next worker die at a failpoint that it passes while it starts. Returns false if one will already. */
  killNextAt(at: string): boolean {
    if (this.#nextDiesAt !== null || this.#isSuspending) return false;
    this.#nextDiesAt = at;
    return true;
  }

  #takeStartOrder(): WorkerOrder | null {
    const at = this.#nextDiesAt;
    this.#nextDiesAt = null;
    return at === null ? null : { do: "die", at, until: Date.now() + startOrderMs };
  }

  #closed(worker: ChildWorker, how: number | string | null, output: string): void {
    this.#workers.delete(worker);
    if (worker.diesAtStart && !this.#isOver) this.start();
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
  async kill(pick: PickIndex, at: string | null): Promise<boolean> {
    return this.#whileFault(pick, (worker) => this.#killWorker(worker, at));
  }

  async #killWorker(worker: ChildWorker, at: string | null): Promise<void> {
    worker.isEnding = true;
    this.#record(worker.by, "is killed");
    if (at !== null) await Promise.race([worker.exited, sendOrder(worker, { do: "die", at })]);
    worker.child.kill("SIGKILL");
    this.start();
  }

  /** Stops a free worker and continues it after a while. Returns false if no worker is free. */
  async stop(pick: PickIndex, ms: number, at: string | null): Promise<boolean> {
    return this.#whileFault(pick, (worker) => this.#stopWorker(worker, ms, at));
  }

  async #stopWorker(worker: ChildWorker, ms: number, at: string | null): Promise<void> {
    this.#record(worker.by, "is stopped");
    const stoppedItself = new Promise<"by itself">((resolve) => {
      worker.onStop = () => resolve("by itself");
    });
    const stopped =
      at === null ? "not yet" : await Promise.race([stoppedItself, sendOrder(worker, { do: "stop", at })]);
    // A worker that received both stops would stop again after it continues.
    if (stopped === "not yet") worker.child.kill("SIGSTOP");
    await pause(ms);
    worker.child.kill("SIGCONT");
    this.#record(worker.by, "continues");
    worker.isFree = true;
  }

  /**
   * Stops a free worker for a moment. It is no outage in the history: a worker that stands still for less than `stallMs`
   * keeps its leases.
   */
  async pause(pick: PickIndex, ms: number): Promise<boolean> {
    return this.#whileFault(pick, async (worker) => {
      worker.child.kill("SIGSTOP");
      await pause(ms);
      worker.child.kill("SIGCONT");
      worker.isFree = true;
    });
  }

  async #whileFault(pick: PickIndex, inject: (worker: ChildWorker) => Promise<void>): Promise<boolean> {
    const worker = this.#isSuspending ? undefined : this.#pick(pick);
    if (worker === undefined) return false;
    this.#faults += 1;
    await inject(worker);
    this.#faults -= 1;
    return true;
  }

  /**
   * Stops all workers at once for a while, as a machine that sleeps does, and continues them one by one. Other faults
   * wait, because a worker that starts or continues alone would rightly find all others stalled.
   */
  async suspend(pick: PickIndex, ms: number): Promise<boolean> {
    if (this.#isSuspending) return false;
    this.#isSuspending = true;
    while (this.#faults > 0 || [...this.#workers].some(({ diesAtStart }) => diesAtStart)) await pause(20);
    const workers = [...this.#workers];
    for (const { child } of workers) child.kill("SIGSTOP");
    await pause(ms);
    while (workers.length > 0) {
      workers.splice(pick(workers.length), 1)[0]?.child.kill("SIGCONT");
      await pause(pick(100));
    }
    this.#isSuspending = false;
    return true;
  }

  /** Asks all workers to stop. Kills those that run longer than `withinMs`, and returns them. */
  async stopAll(withinMs: number): Promise<readonly string[]> {
    this.#isOver = true;
    const workers = [...this.#workers];
    for (const worker of workers) {
      worker.isEnding = true;
      this.#record(worker.by, "ends");
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
