import { assert } from "./assert.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";

/** The tokens of a JSON pointer (RFC 6901), or null if the text is none. The empty pointer is the whole value. */
export function parsePointer(pointer: string): readonly string[] | null {
  if (pointer === "") return [];
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) return null;
  // ~1 first: "~01" is the token "~1", not "/".
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The pointer to one key or index below a pointer. */
export function pointerTo(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
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
 * no such place: a parent is neither object nor array, the array has no such index, or the key is `__proto__`.
 */
export function withValueAt(object: JsonObject, pointer: string, value: Json): JsonObject | undefined {
  const tokens = tokensOf(pointer);
  assert(tokens.length > 0, "the pointer to a value inside an object has a token");
  return placed(object, tokens, value) as JsonObject | undefined;
}

/** Whether one of two places lies inside the other, or both are the same. */
export function overlap(left: string, right: string): boolean {
  return left === right || left.startsWith(`${right}/`) || right.startsWith(`${left}/`);
}

function placed(parent: Json | undefined, tokens: readonly string[], value: Json): Json | undefined {
  const [token, ...rest] = tokens;
  if (token === undefined) return value;
  const child = placed(parent === undefined ? undefined : childOf(parent, token), rest, value);
  if (child === undefined || token === "__proto__") return undefined;
  if (parent === undefined) return { [token]: child };
  if (Array.isArray(parent))
    return childOf(parent, token) === undefined ? undefined : parent.with(Number(token), child);
  return isObject(parent) ? { ...parent, [token]: child } : undefined;
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
