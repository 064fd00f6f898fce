import { assert } from "../../core/assert.ts";
import type { Command } from "../../core/command.ts";
import { type Decision, decide } from "../../core/decide.ts";
import type { Event, StepEvent } from "../../core/event.ts";
import { fold } from "../../core/evolve.ts";
import { FaultError } from "../../core/fault.ts";
import type { Epoch } from "../../core/id.ts";
import { chargesOf } from "../../core/limits/tally.ts";
import type { LedgerRow } from "../../core/rows.ts";
import { rowsOf } from "../../core/rows-of.ts";
import { findStep, type Run, statusOf } from "../../core/run.ts";
import type { Check, Entry, Landing, SealedEvent } from "../../core/store.ts";
import type { Ports } from "../ports.ts";
import { appendOnce } from "./append-once.ts";
import { isHard, isUnseen } from "./flush.ts";
import { type Blob, Journal } from "./journal.ts";
import { sharesGate, travelsAlone } from "./travel.ts";

/** The epoch has moved: someone else holds the run. Whoever meets this stops and writes nothing more. */
export class Fenced extends Error {
  override readonly name = "Fenced";
}

/** A row that the command relied on is another one now. */
export class RowLost extends Error {
  override readonly name = "RowLost";
  readonly landing: Landing & { landed: false };

  constructor(landing: Landing & { landed: false }) {
    super(`a ${landing.why} condition failed`);
    this.landing = landing;
  }
}

/** The store failed, or its answer was lost. It may come back. */
export function isStoreFault(error: unknown): boolean {
  return error instanceof FaultError && error.fault.code.startsWith("STORE_");
}

/** What the holder of a run wants to know. */
export interface Listener {
  /** `fresh`: indices of the steps that these events made ready. */
  landed(events: readonly Event[], fresh: readonly number[]): void;
  /** The store failed while an outcome was in hand. It is offered again; whoever waits for it should know. */
  stalled(error: unknown): void;
  /** Whether results would be told of the run as it is then, though it is not at rest by itself. */
  tells(after: Run): boolean;
}

interface Letter {
  readonly command: Command;
  /** An outcome in hand: it is tried again until it lands or the run is lost. */
  readonly keep: boolean;
  readonly answer: (decision: Decision) => void;
  readonly refuse: (error: unknown) => void;
}

/**
 * The only way anything changes: commands of one run queue here, are decided in order on the running fold, and one append is
 * in flight at a time. What waits shares the next append; a command with a condition of its own travels alone.
 */
export class Mailbox {
  #run: Run;
  #head: Uint8Array;
  readonly #epoch: Epoch | null;
  readonly #ports: Ports;
  readonly #journal: Journal;
  readonly #listener: Listener | null;
  readonly #letters: Letter[] = [];
  /** What the store cannot have lost: what was there when the run was claimed, and everything up to the last hard append. */
  #synced: number;
  /** Up to where a hard append was seen to land. What was there before may yet be lost, though only with this process. */
  #onDisk = 0;
  /** Outcomes that wait for the store to come back. */
  readonly #kept: Letter[] = [];
  /** No append is sent before those are told that the last one was for. */
  #busy = false;
  /** What was sent has landed, and everyone is being told. */
  #tells = false;
  /** Outcomes are being gathered. */
  #gathers = false;
  #stopped = false;

  constructor(ports: Ports, state: Loaded, epoch: Epoch | null, listener: Listener | null = null) {
    this.#ports = ports;
    this.#run = state.run;
    this.#head = state.head;
    this.#synced = state.run.position;
    this.#epoch = epoch;
    this.#listener = listener;
    this.#journal = new Journal(state.run.tenant, state.run.id);
  }

  get run(): Run {
    return this.#run;
  }

  get onDisk(): number {
    return this.#onDisk;
  }

  /** The run and its head, for whoever takes it up next. */
  get loaded(): Loaded {
    return { run: this.#run, head: this.#head };
  }

  ask(command: Command): Promise<Decision> {
    return new Promise((answer, refuse) => {
      const keep = command.type === "end";
      // An outcome does not get ahead of one that waits for the store: both may be of the same call.
      (keep && this.#kept.length > 0 ? this.#kept : this.#letters).push({ command, keep, answer, refuse });
      if (keep) this.#gather();
      else this.#work();
    });
  }

  /** Whether nothing waits, and nothing is on its way that the next decision would have to be made on. */
  get isIdle(): boolean {
    return (!this.#busy || this.#tells) && this.#letters.length === 0;
  }

  /** The answer to a command that nothing has to be written for, without a wait; null: something has, and it is to be asked. */
  answerAtOnce(command: Command): Decision | null {
    assert(this.isIdle, "nobody is answered ahead of those who wait");
    const decision = decide(this.#run, command, this.#ports.guards);
    return decision.events.length === 0 ? decision : null;
  }

  /** Outcomes of one moment share an append: else the first of a thousand would have a sync to itself, and the others wait for it. */
  #gather(): void {
    if (this.#gathers) return;
    this.#gathers = true;
    void AT_ONCE.then(this.#gathered);
  }

  readonly #gathered = () => {
    this.#gathers = false;
    this.#work();
  };

  /** Offers nothing more to a store that failed. */
  stop(): void {
    this.#stopped = true;
  }

  /** Notices what others have appended. */
  async refresh(): Promise<void> {
    if (this.#busy) return; // The append in flight will notice.
    this.#busy = true;
    try {
      await this.#catchUp();
    } finally {
      this.#busy = false;
      this.#work();
    }
  }

  /** Sends what waits, unless an append is in flight: then it waits for that. */
  #work(): void {
    if (this.#busy || this.#letters.length === 0) return;
    const batch = this.#decideNext();
    if (batch !== null) void this.#append(batch);
  }

  /**
   * Decides what waits, in order, into one entry. Decisions without events are answered at once, null if all are; behind one
   * that has events they wait for it to land, since they were made on it.
   */
  #decideNext(): Batch | null {
    let batch: Batch | null = null;
    for (let letter = this.#letters[0]; letter !== undefined; letter = this.#letters[0]) {
      const decision = this.#decide(batch?.after ?? this.#run, letter);
      if (decision === null) continue;
      if (decision.events.length === 0 && batch === null) {
        this.#letters.shift();
        letter.answer(decision);
        continue;
      }
      const alone = travelsAlone(decision);
      if (batch !== null && (alone || sharesGate(batch.events, decision.events))) break;
      batch ??= { letters: [], decisions: [], events: [], before: this.#run, after: this.#run };
      this.#letters.shift();
      batch.letters.push(letter);
      batch.decisions.push(decision);
      batch.events.push(...decision.events);
      batch.after = decision.after;
      if (alone || batch.events.length >= MOST_EVENTS) break;
    }
    return batch;
  }

  #decide(run: Run, letter: Letter): Decision | null {
    try {
      return decide(run, letter.command, this.#ports.guards);
    } catch (error) {
      this.#letters.shift();
      letter.refuse(error);
      return null;
    }
  }

  async #append(batch: Batch): Promise<void> {
    this.#busy = true;
    try {
      const { entry, head, blobs } = this.#entry(batch);
      for (const { hash, bytes } of blobs) await this.#ports.store.putBlob(entry.tenant, hash, bytes);
      const landing = await appendOnce(this.#ports, entry);
      if (landing.landed) this.#landed(batch, head, entry.flush);
      else await this.#lost(batch, landing);
    } catch (error) {
      this.#failed(batch, error);
    }
    this.#busy = false;
    this.#work();
  }

  #entry(batch: Batch): { readonly entry: Entry; readonly head: Uint8Array; readonly blobs: readonly Blob[] } {
    const { before, after, events } = batch;
    const sealed: SealedEvent[] = [];
    const blobs: Blob[] = [];
    let head = this.#head;
    for (const event of events) {
      const { event: bytes, blob } = this.#journal.seal(event, before.position + sealed.length + 1, head);
      if (blob !== null) blobs.push(blob);
      sealed.push(bytes);
      head = bytes.hash;
    }
    const entry: Entry = {
      tenant: after.tenant,
      run: after.id,
      expect: { position: before.position, epoch: this.#epoch },
      events: sealed,
      puts: rowsOf(before, events, after),
      charges: chargesOf(events),
      checks: checksOf(batch.decisions),
      flush: this.#flush(batch),
    };
    return { entry, head, blobs };
  }

  #flush({ events, after }: Batch): "hard" | "soft" {
    const { durability } = this.#ports;
    if (durability !== "power") return durability === "every" ? "hard" : "soft";
    const told = statusOf(after) !== "running" || this.#listener?.tells(after) === true;
    const rests = told && !events.every(isUnseen);
    return rests || this.#epoch === null || events.some(isHard) ? "hard" : "soft";
  }

  #landed(batch: Batch, head: Uint8Array, flush: Entry["flush"]): void {
    this.#run = batch.after;
    this.#tell(batch);
    if (flush === "hard") {
      this.#onDisk = batch.after.position;
      this.#synced = this.#onDisk;
    }
    this.#head = head;
    this.#tells = true;
    this.#listener?.landed(batch.events, freshIn(batch));
    for (const [index, letter] of batch.letters.entries()) letter.answer(batch.decisions[index] as Decision);
    this.#tells = false;
  }

  /** Whoever works on the same project sees what came of it. */
  #tell({ before, events, after: { tenant, id: run_id } }: Batch): void {
    for (const [index, event] of events.entries())
      if ("state" in event && event.state)
        this.#ports.projects.landed(tenant, event.state, { run_id, position: before.position + index + 1 }, event.at);
  }

  /** A failed condition is the next command. */
  async #lost(batch: Batch, landing: Landing & { landed: false }): Promise<void> {
    switch (landing.why) {
      case "epoch":
        throw new Fenced("the run is held by another worker now");
      case "position":
        // What was not synced is gone, and the store with what it knows is right: as after a crash, only that we live.
        if (landing.position < this.#run.position && landing.position >= this.#synced) {
          this.#ports.projects.doubtAll();
          throw new Fenced("the store has lost what it had not synced");
        }
        if (!(await this.#catchUp())) throw this.#journal.broken(landing.position);
        this.#letters.unshift(...batch.letters);
        return;
      case "row":
        if (await this.#overtaken(batch, landing)) return;
        if (this.#superseded(batch, landing)) return;
        throw new RowLost(landing);
      default:
        throw new RowLost(landing);
    }
  }

  /** Another call's version of the project's state came first: the same commands are decided again, on top of it. */
  async #overtaken({ letters }: Batch, { table, key }: Extract<Landing, { why: "row" | "check" }>): Promise<boolean> {
    if (table !== "project") return false;
    await this.#ports.projects.catchUp(this.#run.tenant, key);
    this.#letters.splice(0, 0, ...letters);
    return true;
  }

  /** A later act has the ledger's row: that is put on record, and then the same commands are decided again. */
  #superseded(batch: Batch, { table, key, found }: Extract<Landing, { why: "row" | "check" }>): boolean {
    const writes = batch.events.filter((event) => "ledger" in event && event.type !== "step.started");
    const step = writes
      .map((event) => findStep(this.#run, (event as StepEvent).step_id))
      .find((written) => written?.call?.key === key);
    if (table !== "ledger" || found === null || step?.act == null) return false;
    const row = JSON.parse(found.row) as LedgerRow;
    if (row.generation <= step.act.generation) return false;
    const by = { run: row.run_id, step: row.step_id, generation: row.generation };
    const now = this.#ports.clock.now();
    const command = { type: "supersede", now, step_id: step.spec.step_id, by } as const;
    this.#letters.unshift({ command, keep: false, answer: () => {}, refuse: () => {} }, ...batch.letters);
    return true;
  }

  /** Reads what others have appended. Answers whether there was anything. */
  async #catchUp(): Promise<boolean> {
    const { tenant, id, position } = this.#run;
    const stored = await this.#ports.store.events(tenant, id, position);
    const before = this.#run;
    this.#journal.assertIntact(stored, this.#head, position);
    const events = await Promise.all(stored.map((event) => this.#journal.open(event, this.#ports.store)));
    const last = stored.at(-1);
    if (last === undefined) return false;
    const fresh: number[] = [];
    for (const event of events) {
      this.#run = fold(this.#run, [event]);
      fresh.push(...this.#run.fresh);
    }
    assert(this.#run.position === before.position + events.length, "every event was folded");
    this.#head = last.hash;
    this.#synced = this.#run.position; // Commands from outside are hard, and take all before them to the disk.
    this.#listener?.landed(events, fresh);
    return true;
  }

  /** Nothing was written. An outcome in hand waits for the store to come back; everyone else is told. */
  #failed(batch: Batch, error: unknown): void {
    const kept = isStoreFault(error) ? batch.letters.filter((letter) => letter.keep) : [];
    for (const letter of batch.letters) if (!kept.includes(letter)) letter.refuse(error);
    if (error instanceof Fenced) for (const letter of this.#letters.splice(0)) letter.refuse(error);
    if (kept.length === 0) return;
    this.#listener?.stalled(error);
    const first = this.#kept.length === 0;
    const waiting = this.#letters.splice(0);
    this.#letters.push(...waiting.filter(({ keep }) => !keep));
    this.#kept.push(...kept, ...waiting.filter(({ keep }) => keep));
    if (first) this.#ports.timers.after(STORE_RETRY_MS, () => this.#offerAgain());
  }

  #offerAgain(): void {
    const kept = this.#kept.splice(0);
    if (this.#stopped) {
      for (const letter of kept) letter.refuse(new Fenced("the run was let go before the store came back"));
      return;
    }
    this.#letters.unshift(...kept);
    this.#work();
  }
}

/** Whoever waits for this goes on when all have that were about to go on by then. */
const AT_ONCE = Promise.resolve();

/** How long an outcome waits before it is offered again to a store that failed. */
const STORE_RETRY_MS = 1000;

/** So that one append stays small however much has piled up, and a thousand steps that end together still share a sync. */
const MOST_EVENTS = 1024;

interface Batch {
  readonly letters: Letter[];
  readonly decisions: Decision[];
  readonly events: Event[];
  readonly before: Run;
  after: Run;
}

/** A run as it was loaded: its fold and the hash of its last event. */
export interface Loaded {
  readonly run: Run;
  readonly head: Uint8Array;
}

/** One by one: joined lists of a thousand decisions take longer than the decisions. */
function freshIn({ decisions }: Batch): readonly number[] {
  const all: number[] = [];
  for (const { fresh } of decisions) for (const index of fresh) all.push(index);
  return all;
}

function checksOf(decisions: readonly Decision[]): readonly Check[] {
  const all: Check[] = [];
  for (const { checks } of decisions) all.push(...checks);
  return all;
}
