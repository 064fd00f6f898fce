import type { Instant } from "../id.ts";

/** A moment, and the index of the step that has something to do then. */
export interface Appointment {
  readonly at: Instant;
  readonly index: number;
}

/** Nothing below a node is earlier than it, and the shorter way down is on its right. */
interface Node extends Appointment {
  /** How many nodes the way down on the right has. */
  readonly height: number;
  readonly left: Node | null;
  readonly right: Node | null;
}

/** Appointments, of which only the earliest is seen. A leftist heap: every version stays valid, and a change copies one short path. */
export class Calendar {
  readonly #root: Node | null;

  private constructor(root: Node | null) {
    this.#root = root;
  }

  static readonly empty = new Calendar(null);

  get first(): Appointment | null {
    return this.#root;
  }

  with(at: Instant, index: number): Calendar {
    return new Calendar(merged(this.#root, { at, index, height: 1, left: null, right: null }));
  }

  withoutFirst(): Calendar {
    return this.#root === null ? this : new Calendar(merged(this.#root.left, this.#root.right));
  }
}

function merged(one: Node | null, other: Node | null): Node | null {
  if (one === null) return other;
  if (other === null) return one;
  const [top, below] = one.at <= other.at ? [one, other] : [other, one];
  const { at, index, left } = top;
  const rest = merged(top.right, below) as Node;
  const [long, short] = heightOf(left) < heightOf(rest) ? [rest, left] : [left, rest];
  return { at, index, height: heightOf(short) + 1, left: long, right: short };
}

function heightOf(node: Node | null): number {
  return node?.height ?? 0;
}
