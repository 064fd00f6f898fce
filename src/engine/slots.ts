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

  give(): void {
    this.#free += 1;
    const [next] = this.#queue;
    if (next === undefined) return;
    this.#queue.delete(next);
    next();
  }
}
