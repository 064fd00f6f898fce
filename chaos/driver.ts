import { FaultError } from "../src/core/fault.ts";
import type { Engine, RunHandle, RunNow } from "../src/engine/api.ts";
import type { Job } from "./plans.ts";

/** A job that someone asked for, and what they were told of it. */
export interface Errand {
  readonly job: Job;
  /** Null: nobody was told that it is accepted. */
  run_id: string | null;
  /** The outputs of steps that were said to have succeeded, as JSON. */
  readonly told: Map<string, string>;
  /** It can go no further by itself. */
  isAtRest: boolean;
  /** What was told first, and then told otherwise. */
  readonly changed: string[];
  last: RunNow | null;
}

const lookEveryMs = 300;

/** Those who ask for work, look at it now and then, and do what is asked of people. */
export class Driver {
  readonly errands: Errand[] = [];
  readonly #engine: Engine;
  readonly #next: () => Job;
  #isClosing = false;
  #isOver = false;
  #work: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, next: () => Job) {
    this.#engine = engine;
    this.#next = next;
  }

  begin(clients: number): void {
    this.#work = Promise.all(Array.from({ length: clients }, () => this.#client()));
  }

  /** Asks for nothing new, and looks after what was asked for until all is at rest or the time is over. */
  async finish(withinMs: number): Promise<void> {
    this.#isClosing = true;
    const patience = setTimeout(() => {
      this.#isOver = true;
    }, withinMs);
    await this.#work;
    clearTimeout(patience);
  }

  async #client(): Promise<void> {
    while (!this.#isClosing) {
      const errand: Errand = {
        job: this.#next(),
        run_id: null,
        told: new Map(),
        isAtRest: false,
        changed: [],
        last: null,
      };
      this.errands.push(errand);
      await this.#see(errand);
    }
  }

  async #see(errand: Errand): Promise<void> {
    const { job } = errand;
    if (job.signal?.early) await this.#signal(job);
    const handle = await this.#insisting(() => this.#submit(job));
    if (handle === null) return;
    errand.run_id = handle.run_id;
    while (!errand.isAtRest && !this.#isOver) {
      await pause(lookEveryMs);
      const now = await this.#insisting(() => handle.now());
      if (now === null) return;
      hear(errand, now);
      await this.#attend(job, now);
    }
  }

  #submit({ steps, tenant, mode, name }: Job): Promise<RunHandle> {
    const principal = { id: "agent", kind: "agent", tenant } as const;
    return this.#engine.submit({ steps }, { principal, mode, requestKey: name });
  }

  /** What a person does about it. */
  async #attend(job: Job, { gates, blocked_on }: RunNow): Promise<void> {
    const { signal, tenant } = job;
    const principal = { id: "ana", kind: "person", tenant } as const;
    for (const { gate_id } of gates) await this.#insisting(() => this.#engine.approve(gate_id, { principal }));
    const waits = blocked_on.some(({ reason_code }) => reason_code === "WAITING_FOR_SIGNAL");
    if (signal !== null && waits) await this.#signal(job);
  }

  /** Under one id: sent again, it is the same one. */
  async #signal({ tenant, name }: Job): Promise<void> {
    const principal = { id: "bank", kind: "service", tenant } as const;
    await this.#insisting(() => this.#engine.signal(name, { word: name }, { principal, id: name }));
  }

  /** Asks again while the store is not itself. Null: the time is over, or someone else was first. */
  async #insisting<Result>(work: () => Promise<Result>): Promise<Result | null> {
    while (!this.#isOver) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof FaultError)) throw error;
        if (error.fault.code.startsWith("GATE_")) return null;
        if (!error.fault.code.startsWith("STORE_")) throw error;
        await pause(50);
      }
    }
    return null;
  }
}

/** What was told once must be told again. */
function hear(errand: Errand, now: RunNow): void {
  errand.last = now;
  errand.isAtRest = !now.running && isAtRest(now);
  if (!now.durable) return;
  for (const [step, result] of Object.entries(now.steps))
    if (result.state === "succeeded") tell(errand, step, result.output);
  if (now.final) tell(errand, "the end", now.status);
}

export function tell({ told, changed, job }: Errand, what: string, value: unknown): void {
  const text = JSON.stringify(value);
  const before = told.get(what);
  if (before === undefined) told.set(what, text);
  else if (before !== text) changed.push(`${job.name}: ${what} was ${before} and is ${text}`);
}

/** Ended, or in a doubt that only a person can settle, with nothing else under way. */
export function isAtRest({ final, blocked_on }: Pick<RunNow, "final" | "blocked_on">): boolean {
  const asking = blocked_on.filter(({ reason_code, until }) => reason_code === "IN_DOUBT" && until === undefined);
  return final || (asking.length > 0 && asking.length === blocked_on.length);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
