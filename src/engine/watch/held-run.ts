import type { Event } from "../../core/event.ts";
import { fault } from "../../core/fault.ts";
import type { StepId } from "../../core/id.ts";
import { type RunResult, resultOf } from "../../core/result.ts";
import { findStep, type Run, type Step, stateKeyOf, statusOf, stepOf, wakeAt } from "../../core/run.ts";
import type { Claim } from "../../core/store.ts";
import type { Ports } from "../ports.ts";
import { Fenced, isStoreFault, type Listener, type Loaded, Mailbox } from "../record/mailbox.ts";
import { Deliveries } from "../road/deliveries.ts";
import { Handlers } from "../road/handlers.ts";
import type { Hold } from "../road/hold.ts";
import type { Kin } from "../road/kin.ts";
import { Settling } from "../road/settling.ts";
import { Walks } from "../road/walks.ts";
import type { Way } from "../road/way.ts";
import { Alarms } from "./alarms.ts";
import { foundIn, takenFrom } from "./found.ts";
import type { Slots } from "./slots.ts";

/** How a hold on a run ended: it came to rest, another worker has it, or this one could not go on with it. */
export type HoldEnd = "rested" | "fenced" | "failed";

/** Whoever keeps the holds wants to know how each fares. */
export interface Keeper {
  readonly kin: Kin;
  /** This worker held the run before and could not go on with it. */
  readonly hasFailed: boolean;
  progressed(): void;
  over(end: HoldEnd): void;
}

/** For whoever looks once more when those who were told have gone on. */
const AT_ONCE = Promise.resolve();

interface Waiter {
  readonly resolve: (result: RunResult | null) => void;
  readonly reject: (error: unknown) => void;
}

/** A run that this worker holds, until it comes to rest: what happens to it is passed on to those who see to what follows. */
export class HeldRun implements Listener {
  readonly claim: Claim;
  readonly mailbox: Mailbox;
  readonly #ports: Ports;
  readonly #walks: Walks;
  readonly #handlers: Handlers;
  readonly #settling: Settling;
  readonly #alarms: Alarms;
  readonly #deliveries: Deliveries;
  readonly #keeper: Keeper;
  readonly #waiters: Waiter[] = [];
  readonly #idle: (() => void)[] = [];
  #begun = false;
  /** Why the store takes nothing at the moment, though an outcome is in hand. */
  #stalled: { readonly error: unknown } | null = null;
  #gone = false;

  constructor(ports: Ports, slots: Slots, loaded: Loaded, claim: Claim, keeper: Keeper) {
    this.#ports = ports;
    this.claim = claim;
    this.#keeper = keeper;
    this.mailbox = new Mailbox(ports, loaded, claim.epoch, this);
    const hold = this.#hold();
    this.#walks = new Walks(hold, slots);
    this.#handlers = new Handlers(hold);
    this.#settling = new Settling(hold, (step) => this.#handlers.isOverdue(step));
    this.#alarms = new Alarms(ports);
    this.#deliveries = new Deliveries(hold);
  }

  #hold(): Hold {
    const way: Way = {
      ports: this.#ports,
      claim: this.claim,
      mailbox: this.mailbox,
      kin: this.#keeper.kin,
      setOut: () => this.#walks.setOut,
      inFlight: (first) => this.#walks.inFlight(first),
      began: (caller, running) => this.#handlers.began(caller, running),
      over: (caller) => this.#handlers.over(caller),
      gone: (grant, late) => this.#handlers.leaves(grant, late),
    };
    return {
      way,
      isGone: () => this.#gone,
      attend: (step) => this.#attend(step),
      keep: (work) => this.#keep(work),
      lose: (error) => this.#lose(error),
      restIfDone: () => this.#restIfDone(),
    };
  }

  get run(): Run {
    return this.mailbox.run;
  }

  /** Steps in flight that no `started` fact stands for. */
  inFlight(): readonly StepId[] {
    return this.#walks.inFlight();
  }

  /** Takes the run up where it was left. */
  async begin(): Promise<void> {
    await this.#keep(this.#takeUp());
  }

  async #takeUp(): Promise<void> {
    this.#ports.projects.doubt(this.run.tenant, stateKeyOf(this.run));
    await this.#settleResources();
    const found = await foundIn(this.#ports, this.run);
    const taken = await takenFrom(this.#ports, this.run, this.claim, this.#keeper.hasFailed);
    if (found.length > 0 || taken !== null) {
      this.#ports.failpoint("recover.before");
      await this.mailbox.ask({ type: "recover", now: this.#ports.clock.now(), found, taken });
      this.#ports.failpoint("recover.after");
    }
    this.#begun = true;
    this.#attendAll();
    this.#deliveries.deliver();
    this.#walks.advance();
    this.#restIfDone();
  }

  /** What the last holder's calls had changed is put back before anything else happens. */
  async #settleResources(): Promise<void> {
    for (const { spec, attempts: attempt, captures } of [...this.run.steps].filter(
      ({ captures }) => captures.length > 0,
    )) {
      const { step_id } = spec;
      const { clock, resources, failpoint } = this.#ports;
      const why = fault("CANCELLED", "its worker was lost while it was at work");
      await this.mailbox.ask({ type: "restoring", now: clock.now(), step_id, attempt, fault: why });
      failpoint("restore.before");
      const restored = await resources.restore(captures);
      failpoint("restore.after");
      await this.mailbox.ask({ type: "restored", now: clock.now(), step_id, attempt, restored });
    }
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

  /** Starts nothing more, lets handlers and notices on their way come to their end, and leaves the run to the next worker. */
  drain(): Promise<void> {
    this.#deliveries.drain();
    // A store that has failed may never take what is in hand; closing does not wait for it.
    return this.#letGo(() => (this.#stalled === null ? this.#underWay() + this.#deliveries.underWay : 0));
  }

  async #letGo(inFlight: () => number): Promise<void> {
    this.#walks.stop();
    while (!this.#gone && inFlight() > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    if (this.#gone) return;
    this.#leave();
    for (const { resolve } of this.#waiters.splice(0)) resolve(null);
    this.#keeper.over("rested");
  }

  stalled(error: unknown): void {
    this.#stalled = { error };
    for (const { reject } of this.#waiters.splice(0)) reject(error);
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  landed(events: readonly Event[], fresh: readonly number[]): void {
    this.#stalled = null;
    for (const index of fresh) this.#walks.ready(index);
    for (const event of events) this.#follow(event);
    this.#keeper.progressed();
    this.#walks.advance();
    void AT_ONCE.then(this.#lookIfDone);
  }

  readonly #lookIfDone = () => this.#restIfDone();

  tells(after: Run): boolean {
    const { moving, retrying } = after.paces;
    return retrying === 0 && moving <= this.#handlers.size && moving === this.#handlers.overdueDoubts(after);
  }

  /** What an event asks of whoever holds the run, beyond what is ready. */
  #follow(event: Event): void {
    if ("notices" in event) this.#deliveries.deliver(event.notices);
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
      case "gate.escalated": {
        const gate = this.run.gates.get(event.gate_id);
        if (gate !== undefined) this.#attend(stepOf(this.run, gate));
        break;
      }
      case "run.resumed":
        this.#attendAll(); // What was parked is not among what has just become ready.
        break;
      case "cancel.requested":
        this.#handlers.abortAll((step_id) =>
          fault("CANCELLED", `${step_id} was cancelled: ${event.reason || "no reason given"}`),
        );
        break;
    }
  }

  #attendAll(): void {
    for (const step of this.run.steps) this.#attend(step);
  }

  #attend(step: Step): void {
    if (this.run.poison !== null) return; // Whatever it would do next may be what kills its workers.
    const { standing, spec } = step;
    if (standing.state === "ready") this.#walks.ready(step.index);
    if (standing.state === "in_doubt" && standing.doubt.next.do === "settle") void this.#settling.settle(spec.step_id);
    const at = wakeAt(this.run, step);
    if (at === null) return;
    // At once, if it is time: a run that only waits is at rest, and would be let go before an alarm could ring.
    if (at <= this.#ports.clock.now()) this.#wake(step);
    else this.#alarms.set(spec.step_id, at, () => this.#wake(this.run.steps.get(step.index)));
  }

  #wake({ standing, spec, index }: Step): void {
    if (standing.state === "waiting_approval") {
      void this.#settling.expire(spec.step_id, standing.gate_id);
    } else if (standing.state === "in_doubt") {
      void this.#settling.settle(spec.step_id);
    } else {
      this.#walks.ready(index);
      this.#walks.advance();
    }
  }

  #underWay(): number {
    return this.#walks.size + this.#settling.size;
  }

  #isAtRest(): boolean {
    if (!this.#begun) return false; // What the last holder left may be about to move.
    if (this.#underWay() > 0) return false;
    return statusOf(this.run) !== "running" || this.tells(this.run);
  }

  #restIfDone(): void {
    if (this.#idle.length > 0) for (const resolve of this.#idle.splice(0)) resolve();
    if (this.#gone || !this.#isAtRest()) return;
    const waiters = this.#waiters.splice(0);
    if (waiters.length > 0) {
      const result = resultOf(this.run);
      for (const { resolve } of waiters) resolve(result);
    }
    if (this.#handlers.size > 0 || this.#deliveries.busy) return; // A late value may still come, or a notice go out.
    this.#leave();
    this.#ports.failpoint("release.before");
    this.#keeper.over("rested");
  }

  #keep(work: Promise<unknown>): Promise<unknown> {
    return work.catch((error) => this.#lose(error));
  }

  /** Fenced: abort the tools, forget the run, write nothing more. Otherwise whoever waits is told. */
  #lose(error: unknown): void {
    if (this.#gone) return;
    const fenced = error instanceof Fenced;
    for (const { resolve, reject } of this.#waiters.splice(0)) fenced ? resolve(null) : reject(error);
    if (isStoreFault(error)) {
      // It may pass, and what is in flight has an outcome to record: taken up anew too early, the run would doubt it.
      void this.#letGo(() => this.#underWay() + this.#handlers.size);
      return;
    }
    this.#leave();
    if (fenced) this.#handlers.abortAll(() => fault("CANCELLED", "another worker holds the run"));
    this.#keeper.over(fenced ? "fenced" : "failed");
  }

  #leave(): void {
    this.#gone = true;
    this.mailbox.stop();
    this.#walks.stop();
    this.#alarms.clear();
    this.#deliveries.stop();
  }
}
