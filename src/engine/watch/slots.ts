/** How many handlers may run at once in this process. Whoever finds none free is called when one is. */
export class Slots {
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

  /** Whoever was waiting may have gone, so it is offered until someone takes it. */
  give(): void {
    this.#free += 1;
    for (const next of this.#queue) {
      if (this.#free === 0) return;
      this.#queue.delete(next);
      next();
    }
  }
}
