/** A binary heap of step indices, smallest first: ready steps start in the order of the plan. */
export class ReadyStepQueue {
  readonly #heap: number[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** In no particular order. */
  [Symbol.iterator](): IterableIterator<number> {
    return this.#heap.values();
  }

  push(index: number): void {
    const heap = this.#heap;
    let at = heap.push(index) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as number) <= index) break;
      heap[at] = heap[parent] as number;
      at = parent;
    }
    heap[at] = index;
  }

  pop(): number | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return top;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) child += 1;
      if ((heap[child] as number) >= last) break;
      heap[at] = heap[child] as number;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}
