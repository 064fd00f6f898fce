import { assert } from "../assert.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";

/** The tokens of a JSON pointer (RFC 6901), or null if the text is none. The empty pointer is the whole value. */
export function parsePointer(pointer: string): readonly string[] | null {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) return null;
  const tokens = pointer.slice(1).split("/");
  if (!pointer.includes("~")) return tokens;
  // ~1 first: "~01" is the token "~1", not "/".
  return /~(?![01])/.test(pointer) ? null : tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The pointer to one key or index below a pointer. */
export function pointerTo(parent: string, key: string | number): string {
  if (typeof key === "number" || !/[~/]/.test(key)) return `${parent}/${key}`;
  return `${parent}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** The value a pointer names, or undefined. Only what the value itself holds counts: nothing is inherited. */
export function valueAt(json: Json, pointer: string): Json | undefined {
  let value: Json | undefined = json;
  for (const token of tokensOf(pointer)) {
    value = childOf(value, token);
    if (value === undefined) return undefined;
  }
  return value;
}

/**
 * A copy of the object with a value put where the pointer says; missing parents become objects. Undefined if there is
 * no such place.
 */
export function withValueAt(object: JsonObject, pointer: string, value: Json): JsonObject | undefined {
  return withValuesAt(object, [[pointer, value]]);
}

/** The same for many values, in order. Each object or array on the way is copied once, however many pass through it. */
export function withValuesAt(object: JsonObject, values: Iterable<readonly [string, Json]>): JsonObject | undefined {
  const copy: Record<string, Json> = { ...object };
  const copied = new Set<Json>([copy]);
  for (const [pointer, value] of values) {
    const tokens = tokensOf(pointer);
    assert(tokens.length > 0, "the pointer to a value inside an object has a token");
    if (!hasPlaceFor(copy, tokens)) return undefined;
    place(copy, tokens, value, copied);
  }
  return copy;
}

/** Whether a value can be put there: no parent is a scalar, no array lacks the index, no key is `__proto__`. */
export function hasPlaceFor(object: JsonObject, tokens: readonly string[]): boolean {
  let parent: Json | undefined = object;
  for (const token of tokens) {
    if (token === "__proto__") return false;
    if (parent === undefined) continue;
    const child: Json | undefined = childOf(parent, token);
    if (child === undefined && !isObject(parent)) return false;
    parent = child;
  }
  return true;
}

/** Whether one of two places lies inside the other, or both are the same. */
export function overlap(left: string, right: string): boolean {
  return left === right || left.startsWith(`${right}/`) || right.startsWith(`${left}/`);
}

/** Anything with places to put values; a list is held by its indices. */
type Holder = Record<string, Json>;

function place(root: Holder, tokens: readonly string[], value: Json, copied: Set<Json>): void {
  let holder = root;
  for (const token of tokens.slice(0, -1)) {
    const child = childOf(holder, token);
    const own = child !== undefined && copied.has(child) ? child : shallowCopy(child);
    copied.add(own);
    holder[token] = own;
    holder = own as Holder;
  }
  holder[tokens.at(-1) as string] = value;
}

function shallowCopy(container: Json | undefined): Json {
  return Array.isArray(container) ? [...container] : { ...(container as JsonObject | undefined) };
}

function childOf(parent: Json, token: string): Json | undefined {
  if (Array.isArray(parent)) return /^(?:0|[1-9]\d*)$/.test(token) ? parent[Number(token)] : undefined;
  return isObject(parent) && Object.hasOwn(parent, token) ? parent[token] : undefined;
}

function tokensOf(pointer: string): readonly string[] {
  const tokens = parsePointer(pointer);
  assert(tokens !== null, `${pointer} is a JSON pointer`);
  return tokens;
}
