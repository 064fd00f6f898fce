import type { Clock, Timers } from "../src/core/ports/clock.ts";
import type { Instant } from "../src/core/values/ids.ts";
import type { Rng } from "./rng.ts";
import type { SeedConfig } from "./seed-config.ts";

/** A pending I/O operation: a store call, a timer, the answer of a tool, the next action of a user. */
export interface PendingAction {
  /** The name in the trace: "append", "timer", "answer", … */
  readonly name: string;
  /** The number of the worker process; 0 for the world and its users. */
  readonly owner: number;
  /** The subject in the trace; a function is called only when the line is printed. */
  readonly about: string | (() => string);
  /** Executes the action and returns its result for the trace. */
  readonly execute: () => string;
  /** Executes the action after its owner died. */
  readonly executeAfterDeath?: () => void;
}

interface TimedAction extends PendingAction {
  readonly at: number;
  readonly order: number;
  /** True if the action is cancelled. */
  cancelled: boolean;
}

type TimingConfig = Pick<SeedConfig, "timerFirst" | "skip" | "skipMs" | "latencyMs">;

const START_MS = 1_700_000_000_000;

/** The virtual clock and all pending actions. Each step of the simulation executes one of them. */
export class VirtualScheduler implements Clock, Timers {
  readonly #rng: Rng;
  readonly #config: TimingConfig;
  readonly #ready: PendingAction[] = [];
  readonly #timed: TimedAction[] = [];
  readonly #landings: TimedAction[] = [];
  readonly #dead = new Set<number>();
  readonly #pausedUntil = new Map<number, number>();
  #now = START_MS;
  #order = 0;

  constructor(rng: Rng, config: TimingConfig) {
    this.#rng = rng;
    this.#config = config;
  }

  now(): Instant {
    return this.#now as Instant;
  }

  get elapsedMs(): number {
    return this.#now - START_MS;
  }

  /** True if no action is ready and no delayed append of a live worker is pending. */
  get isIdle(): boolean {
    const isPendingAppend = ({ name, owner, cancelled }: TimedAction) =>
      name === "append" && !cancelled && !this.#dead.has(owner);
    return this.#ready.length === 0 && !this.#timed.some(isPendingAppend);
  }

  /** Adds an action that may execute at any time from now on. */
  add(pending: PendingAction): void {
    this.#ready.push(pending);
  }

  /** Adds an action that executes no earlier than `at`. */
  addAt(at: number, pending: PendingAction): void {
    const { name, owner, about, execute } = pending;
    this.#order += 1;
    pushHeap(this.#timed, { name, owner, about, execute, at, order: this.#order, cancelled: false });
  }

  /** Changes the world at exactly this time. It is not a step, because the engine does not notice it. */
  landAt(at: number, execute: () => string): void {
    this.#order += 1;
    pushHeap(this.#landings, {
      name: "landing",
      owner: 0,
      about: "",
      execute,
      at,
      order: this.#order,
      cancelled: false,
    });
  }

  after(ms: number, work: () => void, owner = 0): () => void {
    this.#order += 1;
    const execute = () => {
      work();
      return "fired";
    };
    const at = this.#now + Math.max(0, Math.ceil(ms));
    const timer: TimedAction = { name: "timer", owner, about: "", execute, at, order: this.#order, cancelled: false };
    pushHeap(this.#timed, timer);
    return () => {
      timer.cancelled = true;
    };
  }

  /** Removes a dead owner and returns its unanswered actions. */
  removeOwner(owner: number): readonly PendingAction[] {
    this.#dead.add(owner);
    const unanswered = this.#ready.filter((pending) => pending.owner === owner);
    const others = this.#ready.filter((pending) => pending.owner !== owner);
    this.#ready.splice(0, this.#ready.length, ...others);
    return unanswered;
  }

  /** Pauses an owner. Other processes cannot distinguish a pause from death. */
  pauseOwner(owner: number, until: number): void {
    this.#pausedUntil.set(owner, until);
  }

  /** Removes and returns the next action, and advances the clock to it. */
  next(): PendingAction | null {
    for (;;) {
      const pending = this.#draw();
      const until = pending === null ? undefined : this.#pausedUntil.get(pending.owner);
      if (pending === null || until === undefined || until <= this.#now) return pending;
      this.addAt(until, pending);
    }
  }

  #draw(): PendingAction | null {
    const rng = this.#rng;
    const { timerFirst, skip, skipMs, latencyMs } = this.#config;
    const timed = this.#earliest();
    const ready = this.#ready.length;
    if (timed !== undefined && (ready === 0 || rng.chance(timed.at <= this.#now ? 0.5 : timerFirst))) {
      popHeap(this.#timed);
      const idle = ready === 0 && rng.chance(skip) ? rng.below(skipMs) : 0;
      this.advanceTo(Math.max(this.#now + idle, timed.at));
      return timed;
    }
    if (ready === 0) return null;
    if (latencyMs > 0) this.advanceTo(this.#now + rng.below(latencyMs + 1));
    return this.#take(rng.below(ready));
  }

  #earliest(): TimedAction | undefined {
    let timed = this.#timed[0];
    while (timed !== undefined && (timed.cancelled || this.#dead.has(timed.owner))) {
      popHeap(this.#timed);
      timed = this.#timed[0];
    }
    return timed;
  }

  /** Advances the clock and executes the landings on the way. */
  advanceTo(to: number): void {
    for (let next = this.#landings[0]; next !== undefined && next.at <= to; next = this.#landings[0]) {
      popHeap(this.#landings);
      this.#now = Math.max(this.#now, next.at);
      next.execute();
    }
    this.#now = Math.max(this.#now, to);
  }

  #take(index: number): PendingAction {
    const taken = this.#ready[index] as PendingAction;
    const last = this.#ready.pop() as PendingAction;
    if (index < this.#ready.length) this.#ready[index] = last;
    return taken;
  }
}

function isBefore(left: TimedAction, right: TimedAction): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order);
}

function pushHeap(heap: TimedAction[], item: TimedAction): void {
  let at = heap.push(item) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(item, heap[parent] as TimedAction)) break;
    heap[at] = heap[parent] as TimedAction;
    at = parent;
  }
  heap[at] = item;
}

function popHeap(heap: TimedAction[]): void {
  const last = heap.pop();
  if (heap.length === 0 || last === undefined) return;
  let at = 0;
  for (let child = 1; child < heap.length; child = 2 * at + 1) {
    if (child + 1 < heap.length && isBefore(heap[child + 1] as TimedAction, heap[child] as TimedAction)) child += 1;
    if (!isBefore(heap[child] as TimedAction, last)) break;
    heap[at] = heap[child] as TimedAction;
    at = child;
  }
  heap[at] = last;
}
