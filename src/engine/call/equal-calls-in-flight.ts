import type { QueueTurn } from "../state/named-queues.ts";

interface FirstCall {
  readonly waiters: Set<() => void>;
}

/**
 * The equal calls in flight in this process. The first of them is made, and the others wait for its end: if it succeeds,
 * they take its output. If it fails or does not start, each of them is made.
 */
export class EqualCallsInFlight {
  readonly #first = new Map<string, FirstCall>();

  /** `next` is called when the first call has ended, unless this call is the first. */
  join(name: string, next: () => void): QueueTurn {
    const first = this.#first.get(name);
    if (first === undefined) return this.#lead(name);
    let waits = true;
    const proceed = () => {
      waits = false;
      next();
    };
    first.waiters.add(proceed);
    return {
      get isFirst() {
        return !waits;
      },
      leave: () => void first.waiters.delete(proceed),
    };
  }

  #lead(name: string): QueueTurn {
    const own: FirstCall = { waiters: new Set() };
    this.#first.set(name, own);
    const leave = () => {
      if (this.#first.get(name) !== own) return;
      this.#first.delete(name);
      for (const proceed of own.waiters) proceed();
    };
    return { isFirst: true, leave };
  }
}
