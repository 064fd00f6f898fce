import type { Found, Grant } from "../core/command.ts";
import type { Event } from "../core/event.ts";
import { fault } from "../core/fault.ts";
import type { GateId, Instant, StepId } from "../core/id.ts";
import { type RunResult, resultOf } from "../core/result.ts";
import { findStep, type Run, type Step, statusOf, wakeAt } from "../core/run.ts";
import type { Claim } from "../core/store.ts";
import { Deliveries } from "./deliveries.ts";
import type { Execution, Running } from "./execute.ts";
import { IndexQueue } from "./index-queue.ts";
import { Fenced, isStoreFault, type Listener, type Loaded, Mailbox } from "./mailbox.ts";
import type { Ports } from "./ports.ts";
import type { Slots } from "./slots.ts";
import { look } from "./verify.ts";
import { end, type Way, walk } from "./walk.ts";

/** How a hold on a run ended: it came to rest, or it was lost. */
export type HoldEnd = { readonly kind: "rested" } | { readonly kind: "lost"; readonly error: unknown };

/** Whoever keeps the holds wants to know how each fares. */
export interface Keeper {
  progressed(): void;
  over(end: HoldEnd): void;
}

interface Waiter {
  readonly resolve: (result: RunResult | null) => void;
  readonly reject: (error: unknown) => void;
}

/** A run that this worker holds: its mailbox, its ready steps, its handlers and its alarms, until it comes to rest. */
export class HeldRun implements Listener {
  readonly claim: Claim;
  readonly mailbox: Mailbox;
  readonly #ports: Ports;
  readonly #slots: Slots;
  readonly #way: Way;
  readonly #ready = new IndexQueue();
  /** Steps that are somewhere on the road, by index. */
  readonly #walking = new Set<number>();
  /** Handlers that run here: one for each attempt, and an attempt can outlive the next. */
  readonly #handlers = new Map<Grant, Running>();
  /** Steps whose doubt is being settled or whose gate is being closed. */
  readonly #settling = new Set<StepId>();
  readonly #alarms = new Map<string, () => void>();
  readonly #waiters: Waiter[] = [];
  readonly #deliveries: Deliveries;
  readonly #keeper: Keeper;
  readonly #idle: (() => void)[] = [];
  #begun = false;
  #draining = false;
  /** Why the store takes nothing at the moment, though an outcome is in hand. */
  #stalled: { readonly error: unknown } | null = null;
  #gone = false;

  constructor(ports: Ports, slots: Slots, loaded: Loaded, claim: Claim, keeper: Keeper) {
    this.#ports = ports;
    this.#slots = slots;
    this.claim = claim;
    this.#keeper = keeper;
    this.mailbox = new Mailbox(ports, loaded, claim.epoch, this);
    this.#deliveries = new Deliveries(ports, this.mailbox, () => this.#restIfDone());
    this.#way = {
      ports,
      claim,
      mailbox: this.mailbox,
      inFlight: () => this.#inFlight(),
      began: (grant, running) => void this.#handlers.set(grant, running),
      over: (grant) => this.#over(grant),
      gone: (grant, late) => void this.#leaves(grant, late),
    };
  }

  get run(): Run {
    return this.mailbox.run;
  }

  /** Takes the run up where it was left. */
  async begin(): Promise<void> {
    try {
      const found = await this.#found();
      if (found.length > 0) {
        this.#ports.failpoint("recover.before");
        await this.mailbox.ask({ type: "recover", now: this.#ports.clock.now(), found });
        this.#ports.failpoint("recover.after");
      }
      this.#begun = true;
      for (const step of this.run.steps) this.#attend(step);
      this.#deliveries.deliver();
      this.#advance();
      this.#restIfDone();
    } catch (error) {
      this.#lose(error);
    }
  }

  /** What the last holder left under way, and what waited for a tool that is here now. */
  async #found(): Promise<readonly Found[]> {
    const { store, toolbox } = this.#ports;
    const { tenant, id } = this.run;
    const found: Found[] = [];
    for (const { standing, spec, pin, act } of this.run.steps) {
      const parked = standing.state === "waiting" && standing.on.for === "tool";
      if (standing.state !== "running" && standing.state !== "in_doubt" && !parked) continue;
      const tool = toolbox.mismatch(spec.name, pin) === null ? toolbox.facts(spec.name) : null;
      const called = standing.state === "running" && act !== null;
      const mark = called ? await store.marked(tenant, id, spec.step_id, act.attempt, act.boot) : "unknown";
      found.push({ step_id: spec.step_id, mark, tool });
    }
    return found;
  }

  /** Resolves with the result at rest; with null if the run went to another worker; rejects if it could not go on here. */
  rest(): Promise<RunResult | null> {
    if (this.#gone) return Promise.resolve(null);
    if (this.#stalled !== null) return Promise.reject(this.#stalled.error);
    return this.#isAtRest()
      ? Promise.resolve(resultOf(this.run))
      : new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** The run cannot be read any more. */
  fail(error: unknown): void {
    this.#lose(error);
  }

  /** Another worker has the run: the lease could not be renewed. */
  fence(): void {
    this.#lose(new Fenced("the lease was lost"));
  }

  /** Starts nothing more, lets the handlers come to their end, and leaves the run to the next worker. */
  drain(): Promise<void> {
    // A store that has failed may never take what is in hand; closing does not wait for it.
    return this.#letGo(() => (this.#stalled === null ? this.#walking.size + this.#settling.size : 0));
  }

  async #letGo(inFlight: () => number): Promise<void> {
    this.#draining = true;
    while (!this.#gone && inFlight() > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    if (this.#gone) return;
    this.#leave();
    for (const { resolve } of this.#waiters.splice(0)) resolve(null);
    this.#keeper.over({ kind: "rested" });
  }

  stalled(error: unknown): void {
    this.#stalled = { error };
    for (const { reject } of this.#waiters.splice(0)) reject(error);
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  landed(events: readonly Event[], { fresh }: { readonly fresh: readonly number[] }): void {
    this.#stalled = null;
    for (const index of fresh) this.#ready.push(index);
    for (const event of events) this.#follow(event);
    this.#keeper.progressed();
    this.#advance();
    queueMicrotask(() => this.#restIfDone());
  }

  /** What an event asks of whoever holds the run, beyond what is ready. */
  #follow(event: Event): void {
    switch (event.type) {
      case "step.failed":
      case "step.parked":
      case "step.doubted":
      case "step.probed":
      case "gate.opened": {
        const step = findStep(this.run, event.step_id);
        if (step !== undefined && step.standing.state !== "ready") this.#attend(step);
        break;
      }
      case "step.succeeded":
        if (event.notices !== undefined) this.#deliveries.deliver();
        break;
      case "cancel.requested":
        for (const [{ step_id }, running] of this.#handlers)
          running.abort(fault("CANCELLED", `${step_id} was cancelled: ${event.reason || "no reason given"}`));
        break;
    }
  }

  /** Sees to it that a step's next move happens when it can. */
  #attend(step: Step): void {
    const { standing, spec } = step;
    if (standing.state === "ready") this.#ready.push(step.index);
    if (standing.state === "in_doubt" && standing.doubt.next.do === "settle") void this.#settle(spec.step_id);
    const at = wakeAt(this.run, step);
    if (at === null) return;
    // At once, if it is time: a run that only waits is at rest, and would be let go before an alarm could ring.
    if (at <= this.#ports.clock.now()) this.#wake(step);
    else this.#alarm(step, at);
  }

  #alarm({ spec, index }: Step, at: Instant): void {
    this.#alarms.get(spec.step_id)?.();
    const ring = () => {
      this.#alarms.delete(spec.step_id);
      if (this.#gone) return;
      if (this.#ports.clock.now() < at) this.#alarm(this.run.steps.get(index), at);
      else this.#wake(this.run.steps.get(index));
    };
    this.#alarms.set(spec.step_id, this.#ports.timers.after(Math.max(0, at - this.#ports.clock.now()), ring));
  }

  #wake(step: Step): void {
    const { standing } = step;
    if (standing.state === "waiting_approval") {
      void this.#expire(step.spec.step_id, standing.gate_id);
    } else if (standing.state === "in_doubt") {
      void this.#settle(step.spec.step_id);
    } else {
      this.#ready.push(step.index);
      this.#advance();
    }
  }

  /** Nobody decided in time. */
  async #expire(step_id: StepId, gate_id: GateId): Promise<void> {
    this.#settling.add(step_id);
    await this.#keeping(this.mailbox.ask({ type: "expire", now: this.#ports.clock.now(), gate_id }));
    this.#settling.delete(step_id);
    this.#restIfDone();
  }

  /** Starts what is ready, as far as there is room. */
  #advance(): void {
    const busy: number[] = [];
    while (this.#ready.size > 0 && !this.#gone && !this.#draining) {
      if (!this.#slots.take(this.#whenFree)) break;
      const index = this.#ready.pop() as number;
      if (this.#walking.has(index)) {
        busy.push(index);
        this.#slots.give();
      } else {
        void this.#walk(index);
      }
    }
    for (const index of busy) this.#ready.push(index);
  }

  readonly #whenFree = () => this.#advance();

  async #walk(index: number): Promise<void> {
    this.#walking.add(index);
    const step = this.run.steps.get(index);
    try {
      await walk(this.#way, step);
    } catch (error) {
      this.#lose(error);
    } finally {
      this.#walking.delete(index);
      this.#slots.give();
      this.#advance();
      this.#restIfDone();
    }
  }

  #over(grant: Grant): void {
    if (grant.generation === 0) this.#handlers.delete(grant); // Nobody wants the late value of a read.
  }

  async #leaves(grant: Grant, late: Execution | null): Promise<void> {
    if (late !== null && !this.#gone) await this.#keeping(this.#adopt(grant, late));
    this.#handlers.delete(grant); // Not before its value is recorded: until then the run is not let go.
    if (late === null) return; // It was heard; what follows, follows from the event.
    const step = findStep(this.run, grant.step_id);
    if (step?.standing.state === "in_doubt" && !this.#gone) this.#attend(step);
    this.#restIfDone();
  }

  /** A value of an act that came after its timeout is adopted or kept; anything else says only when the handler was last alive. */
  async #adopt(grant: Grant, late: Execution): Promise<void> {
    const step = findStep(this.run, grant.step_id);
    if (step === undefined || grant.generation === 0) return;
    const { ending } = late;
    const heard = ending.how === "value" ? ending : ({ how: "unheard", fault: ending.fault } as const);
    await end(this.#way, step, grant, { ...late, ending: heard });
  }

  /** Settles an act in doubt without a person, as far as that goes. */
  async #settle(step_id: StepId): Promise<void> {
    if (this.#settling.has(step_id) || this.#isOverdue(step_id) || this.#gone) return;
    this.#settling.add(step_id);
    await this.#keeping(this.#look(step_id));
    this.#settling.delete(step_id);
    this.#restIfDone();
  }

  async #look(step_id: StepId): Promise<void> {
    const step = findStep(this.run, step_id);
    if (step?.standing.state !== "in_doubt") return;
    this.#ports.failpoint("settle.before");
    const seen = step.standing.doubt.exits.verify ? await look(this.#ports, this.run, step) : null;
    const { sighting, flaw } = seen ?? { sighting: null, flaw: null };
    await this.mailbox.ask({
      type: "settle",
      now: this.#ports.clock.now(),
      step_id,
      sighting,
      flaw,
      in_flight: this.#inFlight(),
    });
    this.#ports.failpoint("settle.after");
  }

  #inFlight(): readonly StepId[] {
    const ids: StepId[] = [];
    for (const index of this.#walking) {
      const { standing, spec } = this.run.steps.get(index);
      if (standing.state !== "running") ids.push(spec.step_id);
    }
    return ids;
  }

  #isAtRest(): boolean {
    if (!this.#begun) return false; // What the last holder left may be about to move.
    if (this.#walking.size + this.#settling.size > 0) return false;
    if (statusOf(this.run) !== "running") return true;
    const { moving, retrying } = this.run.paces;
    return retrying === 0 && moving === this.#overdueDoubts();
  }

  /** Acts in doubt that could be settled if their handler were not still running here. */
  #overdueDoubts(): number {
    const doubts = new Set<StepId>();
    for (const [{ step_id }, { overdue }] of this.#handlers) {
      const standing = overdue ? findStep(this.run, step_id)?.standing : undefined;
      if (standing?.state === "in_doubt" && standing.doubt.next.do === "settle") doubts.add(step_id);
    }
    return doubts.size;
  }

  /** While a handler that outlived its timeout runs, nothing is settled behind its back. */
  #isOverdue(id: StepId): boolean {
    for (const [{ step_id }, { overdue }] of this.#handlers) if (overdue && step_id === id) return true;
    return false;
  }

  #restIfDone(): void {
    for (const resolve of this.#idle.splice(0)) resolve();
    if (this.#gone || !this.#isAtRest()) return;
    const waiters = this.#waiters.splice(0);
    if (waiters.length > 0) {
      const result = resultOf(this.run);
      for (const { resolve } of waiters) resolve(result);
    }
    if (this.#handlers.size > 0 || this.#deliveries.busy) return; // A late value may still come, or a notice go out.
    this.#leave();
    this.#ports.failpoint("release.before");
    this.#keeper.over({ kind: "rested" });
  }

  async #keeping(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#lose(error);
    }
  }

  /** Fenced: abort the tools, forget the run, write nothing more. Otherwise whoever waits is told. */
  #lose(error: unknown): void {
    if (this.#gone) return;
    const fenced = error instanceof Fenced;
    for (const { resolve, reject } of this.#waiters.splice(0)) fenced ? resolve(null) : reject(error);
    if (isStoreFault(error)) {
      // It may pass, and what is in flight has an outcome to record: taken up anew too early, the run would doubt it.
      void this.#letGo(() => this.#walking.size + this.#settling.size + this.#handlers.size);
      return;
    }
    this.#leave();
    if (fenced)
      for (const running of this.#handlers.values()) running.abort(fault("CANCELLED", "another worker holds the run"));
    this.#keeper.over({ kind: "lost", error });
  }

  #leave(): void {
    this.#gone = true;
    this.mailbox.stop();
    for (const disarm of this.#alarms.values()) disarm();
    this.#alarms.clear();
    this.#deliveries.stop();
  }
}
