import type { Instant } from "../values/ids.ts";

/** A time, and the index of the step that is due then. */
export interface Wakeup {
  readonly at: Instant;
  readonly index: number;
}

/** A node is not later than its descendants, and its shorter path down is on the right. */
interface Node extends Wakeup {
  /** The number of nodes on the rightmost path. */
  readonly height: number;
  readonly left: Node | null;
  readonly right: Node | null;
}

/**
 * A heap that returns the earliest wakeup. A leftist heap: every version stays valid, and a change copies one short
 * path.
 */
export class WakeupHeap {
  readonly #root: Node | null;

  private constructor(root: Node | null) {
    this.#root = root;
  }

  static readonly empty = new WakeupHeap(null);

  get first(): Wakeup | null {
    return this.#root;
  }

  add(at: Instant, index: number): WakeupHeap {
    return new WakeupHeap(mergeHeaps(this.#root, { at, index, height: 1, left: null, right: null }));
  }

  withoutFirst(): WakeupHeap {
    return this.#root === null ? this : new WakeupHeap(mergeHeaps(this.#root.left, this.#root.right));
  }
}

function mergeHeaps(one: Node | null, other: Node | null): Node | null {
  if (one === null) return other;
  if (other === null) return one;
  const [top, below] = one.at <= other.at ? [one, other] : [other, one];
  const { at, index, left } = top;
  const rest = mergeHeaps(top.right, below) as Node;
  const [long, short] = heightOf(left) < heightOf(rest) ? [rest, left] : [left, rest];
  return { at, index, height: heightOf(short) + 1, left: long, right: short };
}

function heightOf(node: Node | null): number {
  return node?.height ?? 0;
}
