import { parsePointer } from "../json/json-pointer.ts";

/** The maximum number of pointers that a tool or a step may declare. */
export const STATE_POINTERS_MAX = 100;

/** True for a JSON pointer whose first token can name a slice. */
export function isStatePointer(pointer: string): boolean {
  return (parsePointer(pointer)?.[0] ?? "") !== "";
}

/** The state that a call or step accesses, as JSON pointers whose first token is a slice; null: not declared. */
export interface StateAccess {
  readonly state_reads: readonly string[] | null;
  readonly state_writes: readonly string[] | null;
}

/** The last accesses to a pointer: its writer, the readers since then, and the accesses inside it. */
interface PointerNode<Item> {
  writer: Item | null;
  readers: Item[];
  readonly inside: Map<string, PointerNode<Item>>;
}

/**
 * Computes which earlier accesses each access waits for, in the order given: a read waits for the last write, a write
 * for the last write and the reads since. Pointers inside and around count too. Accesses before the last write are
 * omitted, because that write waits for them.
 */
export class StateAccessOrder<Item> {
  readonly #root: PointerNode<Item> = newNode();

  /** Returns the earlier items that the next one waits for. */
  next(item: Item, { state_reads, state_writes }: StateAccess): ReadonlySet<Item> {
    const before = new Set<Item>();
    for (const pointer of state_reads ?? []) this.#read(item, parsePointer(pointer) ?? [], before);
    for (const pointer of state_writes ?? []) this.#write(item, parsePointer(pointer) ?? [], before);
    before.delete(item);
    return before;
  }

  #read(item: Item, tokens: readonly string[], before: Set<Item>): void {
    const place = this.#reach(tokens, ({ writer }) => addIfPresent(before, writer));
    visitSubtree(place, ({ writer }) => addIfPresent(before, writer));
    place.readers.push(item);
  }

  #write(item: Item, tokens: readonly string[], before: Set<Item>): void {
    const touched = ({ writer, readers }: PointerNode<Item>) => {
      addIfPresent(before, writer);
      for (const reader of readers) before.add(reader);
    };
    const place = this.#reach(tokens, touched);
    visitSubtree(place, touched);
    // A later access waits for this write, and so for all accesses before it.
    place.writer = item;
    place.readers = [];
    place.inside.clear();
  }

  /** Returns the node at a pointer, created if needed, and calls `around` for each parent. */
  #reach(tokens: readonly string[], around: (node: PointerNode<Item>) => void): PointerNode<Item> {
    let at = this.#root;
    for (const token of tokens) {
      around(at);
      const found = at.inside.get(token) ?? newNode<Item>();
      at.inside.set(token, found);
      at = found;
    }
    return at;
  }
}

function newNode<Item>(): PointerNode<Item> {
  return { writer: null, readers: [], inside: new Map() };
}

/** Visits the node and all nodes inside it. */
function visitSubtree<Item>(at: PointerNode<Item>, visit: (node: PointerNode<Item>) => void): void {
  visit(at);
  for (const inner of at.inside.values()) visitSubtree(inner, visit);
}

function addIfPresent<Item>(to: Set<Item>, item: Item | null): void {
  if (item !== null) to.add(item);
}

/** True if the pointer is inside a declared one, or if nothing is declared. */
export function isDeclaredPointer(declared: readonly string[] | null, pointer: string): boolean {
  return declared === null || declared.some((place) => pointer === place || pointer.startsWith(`${place}/`));
}
