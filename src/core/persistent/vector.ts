import { assert } from "../values/assert.ts";
import type { TreeSummary } from "./trie-map.ts";

const bits = 5;
const width = 1 << bits;

/** A node holds up to 32 nodes, or on the lowest level up to 32 items. */
type Node = readonly unknown[];

/** A persistent list: every version stays valid, and changing one of 10,000 items copies three small arrays. */
export class Vector<Item> implements Iterable<Item> {
  readonly length: number;
  readonly #root: Node;
  /** The number of bits by which an index is shifted to get its slot in the root. */
  readonly #shift: number;

  private constructor(length: number, root: Node, shift: number) {
    this.length = length;
    this.#root = root;
    this.#shift = shift;
  }

  static from<Item>(items: readonly Item[]): Vector<Item> {
    let level = splitIntoNodes(items);
    let shift = 0;
    for (; level.length > 1; shift += bits) level = splitIntoNodes(level);
    return new Vector(items.length, level[0] ?? [], shift);
  }

  get(index: number): Item {
    assert(this.#has(index), "an index is within the vector");
    return this.#leafAt(index)[slotAt(index, 0)] as Item;
  }

  set(index: number, item: Item): Vector<Item> {
    assert(this.#has(index), "an index is within the vector");
    return new Vector(this.length, setInNode(this.#root, this.#shift, index, item), this.#shift);
  }

  push(item: Item): Vector<Item> {
    const full = this.length === width << this.#shift;
    const root = full ? [this.#root] : this.#root;
    const shift = full ? this.#shift + bits : this.#shift;
    return new Vector(this.length + 1, setInNode(root, shift, this.length, item), shift);
  }

  /** Returns the first `length` items. */
  take(length: number): Vector<Item> {
    assert(Number.isInteger(length) && length >= 0 && length <= this.length, "a vector is cut to at most its length");
    return new Vector(length, length === 0 ? [] : truncateNode(this.#root, this.#shift, length - 1), this.#shift);
  }

  /** Returns the sum of all items. Vectors with equal items have equal sums. Null: the vector is empty. */
  summarize<Sum>(summary: TreeSummary<Item, Sum>): Sum | null {
    if (this.length === 0) return null;
    let [node, shift] = [this.#root, this.#shift];
    // A vector that was cut can have more levels than one that was built with the same items.
    for (; shift > 0 && node.length === 1; shift -= bits) node = node[0] as Node;
    return summarizeNode(node, shift, summary);
  }

  /** Not a generator, which would take as long per item as the loop that uses it. */
  [Symbol.iterator](): Iterator<Item> {
    let leaf: readonly Item[] = [];
    let index = 0;
    return {
      next: () => {
        if (index >= this.length) return { done: true, value: undefined };
        const at = slotAt(index, 0);
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
    for (let shift = this.#shift; shift > 0; shift -= bits) node = node[slotAt(index, shift)] as Node;
    return node as readonly Item[];
  }
}

const EMPTY = Vector.from<never>([]);

export function emptyVector<Item>(): Vector<Item> {
  return EMPTY;
}

function slotAt(index: number, shift: number): number {
  return (index >>> shift) & (width - 1);
}

/** Returns the node with one item set at `index`, in an existing slot or in the next free one. */
function setInNode(node: Node, shift: number, index: number, item: unknown): Node {
  const at = slotAt(index, shift);
  const copy = node.slice();
  copy[at] = shift === 0 ? item : setInNode((node[at] ?? []) as Node, shift - bits, index, item);
  return copy;
}

/** Returns the node without the items after index `last`. */
function truncateNode(node: Node, shift: number, last: number): Node {
  const at = slotAt(last, shift);
  const copy = node.slice(0, at + 1);
  if (shift > 0) copy[at] = truncateNode(node[at] as Node, shift - bits, last);
  return copy;
}

function summarizeNode<Item, Sum>(node: Node, shift: number, summary: TreeSummary<Item, Sum>): Sum {
  const known = summary.known.get(node);
  if (known !== undefined) return known;
  const sum =
    shift === 0
      ? summary.ofParts(node as readonly Item[])
      : summary.ofBranch((node as readonly Node[]).map((child) => summarizeNode(child, shift - bits, summary)));
  summary.known.set(node, sum);
  return sum;
}

function splitIntoNodes(items: readonly unknown[]): readonly Node[] {
  const chunks: Node[] = [];
  for (let start = 0; start < items.length; start += width) chunks.push(items.slice(start, start + width));
  return chunks;
}
