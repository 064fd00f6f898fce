import { assert } from "../values/assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";

/**
 * Returns the tokens of a JSON pointer (RFC 6901), or null if the text is not one. The empty pointer names the whole
 * value.
 */
export function parsePointer(pointer: string): readonly string[] | null {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) return null;
  const tokens = pointer.slice(1).split("/");
  if (!pointer.includes("~")) return tokens;
  // ~1 first: "~01" is the token "~1", not "/".
  return /~(?![01])/.test(pointer) ? null : tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Returns the pointer to one key or index below a pointer. */
export function pointerTo(parent: string, key: string | number): string {
  if (typeof key === "number" || !/[~/]/.test(key)) return `${parent}/${key}`;
  return `${parent}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Returns the value that a pointer names, or undefined. Inherited members are ignored. */
export function valueAt(json: Json, pointer: string): Json | undefined {
  let value: Json | undefined = json;
  for (const token of tokensOf(pointer)) {
    value = childOf(value, token);
    if (value === undefined) return undefined;
  }
  return value;
}

/**
 * Returns a copy of the object with a value set at the pointer; missing parents become objects. Returns undefined if
 * the value cannot be set there.
 */
export function withValueAt(object: JsonObject, pointer: string, value: Json): JsonObject | undefined {
  return withValuesAt(object, [[pointer, value]]);
}

/** The same for many values, in order. Each parent object or array is copied once, however many values it contains. */
export function withValuesAt(object: JsonObject, values: Iterable<readonly [string, Json]>): JsonObject | undefined {
  const copy: Record<string, Json> = { ...object };
  const copied = new Set<Json>([copy]);
  for (const [pointer, value] of values) {
    const tokens = tokensOf(pointer);
    assert(tokens.length > 0, "the pointer to a value inside an object has a token");
    if (!canSetAt(copy, tokens)) return undefined;
    setAt(copy, tokens, value, copied);
  }
  return copy;
}

/** True if a value can be set there: no parent is a scalar, no array lacks the index, no key is `__proto__`. */
export function canSetAt(object: JsonObject, tokens: readonly string[]): boolean {
  let parent: Json | undefined = object;
  for (const token of tokens) {
    if (token === "__proto__") return false;
    if (parent === undefined) continue;
    const child: Json | undefined = childOf(parent, token);
    if (child === undefined && !isJsonObject(parent)) return false;
    parent = child;
  }
  return true;
}

/** True if the pointers are equal or one names a value inside the other's. */
export function pointersOverlap(left: string, right: string): boolean {
  return left === right || left.startsWith(`${right}/`) || right.startsWith(`${left}/`);
}

/** An object, or a list accessed by its indices. */
type Container = Record<string, Json>;

function setAt(root: Container, tokens: readonly string[], value: Json, copied: Set<Json>): void {
  let holder = root;
  for (const token of tokens.slice(0, -1)) {
    const child = childOf(holder, token);
    const own = child !== undefined && copied.has(child) ? child : shallowCopy(child);
    copied.add(own);
    holder[token] = own;
    holder = own as Container;
  }
  holder[tokens.at(-1) as string] = value;
}

function shallowCopy(container: Json | undefined): Json {
  return Array.isArray(container) ? [...container] : { ...(container as JsonObject | undefined) };
}

function childOf(parent: Json, token: string): Json | undefined {
  if (Array.isArray(parent)) return /^(?:0|[1-9]\d*)$/.test(token) ? parent[Number(token)] : undefined;
  return isJsonObject(parent) && Object.hasOwn(parent, token) ? parent[token] : undefined;
}

function tokensOf(pointer: string): readonly string[] {
  const tokens = parsePointer(pointer);
  assert(tokens !== null, `${pointer} is a JSON pointer`);
  return tokens;
}
