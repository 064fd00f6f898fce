import type { Event } from "../../core/event/event.ts";
import { hasUnfinishedTurn } from "../../core/run/model-steps.ts";
import { isRollbackDue } from "../../core/run/rollback-progress.ts";
import { findStep, getStep, isRunning, type Run, runStateKey, type Step } from "../../core/run/run.ts";
import { type RunResult, runResult } from "../../core/run/run-result.ts";
import { stepWakeAt } from "../../core/run/run-wakeups.ts";
import type { Claim } from "../../core/store/store.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import type { StepId } from "../../core/values/ids.ts";
import { actAttempt } from "../call/acts-in-flight.ts";
import type { CallContext } from "../call/call-context.ts";
import { NoticeDelivery } from "../call/notice-delivery.ts";
import { FencedError, isEngineClosed, isStoreFault, NotAcceptedError } from "../journal/append-errors.ts";
import type { LoadedRun } from "../journal/load-run.ts";
import type { MailboxOwner } from "../journal/mailbox-owner.ts";
import { RunMailbox } from "../journal/run-mailbox.ts";
import { NEXT_MICROTASK } from "../ports/next-microtask.ts";
import { AwaitedCalls } from "./awaited-calls.ts";
import { DoubtSettler, doubtLookIn } from "./doubt-settler.ts";
import { abandonIfIdle, askForNextUndo, continueStepsOfTools, findRecovery } from "./find-recovery.ts";
import type { HandlerSlots } from "./handler-slots.ts";
import type { LeasedRunOwner } from "./leased-run-owner.ts";
import { RecordedActConfirmer } from "./recorded-act-confirmer.ts";
import { restoreForLostWorker } from "./restore-for-lost-worker.ts";
import { ResultWaiters } from "./result-waiters.ts";
import { RunningHandlers } from "./running-handlers.ts";
import { StepAlarms } from "./step-alarms.ts";
import { StepScheduler } from "./step-scheduler.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/**
 * A run that this worker has leased. Routes each committed event to the scheduler, the alarms, the doubt settler and
 * the deliveries, until the run has no more work.
 */
export class LeasedRun implements MailboxOwner {
  readonly claim: Claim;
  readonly mailbox: RunMailbox;
  readonly calls = new AwaitedCalls();
  readonly #ports: WorkerPorts;
  readonly #scheduler: StepScheduler;
  readonly #handlers: RunningHandlers;
  readonly #settler: DoubtSettler;
  readonly #confirmer: RecordedActConfirmer;
  readonly #alarms: StepAlarms;
  readonly #deliveries: NoticeDelivery;
  readonly #owner: LeasedRunOwner;
  readonly #waiters = new ResultWaiters();
  readonly #idle: (() => void)[] = [];
  #begun = false;
  #beginning: Promise<unknown> | null = null;
  /** The number of handles that keep an open run leased while no call runs. */
  #keepers = 0;
  #isRecordingRelease = false;
  /** The error of the store, while it cannot take an outcome. */
  #stalled: { readonly error: unknown } | null = null;
  #released = false;

  constructor(ports: WorkerPorts, slots: HandlerSlots, loaded: LoadedRun, claim: Claim, owner: LeasedRunOwner) {
    this.#ports = ports;
    this.claim = claim;
    this.#owner = owner;
    this.mailbox = new RunMailbox(ports, loaded, claim.epoch, this);
    const context = this.#context();
    this.#scheduler = new StepScheduler(context, slots);
    this.#handlers = new RunningHandlers(context);
    this.#settler = new DoubtSettler(context, ports, (step) => this.#handlers.isOverdue(step));
    this.#confirmer = new RecordedActConfirmer(context);
    this.#alarms = new StepAlarms(ports);
    this.#deliveries = new NoticeDelivery(context);
  }

  #context(): CallContext {
    return {
      ports: this.#ports,
      claim: this.claim,
      mailbox: this.mailbox,
      childRuns: this.#owner.childRuns,
      loadedAt: this.#owner.loadedAt,
      callsStarted: () => this.#scheduler.callsStarted,
      inFlight: (calls) => this.#scheduler.inFlight(calls),
      confirmActs: (acts) => this.#confirmer.confirm(acts),
      givenWith: (step) => this.calls.givenWith(step),
      hostBegins: (step) => this.calls.hostBegins(step),
      handlerStarted: (owner, handler) => this.#handlers.add(owner, handler),
      attemptEnded: (owner) => this.#handlers.endAttempt(owner),
      handlerReturned: (grant, late) => this.#handlers.remove(grant, late),
      reportReturn: (grant) => this.#owner.onReturn(actAttempt(this.run, grant)),
      deliver: (notices) => this.#deliveries.deliver(notices),
      schedule: (step) => this.#schedule(step),
      isReleased: () => this.#released,
      require: (work) => this.#require(work),
      lose: (error) => this.#lose(error),
      releaseIfAtRest: () => this.#releaseIfAtRest(),
    };
  }

  /** The position of the run when this process first loaded it. */
  get loadedAt(): number {
    return this.#owner.loadedAt;
  }

  get run(): Run {
    return this.mailbox.run;
  }

  /** The number of calls that have entered the road so far. */
  get callsStarted(): number {
    return this.#scheduler.callsStarted;
  }

  /** Returns the steps in flight without a `step.started` event, of the first `calls` calls. */
  inFlight(calls: number): readonly StepId[] {
    return this.#scheduler.inFlight(calls);
  }

  /** Recovers the run and continues it. Resolves when it is recovered, or lost before that. */
  begin(): Promise<unknown> {
    this.#beginning ??= this.#require(this.#recover());
    return this.#beginning;
  }

  /** True if this worker no longer holds the run. */
  get isReleased(): boolean {
    return this.#released;
  }

  /** Keeps an open run leased while no call runs, until `unkeep`. */
  keep(): void {
    this.#keepers += 1;
  }

  unkeep(): void {
    this.#keepers -= 1;
    this.#releaseIfAtRest();
  }

  /** Stops the handler of a call, unless it acts and its tool does not stop safely: it would be in doubt. */
  stopCall(step_id: StepId, why: Fault): void {
    this.#handlers.stopCall(step_id, why);
  }

  async #recover(): Promise<void> {
    this.#ports.projects.markUnwatchedStale(this.run.tenant, runStateKey(this.run));
    await restoreForLostWorker(this.#ports, this.mailbox);
    const recovery = await findRecovery(this.#ports, this.run, this.claim, this.#owner.hasFailed);
    if (recovery !== null) {
      this.#ports.failpoint("recover.before");
      await this.mailbox.ask(() => ({ type: "recover", now: this.#ports.clock.now(), ...recovery }));
      this.#ports.failpoint("recover.after");
    }
    if (this.run.driven)
      await this.#recordRelease(); // The worker that drove the run is gone.
    else if (!this.isKept) await abandonIfIdle(this.#ports, this.mailbox);
    this.#begun = true;
    this.#scheduleAll();
    this.#continueRollback();
    this.#deliveries.deliver();
    this.#scheduler.advance();
    this.#releaseIfAtRest();
  }

  /** Continues the steps that waited for a tool that this worker has now. */
  async onToolsPut(): Promise<void> {
    if (this.#begun && !this.#released) await this.#require(continueStepsOfTools(this.#ports, this.mailbox));
  }

  /** Resolves with the result at rest, or with null if another worker holds the run. Rejects if this worker failed. */
  rest(): Promise<RunResult | null> {
    if (this.#released) return Promise.resolve(null);
    if (this.#stalled !== null) return Promise.reject(this.#stalled.error);
    return this.#isAtRest() ? Promise.resolve(runResult(this.run)) : this.#waiters.wait();
  }

  /** The run cannot be read any more, or its results cannot be stored. */
  fail(error: unknown): void {
    this.#lose(error);
  }

  /** The lease could not be renewed: another worker holds the run. */
  fence(): void {
    this.#lose(new FencedError("the lease was lost"));
  }

  /**
   * Releases the run for another worker that asks for it, if nothing of it is under way here. A step that waits for a
   * free slot, a doubt or a notice that waits for its next try can go on elsewhere.
   */
  handOver(): boolean {
    const isBusy = this.#underWay() + this.#handlers.size + this.#deliveries.underWay > 0 || !this.mailbox.isIdle;
    if (this.#released || !this.#begun || this.#stalled !== null || isBusy || this.calls.isInUse) return false;
    if (this.isKept && hasUnfinishedTurn(this.run)) return false; // Its loop is between two calls.
    this.#leave();
    this.#ports.failpoint("handover.before");
    this.#waiters.resolveWithNone();
    this.#owner.onEnd("rested");
    return true;
  }

  /** Starts no more calls, waits for running handlers and notices in delivery, and releases the run. */
  drain(): Promise<void> {
    this.#deliveries.drain();
    // A store that failed may never take the outcomes, so closing does not wait for them.
    return this.#finish(() => (this.#stalled === null ? this.#underWay() + this.#deliveries.underWay : 0));
  }

  async #finish(inFlight: () => number): Promise<void> {
    this.#scheduler.stop();
    while (!this.#released && inFlight() > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    if (this.#stalled === null && !this.#released) await this.#recordRelease().catch(() => {});
    if (this.#released) return;
    this.#leave();
    this.#waiters.resolveWithNone();
    this.#owner.onEnd("rested");
  }

  onStalled(error: unknown): void {
    this.#stalled = { error };
    this.#waiters.reject(error);
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  onAppended(events: readonly Event[], fresh: readonly number[]): void {
    this.#stalled = null;
    for (const index of fresh) this.#scheduler.ready(index);
    for (const event of events) this.#follow(event);
    this.#continueRollback();
    this.calls.follow(events, this.run);
    this.#owner.onProgress();
    this.#scheduler.advance();
    void NEXT_MICROTASK.then(this.#checkRest);
  }

  #continueRollback(): void {
    if (this.#begun && isRollbackDue(this.run)) void this.#require(askForNextUndo(this.#ports, this.mailbox));
  }

  claimAccepted(): Promise<boolean> {
    return this.#released ? Promise.resolve(false) : this.#ports.leases.claimNew(this.claim);
  }

  onMovedOn(fresh: readonly number[]): void {
    for (const index of fresh) this.#scheduler.ready(index);
    this.#scheduler.advance();
  }

  readonly #checkRest = () => this.#releaseIfAtRest();
  showsResult(after: Run, events: readonly Event[]): boolean {
    return after.plan === null && after.open ? this.calls.tells(events, after) : this.#showsDoubts(after);
  }

  /** True if only handlers of acts in doubt still run. */
  #showsDoubts(after: Run): boolean {
    const { moving, retrying } = after.paces;
    return retrying === 0 && moving <= this.#handlers.size && moving === this.#handlers.overdueDoubts(after);
  }

  /** Reacts to a committed event. The scheduler has the steps that it made ready. */
  #follow(event: Event): void {
    // The call itself dispatches the notices of its success.
    if ("notices" in event && event.type !== "step.succeeded") this.#deliveries.deliver(event.notices);
    switch (event.type) {
      case "step.started":
      case "step.failed":
      case "step.parked":
      case "step.doubted":
      case "step.probed":
      case "gate.opened": {
        const step = findStep(this.run, event.step_id);
        if (step !== undefined && step.standing.state !== "ready") this.#schedule(step);
        break;
      }
      case "gate.escalated": {
        const gate = this.run.gates.get(event.gate_id);
        if (gate !== undefined) this.#schedule(getStep(this.run, gate));
        break;
      }
      case "run.resumed":
        this.#scheduleAll(); // Parked steps are not among those that became ready.
        break;
      case "run.closed":
        this.#handlers.abortReads((step_id) => fault("CANCELLED", `${step_id} was stopped: the run was closed`));
        break;
      case "cancel.requested":
        this.#handlers.abortAll((step_id) =>
          fault("CANCELLED", `${step_id} was cancelled: ${event.reason || "no reason given"}`),
        );
        break;
    }
  }

  #scheduleAll(): void {
    for (const step of this.run.steps) this.#schedule(step);
  }

  #schedule(step: Step): void {
    if (this.run.parked !== null) return; // Its next call may be the one that kills its workers.
    const { standing, spec } = step;
    if (standing.state === "ready") this.#scheduler.ready(step.index);
    if (standing.state === "in_doubt" && standing.doubt.next.do === "settle") void this.#settler.settle(spec.step_id);
    const at = stepWakeAt(this.run, step);
    if (at === null) return;
    const lookIn = doubtLookIn(this.#ports, this.run.id, step);
    const wake = () => this.#wake(this.run.steps.get(step.index));
    // If it is due, at once: a run that only waits is at rest, and would be released before the alarm.
    if (at <= this.#ports.clock.now() || lookIn === 0) this.#wake(step);
    else if (lookIn !== null) this.#alarms.setAfter(spec.step_id, lookIn, wake);
    else this.#alarms.set(spec.step_id, at, wake);
  }

  /** The clock was set: times have come earlier or later than the alarms expect. */
  resetAlarms(): void {
    this.#alarms.reset();
  }

  #wake({ standing, spec: { step_id }, index }: Step): void {
    if (standing.state === "waiting_approval") return void this.#settler.expire(step_id, standing.gate_id);
    if (standing.state === "in_doubt") return void this.#settler.settle(step_id);
    // The alarm of an earlier wait may find the step at work. Only work of a host ends by an alarm.
    if (standing.state === "running") return void (standing.until !== undefined && this.#settler.endHostWork(step_id));
    this.#scheduler.ready(index);
    this.#scheduler.advance();
  }

  #underWay(): number {
    return this.#scheduler.size + this.#settler.size + Number(this.mailbox.isAhead || isRollbackDue(this.run));
  }

  #isAtRest(): boolean {
    if (!this.#begun) return false; // Recovery may still make steps ready.
    if (this.#underWay() > 0) return false;
    if (isRunning(this.run) && !this.#showsDoubts(this.run)) return false;
    // A step whose wait is over may still wait for a handler slot. A release would only let another worker claim the run.
    return this.run.ended !== null || this.run.parked !== null || !this.#scheduler.hasDueSteps;
  }

  #releaseIfAtRest(): void {
    if (this.#idle.length > 0) for (const resolve of this.#idle.splice(0)) resolve();
    if (this.#released || !this.#isAtRest()) return;
    this.#waiters.resolve(() => runResult(this.run));
    // A late output may come, a notice is not delivered, or a host that began here works.
    if (this.#handlers.size > 0 || this.#deliveries.busy || this.isKept || this.calls.hasHostAtWork) return;
    if (this.run.open && this.run.driven) {
      if (!this.#isRecordingRelease) void this.#require(this.#recordRelease().then(this.#checkRest));
      return;
    }
    this.#leave();
    this.#ports.failpoint("release.before");
    this.#owner.onEnd("rested");
  }

  /** True if a handle keeps the open run leased. */
  get isKept(): boolean {
    return this.#keepers > 0 && this.run.open && this.run.parked === null;
  }

  /** Records that no worker drives the open run any more, so that it is due only for its timers. */
  async #recordRelease(): Promise<void> {
    if (this.#isRecordingRelease || !this.run.open || !this.run.driven) return;
    this.#isRecordingRelease = true;
    try {
      const answers = this.calls.takeHandedOver();
      const by = this.claim.worker;
      await this.mailbox.ask(() => ({ type: "release", now: this.#ports.clock.now(), by, answers }));
    } finally {
      this.#isRecordingRelease = false;
    }
  }

  #require(work: Promise<unknown>): Promise<unknown> {
    return work.catch((error) => this.#lose(error));
  }

  /**
   * Ends the lease because of an error. If another worker holds the run, aborts the handlers and writes nothing more.
   */
  #lose(error: unknown): void {
    if (this.#released || isEngineClosed(error)) return; // A closing engine drains and releases the run.
    const fenced = error instanceof FencedError;
    this.calls.fail(error);
    if (fenced) this.#waiters.resolveWithNone();
    else this.#waiters.reject(error);
    if (isStoreFault(error)) {
      // The store may recover, and calls in flight have outcomes to record. Recovery before that would doubt them.
      void this.#finish(() => this.#underWay() + this.#handlers.size);
      return;
    }
    this.#leave();
    if (fenced) this.#handlers.abortAll(() => fault("CANCELLED", "another worker holds the run"));
    this.#owner.onEnd(error instanceof NotAcceptedError ? "rested" : fenced ? "fenced" : "failed");
  }

  #leave(): void {
    this.#released = true;
    this.calls.end();
    this.mailbox.stop();
    this.#scheduler.stop();
    this.#alarms.clear();
    this.#deliveries.stop();
  }
}
