import { assertNames } from "../../core/judge.ts";

export type Path = readonly (string | number)[];

/** One table in memory: values under a primary key of several parts, listed in the order a database would keep. */
export class Shelf<Value> {
  readonly #items = new Map<string, readonly [Path, Value]>();

  get(...path: Path): Value | undefined {
    return this.#items.get(joined(path))?.[1];
  }

  set(path: Path, value: Value): void {
    this.#items.set(joined(path), [path, value]);
  }

  remove(...path: Path): void {
    this.#items.delete(joined(path));
  }

  /** All of it, or all below the first part of the key. */
  sorted(first?: string): readonly (readonly [Path, Value])[] {
    const items = [...this.#items.values()];
    return items.filter(([[part]]) => first === undefined || part === first).sort(([a], [b]) => comparePaths(a, b));
  }

  /** What follows a name below the first part of the key, by its name. */
  after(first: string, name: string, most: number): readonly (readonly [string, Value])[] {
    const below = this.sorted(first).map(([[, second], value]) => [String(second), value] as const);
    return below.filter(([second]) => compareParts(second, name) > 0).slice(0, most);
  }
}

function joined(path: Path): string {
  const parts = path.map(String);
  assertNames(...parts);
  return parts.join("\0");
}

const surrogate = /[\ud800-\udfff]/;

export function comparePaths(left: Path, right: Path): number {
  for (const [index, part] of left.entries()) {
    const order = compareParts(part, right[index] ?? "");
    if (order !== 0) return order;
  }
  return 0;
}

function compareParts(left: string | number, right: string | number): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  const [one, other] = [String(left), String(right)];
  // By bytes, as databases do: JavaScript would put some emoji before some letters, and only those.
  if (surrogate.test(one + other)) return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one === other ? 0 : one < other ? -1 : 1;
}
