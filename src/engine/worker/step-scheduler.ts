import { runStateKey, type Step } from "../../core/run/run.ts";
import { hadStateConflict } from "../../core/run/step.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { CallContext } from "../call/call-context.ts";
import { equalCallName } from "../call/equal-call-name.ts";
import { walkRoad } from "../call/road.ts";
import type { QueueTurn } from "../state/named-queues.ts";
import type { HandlerSlots } from "./handler-slots.ts";
import { ReadyStepQueue } from "./ready-step-queue.ts";

/** Starts the ready steps of a leased run in the order of the plan, as far as handler slots are free. */
export class StepScheduler {
  readonly #context: CallContext;
  readonly #slots: HandlerSlots;
  readonly #ready = new ReadyStepQueue();
  /** By step in flight, the number of its call. */
  readonly #inFlight = new Map<number, number>();
  /** By step that had a state conflict, its place in the queue of its project; by cached call, among equal calls. */
  readonly #turns = new Map<number, QueueTurn>();
  #callsStarted = 0;
  #stopped = false;

  constructor(context: CallContext, slots: HandlerSlots) {
    this.#context = context;
    this.#slots = slots;
  }

  /** The number of calls in flight. */
  get size(): number {
    return this.#inFlight.size;
  }

  /** Returns whether a step is due and waits for a handler slot or for its turn in the queue of its project. */
  get hasDueSteps(): boolean {
    const { steps } = this.#context.mailbox.run;
    for (const index of this.#ready) if (isStartable(steps.get(index))) return true;
    for (const index of this.#turns.keys()) if (!this.#inFlight.has(index)) return true;
    return false;
  }

  ready(index: number): void {
    this.#ready.push(index);
  }

  /** Starts ready steps. */
  advance(): void {
    const busy: number[] = [];
    while (this.#ready.size > 0 && !this.#stopped) {
      if (!this.#slots.take(this.#whenFree)) break;
      const index = this.#ready.pop() as number;
      if (this.#inFlight.has(index)) {
        busy.push(index);
        this.#slots.release();
      } else if (this.#mayStart(index)) {
        this.#start(index);
      } else {
        this.#slots.release();
      }
    }
    for (const index of busy) this.#ready.push(index);
  }

  readonly #whenFree = () => this.advance();

  /**
   * False: the step waits for others of its project that come first, or for an equal call whose output it may take. It is
   * called when its turn has come.
   */
  #mayStart(index: number): boolean {
    const { ports, mailbox } = this.#context;
    const { run } = mailbox;
    const step = run.steps.get(index);
    const conflicts = hadStateConflict(step);
    if (!conflicts && step.spec.cache_policy === "never") return true;
    const known = this.#turns.get(index);
    if (known !== undefined) return known.isFirst;
    const called = () => {
      this.#ready.push(index);
      this.advance();
    };
    const equal = conflicts ? null : equalCallName(ports, run, step);
    if (!conflicts && equal === null) return true;
    const turn =
      equal === null
        ? ports.projects.joinQueue(run.tenant, runStateKey(run), called)
        : ports.equalCalls.join(equal, called);
    this.#turns.set(index, turn);
    return turn.isFirst;
  }

  #leaveQueue(index: number): void {
    if (this.#turns.size === 0) return;
    const turn = this.#turns.get(index);
    this.#turns.delete(index); // If the step has a conflict again, it joins the queue again.
    turn?.leave();
  }

  #start(index: number): void {
    this.#callsStarted += 1;
    this.#inFlight.set(index, this.#callsStarted);
    const step = this.#context.mailbox.run.steps.get(index);
    // A held request is no handler, and may wait for the handlers of another run.
    const usesSlot = step.spec.kind !== "verb";
    if (!usesSlot) this.#slots.release();
    const walked = () => this.#onWalked(index, usesSlot);
    void walkRoad(this.#context, step).then(walked, (error) => {
      this.#context.lose(error);
      walked();
    });
  }

  #onWalked(index: number, usesSlot: boolean): void {
    this.#inFlight.delete(index);
    this.#leaveQueue(index);
    if (usesSlot) this.#slots.release();
    this.advance();
    this.#context.releaseIfAtRest();
  }

  /** The number of calls that have entered the road so far. */
  get callsStarted(): number {
    return this.#callsStarted;
  }

  /** Returns the steps in flight without a `step.started` event, of the first `calls` calls. */
  inFlight(calls = this.#callsStarted): readonly StepId[] {
    const { run } = this.#context.mailbox;
    const ids: StepId[] = [];
    for (const [index, number] of this.#inFlight) {
      const { standing, spec } = run.steps.get(index);
      if (number <= calls && standing.state !== "running") ids.push(spec.step_id);
    }
    return ids;
  }

  /** Starts no more steps. Calls in flight end normally. */
  stop(): void {
    this.#stopped = true;
    for (const index of this.#turns.keys()) if (!this.#inFlight.has(index)) this.#leaveQueue(index);
  }
}

/** False if an event has ended the step since it became due. */
function isStartable({ standing: { state } }: Step): boolean {
  return state === "ready" || state === "waiting" || state === "failed_retryable";
}
