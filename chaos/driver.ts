import { FaultError } from "../src/core/fault.ts";
import type { Engine, RunHandle, RunNow } from "../src/engine/api.ts";
import type { Job } from "./plans.ts";
import type { Deed } from "./witness.ts";

/** A job that someone asked for, and what they were told of it. */
export interface Errand {
  readonly job: Job;
  /** Null: nobody was told that it is accepted. */
  run_id: string | null;
  /** What was told as durable, as JSON: outputs of steps that have succeeded, and how the run ended. */
  readonly told: Map<string, string>;
  /** What was told first, and then told otherwise. */
  readonly changed: string[];
  /** What it failed with, though the store was there. */
  failed: string | null;
  /** It can go no further by itself. */
  isAtRest: boolean;
  isEnded: boolean;
}

/** Whoever goes and looks what happened to someone. */
export type Looks = (did: string, to: string) => Deed | undefined;

const lookEveryMs = 300;

/** Those who ask for work, look at it now and then, and do what is asked of people. */
export class Driver {
  readonly errands: Errand[] = [];
  readonly #engine: Engine;
  readonly #next: () => Job;
  #isClosing = false;
  #isOver = false;
  /** While workers can be asleep, nobody can say that something has not happened. */
  #looks: Looks | null = null;
  #work: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, next: () => Job) {
    this.#engine = engine;
    this.#next = next;
  }

  begin(clients: number): void {
    this.#work = together(clients, () => this.#client());
  }

  /**
   * Asks for nothing new, looks after what was asked for until all of it is at rest, and then settles what is in doubt until all
   * of it has ended; or until the time is over.
   */
  async finish(withinMs: number, looks: Looks): Promise<void> {
    this.#isClosing = true;
    const patience = setTimeout(() => {
      this.#isOver = true;
    }, withinMs);
    await this.#work;
    this.#looks = looks;
    const open = this.errands.filter(({ isEnded }) => !isEnded);
    await together(8, async () => {
      for (let errand = open.pop(); errand !== undefined; errand = open.pop()) await this.#see(errand);
    });
    clearTimeout(patience);
  }

  async #client(): Promise<void> {
    while (!this.#isClosing) {
      const job = this.#next();
      const errand: Errand = {
        job,
        run_id: null,
        told: new Map(),
        changed: [],
        failed: null,
        isAtRest: false,
        isEnded: false,
      };
      this.errands.push(errand);
      await this.#see(errand);
    }
  }

  async #see(errand: Errand): Promise<void> {
    try {
      await this.#look(errand);
    } catch (error) {
      errand.failed = error instanceof Error ? `${error.stack}` : String(error);
    }
  }

  async #look(errand: Errand): Promise<void> {
    const { job } = errand;
    if (job.signal?.early && errand.run_id === null) await this.#signal(job);
    const handle = await this.#insisting(() => this.#submit(job));
    if (handle === null) return;
    errand.run_id = handle.run_id;
    tell(errand, "the run", handle.run_id);
    const isDone = (): boolean => (this.#looks === null ? errand.isAtRest : errand.isEnded);
    while (!isDone() && !this.#isOver) {
      const now = await this.#insisting(() => handle.now());
      if (now === null) return;
      hear(errand, now);
      await this.#attend(job, now);
      if (!isDone()) await pause(lookEveryMs);
    }
  }

  #submit({ steps, tenant, mode, name }: Job): Promise<RunHandle> {
    const principal = { id: "agent", kind: "agent", tenant } as const;
    return this.#engine.submit({ steps }, { principal, mode, requestKey: name });
  }

  /** What a person does about it. */
  async #attend(job: Job, { run_id, gates, blocked_on, poison }: RunNow): Promise<void> {
    const principal = { id: "ana", kind: "person", tenant: job.tenant } as const;
    // No run is to blame for what strikes its workers here.
    if (poison !== undefined) await this.#insisting(() => this.#engine.resume(run_id, { principal }));
    for (const { gate_id } of gates) await this.#insisting(() => this.#engine.approve(gate_id, { principal }));
    for (const { step_id, reason_code, until, run_id: child } of blocked_on) {
      if (reason_code === "WAITING_FOR_SIGNAL") await this.#signal(job);
      if (reason_code === "WAITING_FOR_RUN" && child !== undefined) await this.#attendChild(job, child);
      if (reason_code !== "IN_DOUBT" || until !== undefined || this.#looks === null) continue;
      const found = lookedFor(job, step_id, this.#looks);
      await this.#insisting(() => this.#engine.resolve(run_id, step_id, { principal, ...found }));
    }
  }

  async #attendChild(job: Job, child: string): Promise<void> {
    const principal = { id: "ana", kind: "person", tenant: job.tenant } as const;
    const now = await this.#insisting(async () => (await this.#engine.run(child, { principal })).now());
    if (now !== null) await this.#attend(job, now);
  }

  /** Under one id: sent again, it is the same one. */
  async #signal({ tenant, name }: Job): Promise<void> {
    const principal = { id: "bank", kind: "service", tenant } as const;
    await this.#insisting(() => this.#engine.signal(name, { word: name }, { principal, id: name }));
  }

  /** Asks again while the store is not itself. Null: the time is over, or it was decided before. */
  async #insisting<Result>(work: () => Promise<Result>): Promise<Result | null> {
    while (!this.#isOver) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof FaultError)) throw error;
        if (decided.includes(error.fault.code)) return null;
        if (!error.fault.code.startsWith("STORE_")) throw error;
        await pause(50);
      }
    }
    return null;
  }
}

/** What is answered to who decides again because nobody heard the first time. */
const decided: readonly string[] = ["GATE_DECIDED", "NOT_POSSIBLE"];

/** What was told once must be told again. */
function hear(errand: Errand, now: RunNow): void {
  errand.isEnded = now.final;
  errand.isAtRest = !now.running && isAtRest(now);
  if (now.durable) listen(errand, now);
}

export function listen(errand: Errand, { steps, final, status }: RunNow): void {
  for (const [step, result] of Object.entries(steps))
    if (result.state === "succeeded") tell(errand, step, result.output);
    else if (errand.told.has(step)) tell(errand, step, result.state);
  if (final) tell(errand, "the end", status);
  else if (errand.told.has("the end")) tell(errand, "the end", "to come");
}

function tell({ told, changed, job }: Errand, what: string, value: unknown): void {
  const text = JSON.stringify(value);
  const before = told.get(what);
  if (before === undefined) told.set(what, text);
  else if (before !== text) changed.push(`${job.name}: ${what} was ${before} and is ${text}`);
}

/** Ended, or in a doubt that only a person can settle, with nothing else under way. */
function isAtRest({ final, blocked_on, poison }: RunNow): boolean {
  const asking = blocked_on.filter(({ reason_code, until }) => reason_code === "IN_DOUBT" && until === undefined);
  return final || (poison === undefined && asking.length > 0 && asking.length === blocked_on.length);
}

/** What a person says about an act in doubt who has looked. */
function lookedFor({ deeds }: Job, step: string, looks: Looks) {
  const expected = deeds[step];
  const deed = expected === undefined ? undefined : looks(expected.did, expected.to);
  return deed === undefined
    ? ({ as: "absent" } as const)
    : ({ as: "happened", output: { receipt: deed.receipt } } as const);
}

async function together(hands: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: hands }, work));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
