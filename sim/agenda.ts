import type { Instant } from "../src/core/id.ts";
import type { Clock, Timers } from "../src/core/time/clock.ts";
import type { Rng } from "./rng.ts";
import type { Swarm } from "./swarm.ts";

/** One I/O that has not been answered yet: a store call, a timer, a tool's answer, someone's next move. */
export interface Pending {
  /** What it is, for the trace: "append", "timer", "answer", … */
  readonly name: string;
  /** Whose it is; 0 for the world and the people in it. */
  readonly owner: number;
  /** What it is about, in words made only when someone reads them. */
  readonly about: string | (() => string);
  /** Answers it, and says how that went. */
  readonly happen: () => string;
  /** Does it for someone who died after asking for it. */
  readonly posthumous?: () => void;
}

interface Dated extends Pending {
  readonly at: number;
  readonly order: number;
  /** Taken back. */
  off: boolean;
}

const START = 1_700_000_000_000;

/** Everything that may happen next, and the time it happens at. One step takes one thing off it. */
export class Agenda implements Clock, Timers {
  readonly #rng: Rng;
  readonly #swarm: Swarm;
  readonly #ready: Pending[] = [];
  readonly #dated: Dated[] = [];
  readonly #landings: Dated[] = [];
  readonly #dead = new Set<number>();
  readonly #asleep = new Map<number, number>();
  #now = START;
  #order = 0;

  constructor(rng: Rng, swarm: Swarm) {
    this.#rng = rng;
    this.#swarm = swarm;
  }

  now(): Instant {
    return this.#now as Instant;
  }

  get passed(): number {
    return this.#now - START;
  }

  /** Nobody waits for an answer that could come now, and nothing that is to be written is on its way. */
  get quiet(): boolean {
    const isOnItsWay = ({ name, owner, off }: Dated) => name === "append" && !off && !this.#dead.has(owner);
    return this.#ready.length === 0 && !this.#dated.some(isOnItsWay);
  }

  /** May be answered at any moment from now on. */
  add(pending: Pending): void {
    this.#ready.push(pending);
  }

  /** Is answered no earlier than this. */
  addAt(at: number, pending: Pending): void {
    const { name, owner, about, happen } = pending;
    this.#order += 1;
    push(this.#dated, { name, owner, about, happen, at, order: this.#order, off: false });
  }

  /** Happens in the world at exactly this moment; nobody is told, so it is no step. */
  landAt(at: number, happen: () => string): void {
    this.#order += 1;
    push(this.#landings, { name: "landing", owner: 0, about: "", happen, at, order: this.#order, off: false });
  }

  after(ms: number, work: () => void, owner = 0): () => void {
    this.#order += 1;
    const happen = () => {
      work();
      return "rang";
    };
    const at = this.#now + Math.max(0, Math.ceil(ms));
    const timer: Dated = { name: "timer", owner, about: "", happen, at, order: this.#order, off: false };
    push(this.#dated, timer);
    return () => {
      timer.off = true;
    };
  }

  /** Nothing of this owner happens any more. Answers with what it had asked for and not yet heard of. */
  bury(owner: number): readonly Pending[] {
    this.#dead.add(owner);
    const orphans = this.#ready.filter((pending) => pending.owner === owner);
    const others = this.#ready.filter((pending) => pending.owner !== owner);
    this.#ready.splice(0, this.#ready.length, ...others);
    return orphans;
  }

  /** Nothing of this owner happens before then: its process is stopped, and nobody can tell that from death. */
  sleep(owner: number, until: number): void {
    this.#asleep.set(owner, until);
  }

  /** What happens next. Time passes on the way to it. */
  next(): Pending | null {
    for (;;) {
      const pending = this.#draw();
      const until = pending === null ? undefined : this.#asleep.get(pending.owner);
      if (pending === null || until === undefined || until <= this.#now) return pending;
      this.addAt(until, pending);
    }
  }

  #draw(): Pending | null {
    const rng = this.#rng;
    const { hurry, skip, skipMs, latencyMs } = this.#swarm;
    const dated = this.#earliest();
    const ready = this.#ready.length;
    if (dated !== undefined && (ready === 0 || rng.chance(dated.at <= this.#now ? 0.5 : hurry))) {
      pop(this.#dated);
      const idle = ready === 0 && rng.chance(skip) ? rng.below(skipMs) : 0;
      this.pass(Math.max(this.#now + idle, dated.at));
      return dated;
    }
    if (ready === 0) return null;
    if (latencyMs > 0) this.pass(this.#now + rng.below(latencyMs + 1));
    return this.#take(rng.below(ready));
  }

  #earliest(): Dated | undefined {
    let dated = this.#dated[0];
    while (dated !== undefined && (dated.off || this.#dead.has(dated.owner))) {
      pop(this.#dated);
      dated = this.#dated[0];
    }
    return dated;
  }

  /** Lets time pass; the world does not wait for anyone. */
  pass(to: number): void {
    for (let next = this.#landings[0]; next !== undefined && next.at <= to; next = this.#landings[0]) {
      pop(this.#landings);
      this.#now = Math.max(this.#now, next.at);
      next.happen();
    }
    this.#now = Math.max(this.#now, to);
  }

  #take(index: number): Pending {
    const taken = this.#ready[index] as Pending;
    const last = this.#ready.pop() as Pending;
    if (index < this.#ready.length) this.#ready[index] = last;
    return taken;
  }
}

function isBefore(left: Dated, right: Dated): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order);
}

function push(heap: Dated[], item: Dated): void {
  let at = heap.push(item) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(item, heap[parent] as Dated)) break;
    heap[at] = heap[parent] as Dated;
    at = parent;
  }
  heap[at] = item;
}

function pop(heap: Dated[]): void {
  const last = heap.pop();
  if (heap.length === 0 || last === undefined) return;
  let at = 0;
  for (let child = 1; child < heap.length; child = 2 * at + 1) {
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Dated, heap[child] as Dated)) child += 1;
    if (!isBefore(heap[child] as Dated, last)) break;
    heap[at] = heap[child] as Dated;
    at = child;
  }
  heap[at] = last;
}
