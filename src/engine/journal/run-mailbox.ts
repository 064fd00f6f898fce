import { eventCharges } from "../../core/call/cost-tally.ts";
import type { Command } from "../../core/decide/command.ts";
import { type Decision, decide } from "../../core/decide/decide.ts";
import type { Event, StepEvent } from "../../core/event/event.ts";
import { eventRows } from "../../core/evolve/event-rows.ts";
import { foldEvents } from "../../core/evolve/evolve.ts";
import { findStep, type Run, type RunStatus, runStatus } from "../../core/run/run.ts";
import type { AppendResult, Check, Entry, SealedEvent } from "../../core/store/store.ts";
import type { LedgerRow } from "../../core/store/tables.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import { assert } from "../../core/values/assert.ts";
import type { Epoch } from "../../core/values/ids.ts";
import { ConditionFailedError, FencedError, isStoreFault } from "./append-errors.ts";
import { appendOnce } from "./append-once.ts";
import { needsOwnEntry, sharesGate } from "./entry-sharing.ts";
import { isHardEvent, isNeverShown } from "./hard-events.ts";
import { type EventBlob, JournalCodec } from "./journal-codec.ts";
import type { JournalPorts } from "./journal-ports.ts";

/** The owner of a leased run, as its mailbox sees it. */
export interface MailboxListener {
  /** The store has these events. `fresh`: indices of the steps that they made ready. */
  onAppended(events: readonly Event[], fresh: readonly number[]): void;
  /** The store failed while an outcome waits to be appended. The mailbox offers the outcome again. */
  onStalled(error: unknown): void;
  /** True if the owner would return a result of this run, or of a call of an open run, though it still has work. */
  showsResult(after: Run, events: readonly Event[]): boolean;
}

/** Makes the command for each decision anew, with the facts as they are then. `run` is the run that decides it. */
export type MakeCommand = (run: Run) => Command;

interface QueuedCommand {
  readonly make: MakeCommand;
  /** The outcome of a call: the mailbox offers it until the store has it or the run is lost. */
  readonly mustLand: boolean;
  readonly answer: (decision: Decision) => void;
  readonly refuse: (error: unknown) => void;
}

/**
 * The only way to change a run. Commands queue here and are decided in order on the latest run; one append is in flight
 * at a time. Waiting commands share the next append, except that a decision with a condition of its own has its own.
 */
export class RunMailbox {
  #run: Run;
  #head: Uint8Array;
  readonly #epoch: Epoch | null;
  readonly #ports: JournalPorts;
  readonly #journal: JournalCodec;
  readonly #listener: MailboxListener | null;
  readonly #queue: QueuedCommand[] = [];
  /** Up to here the store cannot have lost events: those read with the claim, and all up to the last hard append. */
  #synced: number;
  /** The position of the last hard append that landed. */
  #onDisk = 0;
  /** Outcomes that wait until the store works again. */
  readonly #unwritten: QueuedCommand[] = [];
  /** An append is in flight, or its callers have not been answered yet. */
  #busy = false;
  /** An append has landed, and the listener and the callers are being called. */
  #answering = false;
  /** A microtask is scheduled that appends the outcomes gathered so far. */
  #gathering = false;
  #stopped = false;

  constructor(ports: JournalPorts, state: LoadedRun, epoch: Epoch | null, listener: MailboxListener | null = null) {
    this.#ports = ports;
    this.#run = state.run;
    this.#head = state.head;
    this.#synced = state.run.position;
    this.#epoch = epoch;
    this.#listener = listener;
    this.#journal = new JournalCodec(state.run.tenant, state.run.id);
  }

  get run(): Run {
    return this.#run;
  }

  get durablePosition(): number {
    return this.#onDisk;
  }

  /** The run and its head, from which another mailbox can continue. */
  get loaded(): LoadedRun {
    return { run: this.#run, head: this.#head };
  }

  /** Decides a command and appends its events. Resolves with the decision when the store has them. */
  ask(make: MakeCommand): Promise<Decision> {
    return new Promise((answer, refuse) => {
      this.#queue.push({ make, mustLand: false, answer, refuse });
      this.#work();
    });
  }

  /** Like `ask`, for the outcome of a call: while the store fails, the mailbox offers it again. */
  askUntilLanded(make: MakeCommand): Promise<Decision> {
    return new Promise((answer, refuse) => {
      // Outcomes keep their order: two of them can belong to one call.
      const queue = this.#unwritten.length > 0 ? this.#unwritten : this.#queue;
      queue.push({ make, mustLand: true, answer, refuse });
      this.#gather();
    });
  }

  /** True if no command waits and no append is in flight that the next decision would depend on. */
  get isIdle(): boolean {
    return (!this.#busy || this.#answering) && this.#queue.length === 0;
  }

  /** Decides a command without waiting. Returns null if its decision has events, which only `ask` can append. */
  decideNow(make: MakeCommand): Decision | null {
    assert(this.isIdle, "no command is decided ahead of those that wait");
    const decision = decide(this.#run, make(this.#run), this.#ports.rules);
    return decision.events.length === 0 ? decision : null;
  }

  /** Outcomes that arrive together share an append; else the first would have its own sync, and the others would wait. */
  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    void NEXT_MICROTASK.then(this.#flushGathered);
  }

  readonly #flushGathered = () => {
    this.#gathering = false;
    this.#work();
  };

  /** Offers no more outcomes to a store that failed. */
  stop(): void {
    this.#stopped = true;
  }

  /** Reads the events that other processes have appended. */
  async refresh(): Promise<void> {
    if (this.#busy) return; // The append in flight finds them.
    this.#busy = true;
    try {
      await this.#catchUp();
    } finally {
      this.#busy = false;
      this.#work();
    }
  }

  /** Decides and appends the waiting commands, unless an append is in flight. */
  #work(): void {
    if (this.#busy || this.#queue.length === 0) return;
    const batch = this.#decideNext();
    if (batch !== null) void this.#append(batch);
  }

  /**
   * Decides the waiting commands in order, into one entry. Answers a decision without events at once, unless it follows
   * one with events, on which it was decided. Returns null if no decision has events.
   */
  #decideNext(): Batch | null {
    let batch: Batch | null = null;
    for (let queued = this.#queue[0]; queued !== undefined; queued = this.#queue[0]) {
      const decision = this.#decide(batch?.after ?? this.#run, queued);
      if (decision === null) continue;
      if (decision.events.length === 0 && batch === null) {
        this.#queue.shift();
        queued.answer(decision);
        continue;
      }
      const alone = needsOwnEntry(decision);
      if (batch !== null && (alone || sharesGate(batch.events, decision.events))) break;
      batch ??= { commands: [], decisions: [], events: [], before: this.#run, after: this.#run };
      this.#queue.shift();
      batch.commands.push(queued);
      batch.decisions.push(decision);
      batch.events.push(...decision.events);
      batch.after = decision.after;
      if (alone || batch.events.length >= EVENTS_PER_APPEND_MAX) break;
    }
    return batch;
  }

  #decide(run: Run, queued: QueuedCommand): Decision | null {
    try {
      return decide(run, queued.make(run), this.#ports.rules);
    } catch (error) {
      this.#queue.shift();
      queued.refuse(error);
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
      else await this.#rejected(batch, landing);
    } catch (error) {
      this.#failed(batch, error);
    }
    this.#busy = false;
    this.#work();
  }

  #entry(batch: Batch): { readonly entry: Entry; readonly head: Uint8Array; readonly blobs: readonly EventBlob[] } {
    const { before, after, events } = batch;
    const sealed: SealedEvent[] = [];
    const blobs: EventBlob[] = [];
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
      puts: eventRows(before, events, after),
      charges: eventCharges(events),
      checks: checksOf(batch.decisions),
      flush: this.#flush(batch),
    };
    return { entry, head, blobs };
  }

  #flush({ events, after }: Batch): "hard" | "soft" {
    const { durability } = this.#ports;
    if (durability !== "power") return durability === "every" ? "hard" : "soft";
    const shown = !hasWork.includes(runStatus(after)) || this.#listener?.showsResult(after, events) === true;
    const rests = shown && !events.every(isNeverShown);
    return rests || this.#epoch === null || events.some(isHardEvent) ? "hard" : "soft";
  }

  #landed(batch: Batch, head: Uint8Array, flush: Entry["flush"]): void {
    this.#run = batch.after;
    this.#publishState(batch);
    if (flush === "hard") {
      this.#onDisk = batch.after.position;
      this.#synced = this.#onDisk;
    }
    this.#head = head;
    this.#ports.observers.onAppended(batch.after, batch.events, flush === "hard");
    this.#answering = true;
    this.#listener?.onAppended(batch.events, readyIndices(batch));
    for (const [index, queued] of batch.commands.entries()) queued.answer(batch.decisions[index] as Decision);
    this.#answering = false;
  }

  /** Publishes the state changes of the events to the other runs of the project in this process. */
  #publishState({ before, events, after: { tenant, id: run_id } }: Batch): void {
    for (const [index, event] of events.entries())
      if ("state" in event && event.state)
        this.#ports.projects.applyChange(
          tenant,
          event.state,
          { run_id, position: before.position + index + 1 },
          event.at,
        );
  }

  /** Reacts to an entry whose condition failed. */
  async #rejected(batch: Batch, landing: AppendResult & { landed: false }): Promise<void> {
    switch (landing.why) {
      case "epoch":
        throw new FencedError("another worker holds the run now");
      case "position":
        // The store lost events that were not synced. It is right: this process continues as after a crash.
        if (landing.position < this.#run.position && landing.position >= this.#synced) {
          this.#ports.projects.markAllStale();
          throw new FencedError("the store has lost events that it had not synced");
        }
        if (!(await this.#catchUp())) throw this.#journal.chainBrokenError(landing.position);
        this.#queue.unshift(...batch.commands);
        return;
      case "row":
        if (await this.#overtaken(batch, landing)) return;
        if (this.#superseded(batch, landing)) return;
        throw new ConditionFailedError(landing);
      default:
        throw new ConditionFailedError(landing);
    }
  }

  /** Another call has published a version of the project's state: decides the same commands again on top of it. */
  async #overtaken(
    { commands }: Batch,
    { table, key }: Extract<AppendResult, { why: "row" | "check" }>,
  ): Promise<boolean> {
    if (table !== "project") return false;
    await this.#ports.projects.refresh(this.#run.tenant, key);
    this.#queue.splice(0, 0, ...commands);
    return true;
  }

  /** A later act owns the ledger row: records that first, then decides the same commands again. */
  #superseded(batch: Batch, { table, key, found }: Extract<AppendResult, { why: "row" | "check" }>): boolean {
    const writes = batch.events.filter((event) => "ledger" in event && event.type !== "step.started");
    const step = writes
      .map((event) => findStep(this.#run, (event as StepEvent).step_id))
      .find((written) => written?.call?.key === key);
    if (table !== "ledger" || found === null || step?.act == null) return false;
    const row = JSON.parse(found.row) as LedgerRow;
    if (row.generation <= step.act.generation) return false;
    const by = { run: row.run_id, step: row.step_id, generation: row.generation };
    const now = this.#ports.clock.now();
    const make = () => ({ type: "supersede", now, step_id: step.spec.step_id, by }) as const;
    this.#queue.unshift({ make, mustLand: false, answer: () => {}, refuse: () => {} }, ...batch.commands);
    return true;
  }

  /** Reads the events that other processes have appended. Returns false if there are none. */
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
      this.#run = foldEvents(this.#run, [event]);
      fresh.push(...this.#run.fresh);
    }
    assert(this.#run.position === before.position + events.length, "every event was folded");
    this.#head = last.hash;
    this.#synced = this.#run.position; // Appends without a lease are hard, and sync everything before them.
    this.#listener?.onAppended(events, fresh);
    return true;
  }

  /** Nothing was written. Outcomes wait until the store works again; all other commands fail. */
  #failed(batch: Batch, error: unknown): void {
    const unwritten = isStoreFault(error) ? batch.commands.filter((queued) => queued.mustLand) : [];
    for (const queued of batch.commands) if (!unwritten.includes(queued)) queued.refuse(error);
    if (error instanceof FencedError) for (const queued of this.#queue.splice(0)) queued.refuse(error);
    if (unwritten.length === 0) return;
    this.#listener?.onStalled(error);
    const first = this.#unwritten.length === 0;
    const waiting = this.#queue.splice(0);
    this.#queue.push(...waiting.filter(({ mustLand }) => !mustLand));
    this.#unwritten.push(...unwritten, ...waiting.filter(({ mustLand }) => mustLand));
    if (first) this.#ports.timers.after(waitTimes.outcomeRetryMs, () => this.#offerAgain());
  }

  #offerAgain(): void {
    const unwritten = this.#unwritten.splice(0);
    if (this.#stopped) {
      for (const queued of unwritten)
        queued.refuse(new FencedError("the run was released before the store worked again"));
      return;
    }
    this.#queue.unshift(...unwritten);
    this.#work();
  }
}

/** The statuses of a run that is not at rest, or whose calls rest one by one. */
const hasWork: readonly RunStatus[] = ["running", "open"];

/** A reaction to this promise runs after the microtasks that are queued now. */
const NEXT_MICROTASK = Promise.resolve();

/** Limits the size of an append. A thousand steps that end together still share a sync. */
const EVENTS_PER_APPEND_MAX = 1024;

interface Batch {
  readonly commands: QueuedCommand[];
  readonly decisions: Decision[];
  readonly events: Event[];
  readonly before: Run;
  after: Run;
}

/** A run as it was loaded: its fold and the hash of its last event. */
export interface LoadedRun {
  readonly run: Run;
  readonly head: Uint8Array;
}

/** Adds indices one by one: concatenating the lists of a thousand decisions takes longer than the decisions. */
function readyIndices({ decisions }: Batch): readonly number[] {
  const all: number[] = [];
  for (const { fresh } of decisions) for (const index of fresh) all.push(index);
  return all;
}

function checksOf(decisions: readonly Decision[]): readonly Check[] {
  const all: Check[] = [];
  for (const { checks } of decisions) all.push(...checks);
  return all;
}
