import { pointerTo, valueAt } from "../json/json-pointer.ts";
import type { Json } from "../values/json.ts";
import type { StateValue } from "./read-state-value.ts";

/** One token of a pointer: a constant, or a pointer to a value of the input. */
export type PointerToken = string | { readonly input: string };

/** A pointer of a rule into state: a slice, an entry, and tokens inside the entry. */
export type StatePointer = readonly PointerToken[];

/**
 * The state that a condition reads, as its author declares it: a name for each pointer. A pointer is a text, or a list of
 * tokens. A token is constant, or names a value of the input.
 */
export type DeclaredState = Readonly<Record<string, string | readonly PointerToken[]>>;

/** State pointers by the names that the condition uses. */
export type NamedStatePointers = readonly (readonly [name: string, pointer: StatePointer])[];

/** Returns the path of a pointer for one call, or null if the input lacks one of its tokens. */
export function resolveStatePointer(pointer: StatePointer, input: Json): string | null {
  let path = "";
  for (const token of pointer) {
    const key = typeof token === "string" ? token : entryKey(valueAt(input, token.input));
    if (key === null) return null;
    path = pointerTo(path, key);
  }
  return path;
}

/** Accepts only texts and whole numbers: any other value has no unambiguous key. */
function entryKey(value: Json | undefined): string | null {
  if (typeof value === "string") return value;
  return Number.isSafeInteger(value) ? String(value) : null;
}

/** The state that a condition reads, by name; or why it cannot be read. */
export type CollectedState = { readonly state: Readonly<Record<string, Json>> } | { readonly wrong: string };

/** Collects the state for a condition by name, without absent values. */
export function collectState(
  pointers: NamedStatePointers,
  input: Json,
  readValue: (path: string) => StateValue | undefined,
): CollectedState {
  const state: Record<string, Json> = {};
  for (const [name, pointer] of pointers) {
    const path = resolveStatePointer(pointer, input);
    if (path === null) return { wrong: `the input does not contain the pointer of ${name}` };
    const found = readValue(path);
    if (found === undefined) return { wrong: `${path} was not loaded` };
    if ("wrong" in found) return found;
    if ("value" in found) state[name] = found.value;
  }
  return { state };
}
