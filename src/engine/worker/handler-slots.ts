/** Limits the handlers that run at once in this process. A caller without a slot is called back when one is free. */
export class HandlerSlots {
  #free: number;
  readonly #queue = new Set<() => void>();

  constructor(most: number) {
    this.#free = most;
  }

  take(whenFree: () => void): boolean {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    this.#queue.add(whenFree);
    return false;
  }

  /** Offers the slot to waiting callers until one takes it; some may no longer need it. */
  release(): void {
    this.#free += 1;
    for (const next of this.#queue) {
      if (this.#free === 0) return;
      this.#queue.delete(next);
      next();
    }
  }
}
