import { assert } from "../assert.ts";

const bits = 5;
const width = 1 << bits;

/** A node holds up to 32 nodes, or on the lowest level up to 32 items. */
type Node = readonly unknown[];

/** A list whose every version stays valid: changing one of 10,000 items copies three small arrays, not 10,000 items. */
export class Vector<Item> implements Iterable<Item> {
  readonly length: number;
  readonly #root: Node;
  /** How far an index is shifted to get the slot in the root. */
  readonly #shift: number;

  private constructor(length: number, root: Node, shift: number) {
    this.length = length;
    this.#root = root;
    this.#shift = shift;
  }

  static from<Item>(items: readonly Item[]): Vector<Item> {
    let level = chunked(items);
    let shift = 0;
    for (; level.length > 1; shift += bits) level = chunked(level);
    return new Vector(items.length, level[0] ?? [], shift);
  }

  get(index: number): Item {
    assert(this.#has(index), "a vector is asked for an item that it has");
    return this.#leafAt(index)[slot(index, 0)] as Item;
  }

  set(index: number, item: Item): Vector<Item> {
    assert(this.#has(index), "a vector is asked for an item that it has");
    return new Vector(this.length, replaced(this.#root, this.#shift, index, item), this.#shift);
  }

  push(item: Item): Vector<Item> {
    const full = this.length === width << this.#shift;
    const root = full ? [this.#root] : this.#root;
    const shift = full ? this.#shift + bits : this.#shift;
    return new Vector(this.length + 1, replaced(root, shift, this.length, item), shift);
  }

  /** The first so many. */
  take(length: number): Vector<Item> {
    assert(Number.isInteger(length) && length >= 0 && length <= this.length, "a vector has as many items as are taken");
    return new Vector(length, length === 0 ? [] : taken(this.#root, this.#shift, length - 1), this.#shift);
  }

  /** Not a generator: that would take as long for every item as what is done with it. */
  [Symbol.iterator](): Iterator<Item> {
    let leaf: readonly Item[] = [];
    let index = 0;
    return {
      next: () => {
        if (index >= this.length) return { done: true, value: undefined };
        const at = slot(index, 0);
        if (at === 0) leaf = this.#leafAt(index);
        index += 1;
        return { done: false, value: leaf[at] as Item };
      },
    };
  }

  #has(index: number): boolean {
    return Number.isInteger(index) && index >= 0 && index < this.length;
  }

  #leafAt(index: number): readonly Item[] {
    let node = this.#root;
    for (let shift = this.#shift; shift > 0; shift -= bits) node = node[slot(index, shift)] as Node;
    return node as readonly Item[];
  }
}

const nothing = Vector.from<never>([]);

export function emptyVector<Item>(): Vector<Item> {
  return nothing;
}

function slot(index: number, shift: number): number {
  return (index >>> shift) & (width - 1);
}

/** The node with one item put at `index`, in an existing slot or in the next free one. */
function replaced(node: Node, shift: number, index: number, item: unknown): Node {
  const at = slot(index, shift);
  const copy = node.slice();
  copy[at] = shift === 0 ? item : replaced((node[at] ?? []) as Node, shift - bits, index, item);
  return copy;
}

/** The node without what comes after an index. */
function taken(node: Node, shift: number, last: number): Node {
  const at = slot(last, shift);
  const kept = node.slice(0, at + 1);
  if (shift > 0) kept[at] = taken(node[at] as Node, shift - bits, last);
  return kept;
}

function chunked(items: readonly unknown[]): readonly Node[] {
  const chunks: Node[] = [];
  for (let start = 0; start < items.length; start += width) chunks.push(items.slice(start, start + width));
  return chunks;
}
