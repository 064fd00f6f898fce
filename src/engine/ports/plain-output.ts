import { valueLimits } from "../../core/json/check-json.ts";

/** The parts of a value that may still be read. */
interface ReadBudget {
  nodes: number;
}

/**
 * Returns an output of a tool as plain data: nothing is null, a Date is ISO text, an object with `toJSON` is what that
 * returns, and an object of a class is its fields. Returns the value itself if it has none of these, or if it is too
 * large. Numbers that are not finite, bigints, bytes, streams, maps and functions stay as they are: they are no JSON.
 */
export function plainOutput(value: unknown): unknown {
  const budget: ReadBudget = { nodes: valueLimits.nodes };
  const plain = value === undefined ? null : toPlain(value, budget, valueLimits.depth);
  return budget.nodes < 0 ? value : plain;
}

function toPlain(value: unknown, budget: ReadBudget, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  budget.nodes -= Array.isArray(value) ? 1 + value.length : 1;
  if (budget.nodes < 0 || depth <= 0) {
    budget.nodes = -1;
    return value;
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? value : value.toISOString();
  if (Array.isArray(value)) return plainItems(value, budget, depth);
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === "function") return toPlain(toJSON.call(value), budget, depth - 1);
  return isRecord(value) ? plainFields(value, budget, depth) : value;
}

/** An object with fields only: not a collection, a stream, a promise or another object of the language. */
function isRecord(value: object): value is Record<string, unknown> {
  if (Symbol.iterator in value || Symbol.asyncIterator in value || "then" in value) return false;
  return Object.prototype.toString.call(value) === "[object Object]";
}

function plainItems(list: readonly unknown[], budget: ReadBudget, depth: number): unknown {
  const items = list.map((item) => (item === undefined ? null : toPlain(item, budget, depth - 1)));
  return items.every((item, at) => item === list[at]) ? list : items;
}

function plainFields(value: Record<string, unknown>, budget: ReadBudget, depth: number): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  const entries = Object.entries(value);
  const fields = entries
    .filter(([, field]) => field !== undefined)
    .map(([name, field]) => [name, toPlain(field, budget, depth - 1)] as const);
  const isPlain = prototype === Object.prototype || prototype === null;
  const isSame = isPlain && fields.length === entries.length && fields.every(([name, field]) => field === value[name]);
  return isSame ? value : Object.fromEntries(fields);
}
