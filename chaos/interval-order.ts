/** An event that happened at one moment between `from` and `to`. */
export interface Interval {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

interface IntervalNode extends Interval {
  readonly later: IntervalNode[];
  earlier: number;
  /** The earliest possible moment, and the event that causes it. */
  least: number;
  because: IntervalNode | null;
}

/** Events and their required order. Decides whether an assignment of moments exists. */
export class IntervalOrder {
  readonly #nodes = new Map<Interval, IntervalNode>();
  readonly #contradictions: string[] = [];

  add(name: string, { from, to }: Omit<Interval, "name">): Interval {
    const node: IntervalNode = { name, from, to, later: [], earlier: 0, least: from, because: null };
    this.#nodes.set(node, node);
    return node;
  }

  before(first: Interval, then: Interval): void {
    const later = this.#nodes.get(then);
    if (later === undefined) throw new Error(`${then.name} belongs to another order`);
    this.#nodes.get(first)?.later.push(later);
    later.earlier += 1;
  }

  /** Records a contradiction that does not depend on the order. */
  impossible(what: string): void {
    this.#contradictions.push(what);
  }

  /**
   * Assigns each event its earliest possible moment, in the required order. An event that must be later than its
   * answer, or before itself, is a contradiction.
   */
  contradictions(): readonly string[] {
    const found = [...this.#contradictions];
    const unblocked = [...this.#nodes.values()].filter(({ earlier }) => earlier === 0);
    let placed = 0;
    for (let node = unblocked.pop(); node !== undefined; node = unblocked.pop()) {
      placed += 1;
      if (node.least > node.to)
        found.push(`${node.name} was answered before the request of ${node.because?.name}, which must come first`);
      for (const later of node.later) {
        if (node.least > later.least) {
          later.least = node.least;
          later.because = node.least === node.from ? node : node.because;
        }
        later.earlier -= 1;
        if (later.earlier === 0) unblocked.push(later);
      }
    }
    if (placed < this.#nodes.size) {
      const cycle = [...this.#nodes.values()].filter(({ earlier }) => earlier > 0).map(({ name }) => name);
      found.push(`each of these must come before the other: ${cycle.slice(0, 6).join("; ")}`);
    }
    return found;
  }
}
