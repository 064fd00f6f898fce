import { type Decision, decide } from "../../core/decide/decide.ts";
import type { Run } from "../../core/run/run.ts";
import { needsWorker } from "../../core/run/run-wakeups.ts";
import type { AppendResult, Entry } from "../../core/store/store.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import { assert } from "../../core/values/assert.ts";
import type { Epoch } from "../../core/values/ids.ts";
import { NEXT_MICROTASK } from "../ports/next-microtask.ts";
import { ConditionFailedError, FencedError, isStoreFault, NotAcceptedError } from "./append-errors.ts";
import { appendTimed } from "./append-timed.ts";
import {
  answeredCommands,
  type Batch,
  joinBatches,
  type MakeCommand,
  type QueuedCommand,
  readyIndices,
  type Waiter,
} from "./batch.ts";
import { commandsAfterRefusal } from "./commands-after-refusal.ts";
import { decideBatch } from "./decide-batch.ts";
import { JournalCodec } from "./journal-codec.ts";
import type { JournalPorts } from "./journal-ports.ts";
import type { LoadedRun } from "./load-run.ts";
import type { MailboxOwner } from "./mailbox-owner.ts";
import { type EntryTerms, makeEntry } from "./make-entry.ts";
import { mayRunAhead, RESULTS_AHEAD_MAX } from "./may-run-ahead.ts";
import { readNewEvents } from "./read-new-events.ts";
import { shareCommittedState } from "./share-committed-state.ts";

/**
 * The only way to change a run. Commands queue here and are decided in order on the latest run; one append is in flight
 * at a time. Waiting commands share the next append, except that a decision with a condition of its own has its own.
 */
export class RunMailbox {
  #run: Run;
  /** The run as the store has it. */
  #stored: Run;
  /** The hash of the last stored event. */
  #head: Uint8Array;
  /** The results with which the run has moved on, and which the store does not have yet. */
  #ahead: Batch | null = null;
  /** Callers that wait until the store has all results. */
  readonly #storing: Waiter[] = [];
  /** The caller that waits for the acceptance of a new run. Null: the store has the run. */
  #accepting: Waiter | null = null;
  readonly #epoch: Epoch | null;
  readonly #ports: JournalPorts;
  readonly #journal: JournalCodec;
  readonly #terms: EntryTerms;
  readonly #listener: MailboxOwner | null;
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
  /** A timer is set that offers outcomes and results to a store that failed. */
  #isOffering = false;
  #stopped = false;
  /** Set if this worker never held its new run: another worker may hold the same epoch, so nothing more is sent. */
  #neverHeld: FencedError | null = null;

  constructor(ports: JournalPorts, state: LoadedRun, epoch: Epoch | null, listener: MailboxOwner | null = null) {
    this.#ports = ports;
    this.#run = state.run;
    this.#stored = state.run;
    this.#head = state.head;
    this.#synced = state.run.position;
    this.#epoch = epoch;
    this.#listener = listener;
    this.#journal = new JournalCodec(state.run.tenant, state.run.id);
    const showsResult: MailboxOwner["showsResult"] = (after, events) => listener?.showsResult(after, events) === true;
    this.#terms = { epoch, durability: ports.durability, showsResult };
  }

  get run(): Run {
    return this.#run;
  }

  /** The run without the results that the store does not have yet. */
  get storedRun(): Run {
    return this.#stored;
  }

  get durablePosition(): number {
    return this.#onDisk;
  }

  /** The run and its head, from which another mailbox can continue. */
  get loaded(): LoadedRun {
    return { run: this.#stored, head: this.#head };
  }

  /** True if the run has moved on with results that the store does not have yet. */
  get isAhead(): boolean {
    return this.#run !== this.#stored;
  }

  /** Resolves when the store has all results. Null: it has them. */
  storeResults(): Promise<void> | null {
    if (this.#neverHeld !== null) return Promise.reject(this.#neverHeld);
    if (!this.isAhead) return null;
    return new Promise((resolve, reject) => {
      this.#storing.push({ resolve, reject });
      this.#storeAhead();
    });
  }

  /** False if the store does not have the acceptance of the run yet, or this worker never got its lease. */
  get isAccepted(): boolean {
    return this.#accepting === null && this.#neverHeld === null;
  }

  /**
   * Decides the acceptance of a new run and moves the run on with it. It is stored with the first entry of the run, at
   * the latest at the end of this turn. Resolves then; rejects if the run was not accepted.
   */
  accept(make: MakeCommand): Promise<void> {
    const before = this.#run;
    const decision = decide(before, make(before), this.#ports.rules);
    this.#ahead = { commands: [], decisions: [decision], events: [...decision.events], before, after: decision.after };
    this.#run = decision.after;
    this.#ports.endOfTurn(this.#storeAhead);
    return new Promise((resolve, reject) => {
      this.#accepting = { resolve, reject };
    });
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
    if (this.#accepting !== null || !this.isAhead) return; // A new run is accepted, and another worker continues it.
    this.#settleAhead(new FencedError("the run was released before its results were stored"));
  }

  /** Reads the events that other processes have appended. */
  async refresh(): Promise<void> {
    if (this.#ahead !== null) return this.#storeAhead(); // Its append finds them.
    if (this.#busy) return; // So does the append in flight.
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
    if (this.#neverHeld !== null) for (const queued of this.#queue.splice(0)) queued.refuse(this.#neverHeld);
    if (this.#busy || this.#queue.length === 0) return;
    const batch = decideBatch(this.#queue, this.#run, this.#ports.rules);
    if (batch === null) return;
    if (this.#mayMoveOn(batch)) this.#moveOn(batch);
    else void this.#append(batch);
  }

  /** Outcomes that wait for the store come first, and with durability "every" each step waits for its result. */
  #mayMoveOn(batch: Batch): boolean {
    if (this.#epoch === null || this.#listener === null || this.#ports.durability === "every") return false;
    if (this.#unwritten.length > 0 || this.#isOffering) return false;
    const count = (this.#ahead?.events.length ?? 0) + batch.events.length;
    return count <= RESULTS_AHEAD_MAX && mayRunAhead(batch) && !this.#listener.showsResult(batch.after, batch.events);
  }

  /**
   * Moves the run on with plain results. They are stored at the end of this turn of the event loop, or before that with
   * the next entry, as its first events: no other fact is stored before the results that it may rest on.
   */
  #moveOn(batch: Batch): void {
    if (this.#ahead === null) this.#ports.endOfTurn(this.#storeAhead);
    this.#ahead = joinBatches(this.#ahead, batch);
    this.#run = batch.after;
    this.#listener?.onMovedOn(readyIndices(batch));
    for (const [index, queued] of batch.commands.entries()) queued.answer(batch.decisions[index] as Decision);
    this.#work();
  }

  readonly #storeAhead = () => {
    if (this.#ahead === null || this.#busy || this.#isOffering) return;
    this.#ports.failpoint("results.before");
    void this.#append(null);
  };

  /** Appends a batch, after the results with which the run has moved on. Null: only these. */
  async #append(batch: Batch | null): Promise<void> {
    this.#busy = true;
    const ahead = this.#ahead;
    this.#ahead = null;
    const sent = joinBatches(ahead, batch);
    try {
      const { entry, head, blobs } = makeEntry(this.#journal, this.#head, sent, this.#terms);
      for (const { hash, bytes } of blobs) await this.#ports.store.putBlob(entry.tenant, hash, bytes);
      if (this.#accepting !== null) this.#ports.failpoint("accept.before");
      const appending = appendTimed(this.#ports, entry);
      const claimed = this.#accepting === null || !needsWorker(sent.after) || (await this.#claimWith(appending));
      const landing = await appending;
      if (landing.landed) this.#landed(sent, batch, head, entry.flush, claimed);
      else await this.#rejected(ahead, batch, landing);
    } catch (error) {
      const isBatchRefused = batch !== null && error instanceof ConditionFailedError;
      if (this.#accepting === null || isBatchRefused) this.#failed(ahead, batch, error);
      else this.#notAccepted(this.#accepting, batch, error);
    }
    this.#busy = false;
    this.#work();
  }

  /** Claims the new run. The claim joins the transaction of the append, which is not sent yet. */
  async #claimWith(appending: Promise<AppendResult>): Promise<boolean> {
    const claiming = this.#listener?.claimAccepted() ?? false;
    await appending.catch(() => {}); // Its error is handled with its result.
    return claiming;
  }

  #landed(sent: Batch, batch: Batch | null, head: Uint8Array, flush: Entry["flush"], claimed: boolean): void {
    this.#run = sent.after;
    this.#stored = sent.after;
    shareCommittedState(this.#ports.projects, sent);
    if (flush === "hard") {
      this.#onDisk = sent.after.position;
      this.#synced = this.#onDisk;
    }
    this.#head = head;
    this.#ports.observers.onAppended(sent.after, sent.events, flush === "hard");
    this.#accepting?.resolve();
    this.#accepting = null;
    if (!claimed) this.#neverHeld = new FencedError("another worker claimed the new run");
    if (this.#neverHeld !== null) throw this.#neverHeld;
    this.#answering = true;
    this.#settleAhead(null);
    // The listener knows the results with which the run has moved on.
    this.#listener?.onAppended(batch?.events ?? NONE, batch === null ? NONE : readyIndices(batch));
    if (batch !== null)
      for (const [index, queued] of batch.commands.entries()) queued.answer(batch.decisions[index] as Decision);
    this.#answering = false;
  }

  /** Answers the callers that wait until the store has all results. An error: it does not get them. */
  #settleAhead(error: unknown): void {
    if (error !== null) this.#ahead = null;
    if (this.#storing.length === 0) return;
    for (const { resolve, reject } of this.#storing.splice(0)) error === null ? resolve() : reject(error);
  }

  /** Reacts to an entry whose condition failed. */
  async #rejected(ahead: Batch | null, batch: Batch | null, landing: AppendResult & { landed: false }): Promise<void> {
    switch (landing.why) {
      case "epoch":
        throw new FencedError("another worker holds the run now");
      case "position":
        // The store lost events that were not synced. It is right: this process continues as after a crash.
        if (landing.position < this.#stored.position && landing.position >= this.#synced) {
          this.#ports.projects.markAllStale();
          throw new FencedError("the store has lost events that it had not synced");
        }
        if (this.#accepting !== null || !(await this.#catchUp()))
          throw this.#journal.chainBrokenError(landing.position);
        if (batch !== null) this.#queue.unshift(...batch.commands);
        if (ahead !== null) this.#queue.unshift(...answeredCommands(ahead)); // Decided again on the new events.
        return;
      case "row":
        assert(batch !== null, "plain results have no conditions");
        this.#keepAhead(ahead);
        this.#queue.unshift(...(await commandsAfterRefusal(this.#ports, this.#run, batch, landing)));
        return;
      default:
        this.#keepAhead(ahead);
        throw new ConditionFailedError(landing);
    }
  }

  /** Keeps results that were not stored, because the store refused the batch that they were sent with. */
  #keepAhead(ahead: Batch | null): void {
    if (ahead === null) return;
    this.#ahead = ahead;
    this.#ports.endOfTurn(this.#storeAhead);
  }

  /** Reads the events that other processes have appended. Returns false if there are none. */
  async #catchUp(): Promise<boolean> {
    const found = await readNewEvents(this.#journal, this.#ports.store, this.loaded);
    if (found === null) return false;
    this.#stored = found.run;
    this.#run = found.run; // Results with which it had moved on are decided again.
    this.#head = found.head;
    this.#synced = found.run.position; // Appends without a lease are hard, and sync everything before them.
    this.#listener?.onAppended(found.events, found.fresh);
    return true;
  }

  /** Nothing was written. Outcomes wait until the store works again; all other commands fail. */
  #failed(ahead: Batch | null, batch: Batch | null, error: unknown): void {
    const commands = batch?.commands ?? [];
    const unwritten = isStoreFault(error) ? commands.filter((queued) => queued.mustLand) : [];
    for (const queued of commands) if (!unwritten.includes(queued)) queued.refuse(error);
    if (error instanceof FencedError) for (const queued of this.#queue.splice(0)) queued.refuse(error);
    if (ahead !== null && !(error instanceof ConditionFailedError)) this.#aheadFailed(ahead, error);
    if (unwritten.length === 0) return;
    const waiting = this.#queue.splice(0);
    this.#queue.push(...waiting.filter(({ mustLand }) => !mustLand));
    this.#unwritten.push(...unwritten, ...waiting.filter(({ mustLand }) => mustLand));
    this.#offerLater(error);
  }

  /** Nothing of the new run is on record, and its submitter is told so. */
  #notAccepted(accepting: Waiter, batch: Batch | null, error: unknown): void {
    this.#accepting = null;
    accepting.reject(error);
    this.#neverHeld = new NotAcceptedError("the store did not take the new run");
    for (const queued of batch?.commands ?? NONE) queued.refuse(this.#neverHeld);
    this.#settleAhead(this.#neverHeld);
    this.#listener?.fail(this.#neverHeld);
  }

  /** The store may take the results later. After any other error they are lost, as in a crash. */
  #aheadFailed(ahead: Batch, error: unknown): void {
    if (isStoreFault(error) && !this.#stopped) {
      this.#ahead = ahead;
      this.#offerLater(error);
      return;
    }
    this.#settleAhead(error);
    this.#listener?.fail(error);
  }

  #offerLater(error: unknown): void {
    this.#listener?.onStalled(error);
    if (this.#isOffering) return;
    this.#isOffering = true;
    this.#ports.timers.after(waitTimes.outcomeRetryMs, () => this.#offerAgain());
  }

  #offerAgain(): void {
    this.#isOffering = false;
    const unwritten = this.#unwritten.splice(0);
    if (this.#stopped) {
      for (const queued of unwritten)
        queued.refuse(new FencedError("the run was released before the store worked again"));
      return;
    }
    this.#queue.unshift(...unwritten);
    this.#work();
    this.#storeAhead();
  }
}

const NONE: readonly never[] = [];
