import type { HandedOverAnswer } from "../../core/decide/command.ts";
import type { Event } from "../../core/event/event.ts";
import { callAnswer } from "../../core/run/call-answer.ts";
import { callKey } from "../../core/run/find-call-step.ts";
import { modelCallKey, modelOutputOf, modelRequestOf } from "../../core/run/model-steps.ts";
import { findStep, getStep, type Run, type Step } from "../../core/run/run.ts";
import { isHostAtWork, stepPace } from "../../core/run/step.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { CallEnd } from "../api/observer.ts";
import type { CallerFunction } from "../call/caller-function.ts";
import { FencedError } from "../journal/append-errors.ts";

/** Calls whose answers the driver of an open run receives together. */
interface CallGroup {
  readonly ids: readonly StepId[];
  readonly rested: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

/** The calls of an open run that this process waits for, and what it gave with them. */
export class AwaitedCalls {
  /** By the key of the name of the call. */
  readonly #given = new Map<string, CallerFunction>();
  readonly #handedOver = new Map<string, StepId>();
  readonly #groups = new Set<CallGroup>();
  readonly #watchers = new Set<() => void>();
  /** By the steps whose work the host began under this lease and has not ended: takes the end. */
  readonly #begun = new Map<StepId, (end: CallEnd) => void>();

  give(key: string, given: CallerFunction): void {
    this.#given.set(key, given);
  }

  /** Withdraws what was given with a call, unless another caller has given something since. */
  withdraw(key: string, given: CallerFunction, instead: CallerFunction | null): void {
    if (this.#given.get(key) !== given) return;
    if (instead === null) this.#given.delete(key);
    else this.#given.set(key, instead);
  }

  givenWith({ cause }: Step): CallerFunction | null {
    if (cause?.by !== "agent") return null;
    const { call, model, reuses } = cause;
    const key = call === undefined ? model && modelCallKey(model) : callKey(call, reuses);
    return key === undefined ? null : (this.#given.get(key) ?? null);
  }

  /** A final answer of a model was handed over: its turn is finished as soon as that is on record. */
  handOver(lane: string, step_id: StepId): void {
    this.#handedOver.set(lane, step_id);
  }

  /** Returns the final answers that were handed over and whose turns are not finished on record yet. */
  takeHandedOver(): readonly HandedOverAnswer[] {
    const taken = Array.from(this.#handedOver, ([lane, step_id]) => ({ lane, step_id }));
    this.#handedOver.clear();
    return taken;
  }

  /** Resolves when no call of the list moves by itself. Rejects if the run is lost. */
  rest(run: Run, ids: readonly StepId[]): Promise<void> {
    // A call that rests beside a call of its group that moves may not be on disk yet.
    const waited = ids.map((id) => this.#groupOf(id)).find((group) => group !== undefined);
    if (waited !== undefined && ids.length === 1) return waited.rested;
    if (ids.every((id) => isAtRest(run, id))) return Promise.resolve();
    let resolve = () => {};
    let reject: CallGroup["reject"] = () => {};
    const rested = new Promise<void>((onRest, onLoss) => {
      resolve = onRest;
      reject = onLoss;
    });
    this.#groups.add({ ids, rested, resolve, reject });
    return rested;
  }

  #groupOf(id: StepId): CallGroup | undefined {
    for (const group of this.#groups) if (group.ids.includes(id)) return group;
    return undefined;
  }

  /** True if a caller waits for a call. */
  get isWaitedFor(): boolean {
    return this.#groups.size + this.#watchers.size > 0;
  }

  /** True if this process began work under the lease that its host does itself, and the work has not ended. */
  get hasHostAtWork(): boolean {
    return this.#begun.size > 0;
  }

  /** True if the agent of this process needs the run: it waits for a call, or its host does one itself. */
  get isInUse(): boolean {
    return this.isWaitedFor || this.hasHostAtWork;
  }

  /** The host begins the work of a step. Resolves when it has ended. */
  hostBegins(step: StepId): Promise<CallEnd> {
    const ended = new Promise<CallEnd>((resolve) => this.#begun.set(step, resolve));
    this.#notifyWatchers();
    return ended;
  }

  /** Resolves after the next append. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#watchers.add(resolve));
  }

  /** Reacts to the events of an append. `run` is the run after them. */
  follow(events: readonly Event[], run: Run): void {
    if (this.#begun.size > 0) this.#endBegun(events, run);
    this.#notifyWatchers();
    for (const group of this.#groups) {
      if (!group.ids.every((id) => isAtRest(run, id))) continue;
      this.#groups.delete(group);
      group.resolve();
    }
    if (this.#given.size > 0) for (const event of events) this.#forget(event, run);
  }

  #endBegun(events: readonly Event[], run: Run): void {
    for (const [step_id, resolve] of this.#begun) {
      if (isHostAtWork(getStep(run, { step_id }))) continue;
      this.#begun.delete(step_id);
      resolve(hostEnd(events.findLast((event) => "step_id" in event && event.step_id === step_id)));
    }
  }

  #forget(event: Event, run: Run): void {
    const step = "step_id" in event ? findStep(run, event.step_id) : undefined;
    if (step?.cause?.by !== "agent" || step.cause.call === undefined) return;
    const { call, reuses } = step.cause;
    if (stepPace(step.standing) === "done") this.#given.delete(callKey(call, reuses));
  }

  /**
   * True if the caller of a call learns its end from these events: no other call of its group moves. A delivery follows
   * an end that was told.
   */
  tells(events: readonly Event[], after: Run): boolean {
    return events.some((event) => {
      if (!("step_id" in event) || event.type === "step.delivered" || !isTold(after, event.step_id)) return false;
      const group = this.#groupOf(event.step_id);
      return group === undefined || group.ids.every((id) => isAtRest(after, id));
    });
  }

  /** This worker has released the run, because the engine closes. */
  end(): void {
    if (!this.isWaitedFor) return; // Most runs have a plan, and an error costs as much as a step.
    this.fail(new FaultError(fault("ENGINE_CLOSED", "the engine was closed before the call came to rest")));
  }

  /** The run is lost: no more answers come from it. */
  fail(error: unknown): void {
    const why = error instanceof FencedError ? new FaultError(TAKEN) : error;
    for (const group of this.#groups) group.reject(why);
    this.#groups.clear();
    this.#notifyWatchers();
  }

  #notifyWatchers(): void {
    if (this.#watchers.size === 0) return; // `clear` allocates, also if there is nothing to clear.
    for (const watcher of this.#watchers) watcher();
    this.#watchers.clear();
  }
}

const TAKEN = fault("SESSION_BUSY", "another process holds the run of the session now; open the session again");

/** True if the call is at rest. A model call whose answer has tool calls does not count: these calls follow. */
function isTold(run: Run, id: StepId): boolean {
  const step = findStep(run, id);
  if (step !== undefined && modelRequestOf(step) !== null && modelOutputOf(step)?.final === false) return false;
  return isAtRest(run, id);
}

/** Returns the end of work that a host did, as observers see it. */
function hostEnd(event: Event | undefined): CallEnd {
  if (event?.type === "step.succeeded")
    return { status: "succeeded", output: event.output, fault: null, cost: event.cost ?? null };
  const known = event?.type === "step.failed" || event?.type === "step.doubted" ? event.fault : null;
  return { status: event?.type === "step.failed" ? "failed" : "unknown", output: null, fault: known, cost: null };
}

function isAtRest(run: Run, id: StepId): boolean {
  const step = findStep(run, id);
  return step === undefined || callAnswer(run, step) !== null;
}
