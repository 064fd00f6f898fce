const bits = 5;
const mask = (1 << bits) - 1;

type Entry<Value> = readonly [key: string, value: Value];

type Node<Value> = Leaf<Value> | Branch<Value>;

/** All entries of one hash; more than one only if hashes collide. */
interface Leaf<Value> {
  readonly hash: number;
  readonly entries: readonly Entry<Value>[];
  readonly children: null;
}

/** A child for each bit that is set, in the order of the bits. */
interface Branch<Value> {
  readonly bitmap: number;
  readonly children: readonly Node<Value>[];
}

/** How the summary of a tree is made of those of its parts. */
export interface TreeSummary<Part, Sum> {
  /** The sums of known branches, so that only the path of a change is summed up again. */
  readonly known: WeakMap<object, Sum>;
  ofParts(parts: readonly Part[]): Sum;
  ofBranch(sums: readonly Sum[]): Sum;
}

/** A persistent map: every version stays valid, and a change copies one short path. Iteration has no defined order. */
export class TrieMap<Value> implements Iterable<Entry<Value>> {
  readonly size: number;
  readonly #root: Node<Value> | null;

  private constructor(size: number, root: Node<Value> | null) {
    this.size = size;
    this.#root = root;
  }

  static empty<Value>(): TrieMap<Value> {
    return new TrieMap<Value>(0, null);
  }

  get(key: string): Value | undefined {
    return findEntry(this.#root, hashText(key), key)?.[1];
  }

  has(key: string): boolean {
    return findEntry(this.#root, hashText(key), key) !== undefined;
  }

  set(key: string, value: Value): TrieMap<Value> {
    const leaf: Leaf<Value> = { hash: hashText(key), entries: [[key, value]], children: null };
    const root = this.#root === null ? leaf : insertLeaf(this.#root, 0, leaf, key);
    return new TrieMap(findEntry(this.#root, leaf.hash, key) === undefined ? this.size + 1 : this.size, root);
  }

  /** Returns this map if it has no such key. */
  delete(key: string): TrieMap<Value> {
    if (this.#root === null || !this.has(key)) return this;
    return new TrieMap(this.size - 1, removeKey(this.#root, 0, hashText(key), key));
  }

  /** Returns the sum of all entries. Maps with equal entries have equal sums. Null: the map is empty. */
  summarize<Sum>(summary: TreeSummary<Entry<Value>, Sum>): Sum | null {
    return this.#root === null ? null : summarizeNode(this.#root, summary);
  }

  [Symbol.iterator](): Iterator<Entry<Value>> {
    return entriesOf(this.#root);
  }
}

const EMPTY = TrieMap.empty<never>();

export function emptyTrieMap<Value>(): TrieMap<Value> {
  return EMPTY;
}

/** FNV-1a over UTF-16 code units. Keys chosen to collide cost time, but never give a wrong result. */
export function hashText(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

function findEntry<Value>(root: Node<Value> | null, hash: number, key: string): Entry<Value> | undefined {
  let node: Node<Value> | undefined = root ?? undefined;
  for (let shift = 0; node !== undefined && node.children !== null; shift += bits) {
    const bit = bitOf(hash, shift);
    node = (node.bitmap & bit) === 0 ? undefined : node.children[slotOf(node.bitmap, bit)];
  }
  return node?.entries.find((entry) => entry[0] === key);
}

function insertLeaf<Value>(node: Node<Value>, shift: number, leaf: Leaf<Value>, key: string): Node<Value> {
  if (node.children === null) {
    if (node.hash !== leaf.hash) return splitLeaves(node, leaf, shift);
    const others = withoutKey(node.entries, key);
    return others.length === 0 ? leaf : { hash: leaf.hash, entries: [...others, ...leaf.entries], children: null };
  }
  const bit = bitOf(leaf.hash, shift);
  const slot = slotOf(node.bitmap, bit);
  const child = (node.bitmap & bit) === 0 ? undefined : node.children[slot];
  if (child === undefined) return { bitmap: node.bitmap | bit, children: node.children.toSpliced(slot, 0, leaf) };
  return {
    bitmap: node.bitmap,
    children: replaceChild(node.children, slot, insertLeaf(child, shift + bits, leaf, key)),
  };
}

/** Returns the branches that separate two leaves with different hashes. */
function splitLeaves<Value>(left: Leaf<Value>, right: Leaf<Value>, shift: number): Branch<Value> {
  const [leftBit, rightBit] = [bitOf(left.hash, shift), bitOf(right.hash, shift)];
  if (leftBit === rightBit) return { bitmap: leftBit, children: [splitLeaves(left, right, shift + bits)] };
  // Unsigned, because the highest bit would otherwise sort first.
  const ordered = leftBit >>> 0 < rightBit >>> 0 ? [left, right] : [right, left];
  return { bitmap: leftBit | rightBit, children: ordered };
}

/** Returns the node without a key that it contains, or null if the node is then empty. */
function removeKey<Value>(node: Node<Value>, shift: number, hash: number, key: string): Node<Value> | null {
  if (node.children === null) {
    const entries = withoutKey(node.entries, key);
    return entries.length === 0 ? null : { hash, entries, children: null };
  }
  const bit = bitOf(hash, shift);
  const slot = slotOf(node.bitmap, bit);
  const child = removeKey(node.children[slot] as Node<Value>, shift + bits, hash, key);
  if (child !== null)
    return collapseBranch({ bitmap: node.bitmap, children: replaceChild(node.children, slot, child) });
  return collapseBranch({ bitmap: node.bitmap ^ bit, children: node.children.toSpliced(slot, 1) });
}

/** Replaces a branch over a single leaf by that leaf, so that adding and removing a key gives the original tree. */
function collapseBranch<Value>(branch: Branch<Value>): Node<Value> {
  const [child] = branch.children;
  return branch.children.length === 1 && child?.children === null ? child : branch;
}

/** Copies by `slice`, because `with` takes twice as long. */
function replaceChild<Item>(items: readonly Item[], slot: number, item: Item): readonly Item[] {
  const copy = items.slice();
  copy[slot] = item;
  return copy;
}

/** Only branches are remembered, because there are as many leaves as entries. */
function summarizeNode<Value, Sum>(node: Node<Value>, summary: TreeSummary<Entry<Value>, Sum>): Sum {
  if (node.children === null)
    return summary.ofParts(node.entries.toSorted(([left], [right]) => (left < right ? -1 : 1)));
  const known = summary.known.get(node);
  if (known !== undefined) return known;
  const sum = summary.ofBranch(node.children.map((child) => summarizeNode(child, summary)));
  summary.known.set(node, sum);
  return sum;
}

function* entriesOf<Value>(node: Node<Value> | null): Generator<Entry<Value>> {
  if (node === null) return;
  if (node.children === null) yield* node.entries;
  else for (const child of node.children) yield* entriesOf(child);
}

function withoutKey<Value>(entries: readonly Entry<Value>[], key: string): readonly Entry<Value>[] {
  return entries.filter((entry) => entry[0] !== key);
}

function bitOf(hash: number, shift: number): number {
  return 1 << ((hash >>> shift) & mask);
}

/** Returns the number of children before the one of this bit. */
function slotOf(bitmap: number, bit: number): number {
  let rest = bitmap & (bit - 1);
  rest -= (rest >>> 1) & 0x55555555;
  rest = (rest & 0x33333333) + ((rest >>> 2) & 0x33333333);
  return Math.imul((rest + (rest >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
