/** Something that happened at one moment, of which only is known that it was not before `from` and not after `to`. */
export interface Moment {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

interface Node extends Moment {
  readonly later: Node[];
  earlier: number;
  /** Not before this, and because of whom. */
  least: number;
  because: Node | null;
}

/** Moments, and which of them must come before which. Can they all have been? */
export class Moments {
  readonly #nodes = new Map<Moment, Node>();
  readonly #wrong: string[] = [];

  add(name: string, { from, to }: Omit<Moment, "name">): Moment {
    const node: Node = { name, from, to, later: [], earlier: 0, least: from, because: null };
    this.#nodes.set(node, node);
    return node;
  }

  before(first: Moment, then: Moment): void {
    const later = this.#nodes.get(then);
    if (later === undefined) throw new Error(`${then.name} is of other moments`);
    this.#nodes.get(first)?.later.push(later);
    later.earlier += 1;
  }

  /** It cannot have been, whatever the others are. */
  impossible(what: string): void {
    this.#wrong.push(what);
  }

  /**
   * Gives everything the earliest moment that it can have, in the order demanded. What must be later than it was answered, or
   * before itself, contradicts the rest.
   */
  contradictions(): readonly string[] {
    const found = [...this.#wrong];
    const free = [...this.#nodes.values()].filter(({ earlier }) => earlier === 0);
    let placed = 0;
    for (let node = free.pop(); node !== undefined; node = free.pop()) {
      placed += 1;
      if (node.least > node.to)
        found.push(`${node.name} was answered before ${node.because?.name} was asked for, which must have come first`);
      for (const later of node.later) {
        if (node.least > later.least) {
          later.least = node.least;
          later.because = node.least === node.from ? node : node.because;
        }
        later.earlier -= 1;
        if (later.earlier === 0) free.push(later);
      }
    }
    if (placed < this.#nodes.size) {
      const circle = [...this.#nodes.values()].filter(({ earlier }) => earlier > 0).map(({ name }) => name);
      found.push(`each of these must have come before the other: ${circle.slice(0, 6).join("; ")}`);
    }
    return found;
  }
}
