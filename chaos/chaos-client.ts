import { FaultError } from "../src/core/values/fault.ts";
import type { Engine, RunHandle, RunProgress } from "../src/engine/api/engine-api.ts";
import type { ChaosJob } from "./chaos-jobs.ts";
import { actsWithinMs } from "./chaos-tools.ts";
import type { LoggedEffect } from "./effect-log.ts";

/** A submitted job, and what its client was told. */
export interface ClientJob {
  readonly job: ChaosJob;
  /** Null: the submission was not answered. */
  run_id: string | null;
  /** The facts reported as durable, as JSON: the outputs of succeeded steps and the end of the run. */
  readonly reported: Map<string, string>;
  /** Reported facts that a later report contradicts. */
  readonly changed: string[];
  /** The error of the client, apart from store faults; null: none. */
  failed: string | null;
  /** True if the run has ended or only waits for a person. */
  isWaiting: boolean;
  isEnded: boolean;
}

/** Finds an effect in the world. */
export type FindEffect = (did: string, to: string) => LoggedEffect | undefined;

const pollEveryMs = 300;

/** How many runs are settled at once when the faults have ended. */
const settlers = 64;

/** Clients that submit jobs, poll them, and act as the people whom they need. */
export class ChaosClient {
  readonly jobs: ClientJob[] = [];
  readonly #engine: Engine;
  readonly #next: () => ChaosJob;
  #isClosing = false;
  #isOver = false;
  /** Null while a stopped worker may still act, because an absent effect proves nothing then. */
  #findEffect: FindEffect | null = null;
  readonly #doubtsSince = new Map<string, number>();
  #work: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, next: () => ChaosJob) {
    this.#engine = engine;
    this.#next = next;
  }

  start(clients: number): void {
    this.#work = runInParallel(clients, () => this.#client());
  }

  /** Submits nothing new. Settles the doubts, and polls every run until it has ended or the time is over. */
  async finish(withinMs: number, findEffect: FindEffect): Promise<void> {
    this.#isClosing = true;
    this.#findEffect = findEffect;
    const timer = setTimeout(() => {
      this.#isOver = true;
    }, withinMs);
    await this.#work;
    const open = this.jobs.filter(({ isEnded }) => !isEnded);
    // A doubt about an absent effect waits for a while, so that many have to wait at once.
    await runInParallel(settlers, async () => {
      for (let clientJob = open.pop(); clientJob !== undefined; clientJob = open.pop())
        await this.#followSafely(clientJob);
    });
    clearTimeout(timer);
  }

  async #client(): Promise<void> {
    while (!this.#isClosing) {
      const job = this.#next();
      const clientJob: ClientJob = {
        job,
        run_id: null,
        reported: new Map(),
        changed: [],
        failed: null,
        isWaiting: false,
        isEnded: false,
      };
      this.jobs.push(clientJob);
      await this.#followSafely(clientJob);
    }
  }

  async #followSafely(clientJob: ClientJob): Promise<void> {
    try {
      await this.#follow(clientJob);
    } catch (error) {
      clientJob.failed = error instanceof Error ? `${error.stack}` : String(error);
    }
  }

  async #follow(clientJob: ClientJob): Promise<void> {
    const { job } = clientJob;
    if (job.signal?.early && clientJob.run_id === null) await this.#signal(job);
    const handle = await this.#retry(() => this.#submit(job));
    if (handle === null) return;
    clientJob.run_id = handle.run_id;
    compareReported(clientJob, "the run", handle.run_id);
    const isDone = (): boolean => (this.#findEffect === null ? clientJob.isWaiting : clientJob.isEnded);
    while (!isDone() && !this.#isOver) {
      const now = await this.#retry(() => handle.now());
      if (now === null) return;
      recordState(clientJob, now);
      await this.#actAsPeople(job, now);
      if (!isDone()) await pause(pollEveryMs);
    }
  }

  #submit({ steps, tenant, mode, name }: ChaosJob): Promise<RunHandle> {
    const principal = { id: "agent", kind: "agent", tenant } as const;
    return this.#engine.submit({ steps }, { principal, mode, requestKey: name });
  }

  /** Acts as the people of a run: resumes, approves, signals and settles doubts. */
  async #actAsPeople(job: ChaosJob, { run_id, gates, blocked_on, poison }: RunProgress): Promise<void> {
    const principal = { id: "ana", kind: "person", tenant: job.tenant } as const;
    // The faults kill the workers, not the run.
    if (poison !== undefined) await this.#retry(() => this.#engine.resume(run_id, { principal }));
    for (const { gate_id } of gates) await this.#retry(() => this.#engine.approve(gate_id, { principal }));
    for (const { step_id, reason_code, until, run_id: child } of blocked_on) {
      if (reason_code === "WAITING_FOR_SIGNAL") await this.#signal(job);
      if (reason_code === "WAITING_FOR_RUN" && child !== undefined) await this.#actForChild(job, child);
      if (reason_code !== "IN_DOUBT" || until !== undefined || this.#findEffect === null) continue;
      const resolution = findResolution(job, step_id, this.#findEffect);
      // An effect that is absent now may come later.
      if (resolution.as === "absent" && this.#knownFor(`${run_id} ${step_id}`) < actsWithinMs) continue;
      await this.#retry(() => this.#engine.resolve(run_id, step_id, { principal, ...resolution }));
    }
  }

  /** Returns how long this client has known a doubt. */
  #knownFor(doubt: string): number {
    const since = this.#doubtsSince.get(doubt) ?? performance.now();
    this.#doubtsSince.set(doubt, since);
    return performance.now() - since;
  }

  async #actForChild(job: ChaosJob, child: string): Promise<void> {
    const principal = { id: "ana", kind: "person", tenant: job.tenant } as const;
    const now = await this.#retry(async () => (await this.#engine.run(child, { principal })).now());
    if (now !== null) await this.#actAsPeople(job, now);
  }

  /** Sends a signal under a fixed id, so that a repetition has no effect. */
  async #signal({ tenant, name }: ChaosJob): Promise<void> {
    const principal = { id: "bank", kind: "service", tenant } as const;
    await this.#retry(() => this.#engine.signal(name, { word: name }, { principal, id: name }));
  }

  /** Repeats a command after store faults; null: the time is over, or the command was decided before. */
  async #retry<Result>(work: () => Promise<Result>): Promise<Result | null> {
    while (!this.#isOver) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof FaultError)) throw error;
        if (decidedCodes.includes(error.fault.code)) return null;
        if (!error.fault.code.startsWith("STORE_")) throw error;
        await pause(50);
      }
    }
    return null;
  }
}

/** Codes of a repeated decision whose first answer was lost. */
const decidedCodes: readonly string[] = ["GATE_DECIDED", "NOT_POSSIBLE"];

/** Records the state of a run; a fact reported as durable must never change. */
function recordState(clientJob: ClientJob, now: RunProgress): void {
  clientJob.isEnded = now.final;
  clientJob.isWaiting = !now.running && isWaiting(now);
  if (now.durable) recordReported(clientJob, now);
}

export function recordReported(clientJob: ClientJob, { steps, final, status }: RunProgress): void {
  for (const [step, result] of Object.entries(steps))
    if (result.state === "succeeded") compareReported(clientJob, step, result.output);
    else if (clientJob.reported.has(step)) compareReported(clientJob, step, result.state);
  if (final) compareReported(clientJob, "the end", status);
  else if (clientJob.reported.has("the end")) compareReported(clientJob, "the end", "to come");
}

function compareReported({ reported, changed, job }: ClientJob, what: string, value: unknown): void {
  const text = JSON.stringify(value);
  const before = reported.get(what);
  if (before === undefined) reported.set(what, text);
  else if (before !== text) changed.push(`${job.name}: ${what} was ${before} and is ${text}`);
}

/** True if the run has ended, or only waits for a person to settle a doubt. */
function isWaiting({ final, blocked_on, poison }: RunProgress): boolean {
  const doubts = blocked_on.filter(({ reason_code, until }) => reason_code === "IN_DOUBT" && until === undefined);
  return final || (poison === undefined && doubts.length > 0 && doubts.length === blocked_on.length);
}

/** Returns the resolution of an act in doubt by a person who checks the world. */
function findResolution({ expectedEffects }: ChaosJob, step: string, findEffect: FindEffect) {
  const expected = expectedEffects[step];
  const effect = expected === undefined ? undefined : findEffect(expected.did, expected.to);
  return effect === undefined
    ? ({ as: "absent" } as const)
    : ({ as: "happened", output: { receipt: effect.receipt } } as const);
}

async function runInParallel(count: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, work));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
