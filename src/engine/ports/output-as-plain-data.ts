import { hash } from "node:crypto";
import type { OutputBlobs } from "../../core/event/output-blobs.ts";
import { unsafeKeyProblem, valueLimits } from "../../core/json/check-json.ts";
import { isPlainObject } from "../../core/json/plain-object.ts";
import { isWellFormed, toWellFormed } from "../../core/json/well-formed-text.ts";
import type { Json } from "../../core/values/json.ts";
import { errorText } from "./thrown-fault.ts";

/** Stands in an output for bytes. `run.blob` returns them. */
export interface BlobReference {
  /** The SHA-256 of the bytes, in hexadecimal digits. */
  readonly blob: string;
  /** The number of bytes. */
  readonly bytes: number;
}

/** Stands in an output for a value that is no data, such as a stream or a cycle. */
export interface OmittedValue {
  readonly omitted: string;
}

/** An output as plain data. */
export interface PlainOutput {
  readonly value: Json;
  /** Null: the value refers to no bytes. */
  readonly contents: OutputBlobs | null;
}

/**
 * Returns an output of a tool as plain data, before anything judges it:
 * - nothing is null, a field without a value is left out; so is a function or a symbol
 * - a Date is ISO text, or null if it is invalid; an object with `toJSON` is what that returns
 * - a number that is not finite and a bigint are texts; -0 is 0
 * - a Map is an object, or a list of pairs if a key is no text; a Set and an array of numbers are lists
 * - bytes are a `BlobReference`; an Error is its name and message; any other object is its own fields
 * - a promise, a stream, a cycle, and a value that throws when it is read are an `OmittedValue`
 * - so is the whole output if it exceeds the limits of a value
 */
export function outputAsPlainData(value: unknown): PlainOutput {
  if (isPlainJson(value, new ReadBudget(), 0)) return { value: value as Json, contents: null };
  const copier = new OutputCopier();
  try {
    const copy = copier.copy(value) ?? null;
    return { value: copy, contents: copier.contents };
  } catch (error) {
    if (!(error instanceof TooLargeError)) throw error;
    return { value: { omitted: error.message }, contents: null };
  }
}

class TooLargeError extends Error {}

/** The parts of a value that may still be read. */
class ReadBudget {
  #nodes = valueLimits.nodes;
  #bytes = valueLimits.bytes;

  take(nodes: number, bytes: number): void {
    this.#nodes -= nodes;
    this.#bytes -= bytes;
    if (this.#nodes < 0) throw new TooLargeError(`an output of more than ${valueLimits.nodes} values`);
    if (this.#bytes < 0) throw new TooLargeError(`an output of more than ${valueLimits.bytes} bytes`);
  }

  /** A list can have billions of holes, so its length is checked before it is read. */
  assertRoom(nodes: number): void {
    if (nodes > this.#nodes) this.take(nodes, 0);
  }
}

/** True if the value needs no copy. Most outputs are plain, so this allocates nothing. */
function isPlainJson(value: unknown, budget: ReadBudget, depth: number): boolean {
  try {
    return isPlainPart(value, budget, depth);
  } catch {
    return false; // Its own code throws, or it is too large.
  }
}

function isPlainPart(value: unknown, budget: ReadBudget, depth: number): boolean {
  switch (typeof value) {
    case "string":
      budget.take(1, value.length);
      return isWellFormed(value);
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0);
    case "boolean":
      return true;
    case "object":
      if (value === null) return true;
      if (depth >= valueLimits.depth) return false;
      return Array.isArray(value) ? hasPlainItems(value, budget, depth) : hasPlainFields(value, budget, depth);
    default:
      return false;
  }
}

function hasPlainItems(list: readonly unknown[], budget: ReadBudget, depth: number): boolean {
  budget.assertRoom(list.length);
  budget.take(1 + list.length, 0);
  for (let index = 0; index < list.length; index += 1) if (!isPlainPart(list[index], budget, depth + 1)) return false;
  return true;
}

function hasPlainFields(value: object, budget: ReadBudget, depth: number): boolean {
  if (!isPlainObject(value)) return false;
  budget.take(1, 0);
  for (const key in value) {
    if (!Object.hasOwn(value, key) || !isPlainPart(value[key], budget, depth + 1)) return false;
    if (key === "__proto__" || key === "prototype" || key === "toJSON" || !isWellFormed(key)) return false;
  }
  return true;
}

/** Copies an output. Every part that is no data is replaced. */
class OutputCopier {
  readonly #budget = new ReadBudget();
  /** The containers around the part that is being read. */
  readonly #open: object[] = [];
  #contents: Record<string, string> | null = null;

  get contents(): OutputBlobs | null {
    return this.#contents;
  }

  /** Returns undefined for a value that has no plain form: nothing, a function or a symbol. */
  copy(value: unknown, key?: string): Json | undefined {
    this.#budget.take(1, 0);
    switch (typeof value) {
      case "string":
        return this.#text(value);
      case "number":
        if (!Number.isFinite(value)) return String(value);
        return value === 0 ? 0 : value;
      case "bigint":
        return this.#text(value.toString());
      case "boolean":
        return value;
      case "object":
        return value === null ? null : this.#object(value, key);
      default:
        return undefined;
    }
  }

  #text(text: string): string {
    this.#budget.take(0, text.length);
    return toWellFormed(text);
  }

  #object(value: object, key: string | undefined): Json | undefined {
    if (this.#open.includes(value)) return { omitted: "a cycle" };
    if (this.#open.length >= valueLimits.depth)
      throw new TooLargeError(`an output of more than ${valueLimits.depth} levels`);
    this.#open.push(value);
    try {
      return this.#container(value, key);
    } catch (error) {
      if (error instanceof TooLargeError) throw error;
      return { omitted: `it cannot be read: ${errorText(error)}` };
    } finally {
      this.#open.pop();
    }
  }

  #container(value: object, key: string | undefined): Json | undefined {
    if (Array.isArray(value)) return this.#list(value);
    const bytes = bytesOf(value);
    if (bytes !== null) return this.#blob(bytes);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    const { toJSON } = value as { readonly toJSON?: unknown };
    if (typeof toJSON === "function") return this.copy(toJSON.call(value, key ?? ""), key);
    if (value instanceof Map) return this.#map(value, key);
    if (value instanceof Set) return this.#list(Array.from(value));
    if (ArrayBuffer.isView(value)) return this.#list(value as unknown as ArrayLike<unknown>);
    if (value instanceof Error) return this.#fields({ ...value, name: value.name, message: value.message }, key);
    if (value instanceof RegExp) return this.#text(String(value));
    if (isBoxed(value)) return this.copy(Object(value).valueOf(), key);
    return isRecord(value) ? this.#fields(value, key) : { omitted: kindOf(value) };
  }

  #list(list: ArrayLike<unknown>): Json {
    this.#budget.assertRoom(list.length);
    return Array.from(list, (item, index) => this.copy(item, String(index)) ?? null);
  }

  #map(map: ReadonlyMap<unknown, unknown>, name: string | undefined): Json {
    const entries = Array.from(map);
    if (!entries.every(([key]) => typeof key === "string")) return this.#list(entries);
    return this.#fields(Object.fromEntries(entries), name);
  }

  /** Leaves out the keys that no value may have. */
  #fields(value: object, name: string | undefined): Json {
    const fields: Record<string, Json> = {};
    for (const key of Object.keys(value)) {
      if (unsafeKeyProblem(key, name) !== null) continue;
      const field = this.#field(value, key);
      this.#budget.take(0, key.length);
      if (field !== undefined) fields[toWellFormed(key)] = field;
    }
    return fields;
  }

  #field(value: object, key: string): Json | undefined {
    let field: unknown;
    try {
      field = (value as Record<string, unknown>)[key];
    } catch (error) {
      return { omitted: `it cannot be read: ${errorText(error)}` };
    }
    return this.copy(field, key);
  }

  #blob(bytes: Uint8Array): Json {
    this.#budget.take(0, Math.ceil(bytes.length / 3) * 4);
    const sha256 = hash("sha256", bytes);
    this.#contents ??= {};
    this.#contents[sha256] = Buffer.from(bytes).toString("base64");
    return { blob: sha256, bytes: bytes.length };
  }
}

function bytesOf(value: object): Uint8Array | null {
  if (value instanceof Uint8Array || value instanceof Uint8ClampedArray || value instanceof DataView)
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Uint8Array(value);
  return null;
}

function isBoxed(value: object): boolean {
  return value instanceof String || value instanceof Number || value instanceof Boolean || value instanceof BigInt;
}

/** An object with fields only: not a collection, a stream, a promise or another object of the language. */
function isRecord(value: object): boolean {
  if (Symbol.iterator in value || Symbol.asyncIterator in value) return false;
  const { then, pipe } = value as { readonly then?: unknown; readonly pipe?: unknown };
  if (typeof then === "function" || typeof pipe === "function") return false;
  return Object.prototype.toString.call(value) === "[object Object]";
}

function kindOf(value: object): string {
  const { name } = (value as { readonly constructor?: { readonly name?: unknown } }).constructor ?? {};
  return typeof name === "string" && name !== "" ? toWellFormed(name.slice(0, 100)) : "an object that is no data";
}
