import { assertStorableNames } from "../../core/store/check-entry.ts";

export type KeyPath = readonly (string | number)[];

/** A table in memory with a primary key of several parts, sorted as a database sorts. */
export class SortedTable<Value> {
  readonly #items = new Map<string, readonly [KeyPath, Value]>();

  get(...path: KeyPath): Value | undefined {
    return this.#items.get(joinPath(path))?.[1];
  }

  set(path: KeyPath, value: Value): void {
    this.#items.set(joinPath(path), [path, value]);
  }

  remove(...path: KeyPath): void {
    this.#items.delete(joinPath(path));
  }

  /** Returns all items, or those whose key has this first part. */
  sorted(first?: string): readonly (readonly [KeyPath, Value])[] {
    const items = [...this.#items.values()];
    return items.filter(([[part]]) => first === undefined || part === first).sort(([a], [b]) => compareKeyPaths(a, b));
  }

  /** Returns the items with this first part of the key whose second part follows `name`, by their second part. */
  after(first: string, name: string, most: number): readonly (readonly [string, Value])[] {
    const items = this.sorted(first).map(([[, second], value]) => [String(second), value] as const);
    return items.filter(([second]) => compareKeyParts(second, name) > 0).slice(0, most);
  }
}

function joinPath(path: KeyPath): string {
  const parts = path.map(String);
  assertStorableNames(...parts);
  return parts.join("\0");
}

const surrogate = /[\ud800-\udfff]/;

export function compareKeyPaths(left: KeyPath, right: KeyPath): number {
  for (const [index, part] of left.entries()) {
    const order = compareKeyParts(part, right[index] ?? "");
    if (order !== 0) return order;
  }
  return 0;
}

function compareKeyParts(left: string | number, right: string | number): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  const [one, other] = [String(left), String(right)];
  // By bytes, as databases compare. The order of JavaScript differs only for characters outside the basic plane.
  if (surrogate.test(one + other)) return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one === other ? 0 : one < other ? -1 : 1;
}
