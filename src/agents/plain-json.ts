import type { Json } from "../core/values/json.ts";

/** The deepest value that is read. A deeper part is replaced by a text that says so. */
const DEPTH_MAX = 64;

/**
 * Returns any value as JSON, so that neither the input nor the output of a framework's tool fails for its form: nothing
 * is null, a Date is ISO text, bytes are a data URL, a bigint or a number that is not finite is its text, an Error is
 * its name and message, a Map is an object, a Set is a list, an object of a class is its fields. Returns the value
 * itself if it is JSON.
 */
export function plainJson(value: unknown): Json {
  return toJson(value, new Set(), 0);
}

function toJson(value: unknown, above: Set<object>, depth: number): Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return value.toString();
    case "object":
      return value === null ? null : objectToJson(value, above, depth);
    default:
      return null;
  }
}

function objectToJson(value: object, above: Set<object>, depth: number): Json {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Error) return { name: value.name, message: value.message };
  const bytes = bytesOf(value);
  if (bytes !== null) return `data:application/octet-stream;base64,${bytes.toString("base64")}`;
  if (above.has(value)) return "[circular]";
  if (depth >= DEPTH_MAX) return "[too deep]";
  above.add(value);
  const json = partsToJson(value, above, depth + 1);
  above.delete(value);
  return json;
}

function bytesOf(value: object): Buffer | null {
  if (value instanceof ArrayBuffer) return Buffer.from(value);
  return ArrayBuffer.isView(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : null;
}

function partsToJson(value: object, above: Set<object>, depth: number): Json {
  if (Array.isArray(value)) return listToJson(value, above, depth);
  if (value instanceof Set) return Array.from(value, (item) => toJson(item, above, depth));
  if (value instanceof Map) return fieldsToJson(Array.from(value), above, depth);
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === "function") return toJson(toJSON.call(value), above, depth);
  const entries = Object.entries(value);
  const fields = fieldsToJson(entries, above, depth);
  const isSame =
    Object.getPrototypeOf(value) === Object.prototype && entries.every(([name, field]) => fields[name] === field);
  return isSame ? (value as Json) : fields;
}

function listToJson(list: readonly unknown[], above: Set<object>, depth: number): Json {
  const items = Array.from(list, (item) => toJson(item, above, depth));
  return items.every((item, at) => item === list[at]) ? (list as readonly Json[]) : items;
}

/** A field without a value, such as a function, is left out. */
function fieldsToJson(entries: readonly (readonly [unknown, unknown])[], above: Set<object>, depth: number) {
  const fields: Record<string, Json> = {};
  for (const [name, field] of entries) {
    if (field === undefined || typeof field === "function" || typeof field === "symbol") continue;
    Object.defineProperty(fields, String(name), {
      value: toJson(field, above, depth),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return fields;
}
