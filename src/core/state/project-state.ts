import { assert } from "../assert.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { parsePointer, pointerTo, withValueAt } from "../json/pointer.ts";
import { emptyTrieMap, TrieMap } from "../persistent/trie-map.ts";
import { Vector } from "../persistent/vector.ts";
import type { Change, Patch } from "./patch.ts";

/** The entries of one slice, and the version of the slice that they were written as. */
export type Entries =
  | { readonly shape: "list"; readonly v: string; readonly items: Vector<Json> }
  | { readonly shape: "map"; readonly v: string; readonly items: TrieMap<Json> };

/** All slices of a project, by the name that the record has for them. Every version of it stays valid. */
export type ProjectState = TrieMap<Entries>;

export const NO_STATE: ProjectState = emptyTrieMap<Entries>();

export function entriesFrom(value: readonly Json[] | JsonObject, v: string): Entries {
  if (isList(value)) return { shape: "list", v, items: Vector.from(value.map(frozen)) };
  return { shape: "map", v, items: mapFrom(Object.entries(value)) };
}

/** A state from its slices, each with its items, of a map in pairs of key and entry. */
export function stateFrom(slices: readonly SliceItems[]): ProjectState {
  let state = NO_STATE;
  for (const { name, v, shape, items } of slices) {
    if (shape === "list") state = state.set(name, entriesFrom(items, v));
    else state = state.set(name, { shape, v, items: mapFrom(items as readonly (readonly [string, Json])[]) });
  }
  return state;
}

interface SliceItems extends Pick<Entries, "v" | "shape"> {
  readonly name: string;
  readonly items: readonly Json[];
}

function mapFrom(pairs: Iterable<readonly [string, Json]>): TrieMap<Json> {
  let items = TrieMap.empty<Json>();
  for (const [key, entry] of pairs) items = items.set(key, frozen(entry));
  return items;
}

export function sorted(items: TrieMap<Json>): readonly (readonly [string, Json])[] {
  return [...items].sort(([left], [right]) => (left < right ? -1 : 1));
}

/** A slice in one piece; a map's keys in order, so that equal slices have equal texts. */
export function wholeOf(entries: Entries): readonly Json[] | JsonObject {
  return entries.shape === "list" ? [...entries.items] : Object.fromEntries(sorted(entries.items));
}

export function entryAt(entries: Entries | undefined, key: string): Json | undefined {
  if (entries?.shape === "map") return entries.items.get(key);
  const index = entries === undefined ? null : indexOf(key);
  return index !== null && index < (entries as Items).items.length ? (entries as Items).items.get(index) : undefined;
}

type Items = Extract<Entries, { shape: "list" }>;

/** State after a patch. Costs what the patch changes, however much there is beside it. */
export function patched(state: ProjectState, patch: Patch): ProjectState {
  let after = state;
  for (const change of patch) after = changed(after, change);
  return after;
}

type EntryChange = Extract<Change, { op: "set" | "remove" }>;

function changed(state: ProjectState, change: Change): ProjectState {
  const [name, key, ...inside] = tokensOf(change.path);
  assert(name !== undefined, "a change is of a slice");
  const entries = state.get(name);
  if (change.op === "init") return entries === undefined ? state.set(name, entriesFrom(change.value, change.v)) : state;
  assert(entries !== undefined, `${change.path} is in a slice that was brought into being`);
  if (change.op === "cut") return state.set(name, cut(entries, change.length));
  if (change.op === "append") return state.set(name, appended(entries, change.value));
  if (key !== undefined) return state.set(name, withEntry(entries, key, inside.reduce(pointerTo, ""), change));
  assert(change.op === "set" && isContainer(change.value), "a slice is never removed");
  return state.set(name, entriesFrom(change.value, change.v ?? entries.v));
}

function appended(entries: Entries, value: Json): Entries {
  assert(entries.shape === "list", "only lists have an end");
  return { ...entries, items: entries.items.push(frozen(value)) };
}

function cut(entries: Entries, length: number): Entries {
  assert(entries.shape === "list", "only lists have an end");
  return { ...entries, items: entries.items.take(length) };
}

function withEntry(entries: Entries, key: string, inside: string, change: EntryChange): Entries {
  if (change.op === "remove") {
    assert(entries.shape === "map" && inside === "", "only whole entries of a map are removed");
    return { ...entries, items: entries.items.delete(key) };
  }
  if (entries.shape === "map")
    return { ...entries, items: entries.items.set(key, entryWith(entries.items.get(key), inside, change.value)) };
  return { ...entries, items: withItem(entries.items, key, inside, change.value) };
}

function withItem(items: Vector<Json>, key: string, inside: string, value: Json): Vector<Json> {
  const index = indexOf(key);
  assert(index !== null && index < items.length, `a list is changed where it has entries, not at ${key}`);
  return items.set(index, entryWith(items.get(index), inside, value));
}

/** An entry with a value put inside it, or another entry. */
function entryWith(entry: Json | undefined, inside: string, value: Json): Json {
  if (inside === "") return frozen(value);
  const after = isObject(entry) ? withValueAt(entry, inside, value) : undefined;
  assert(after !== undefined, `the entry has a place ${inside}`);
  return frozen(after);
}

/** Whoever reads an entry holds the very one that is kept: nobody may change it in place. */
function frozen(value: Json): Json {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner as Json);
  return Object.freeze(value);
}

/** Which entry of a list a key means; null: none, though it may look like a number. */
export function indexOf(key: string): number | null {
  return /^(?:0|[1-9]\d{0,14})$/.test(key) ? Number(key) : null;
}

function isContainer(value: Json): value is readonly Json[] | JsonObject {
  return typeof value === "object" && value !== null;
}

function isList(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}

function tokensOf(pointer: string): readonly string[] {
  const tokens = parsePointer(pointer);
  assert(tokens !== null, `${pointer} is a JSON pointer`);
  return tokens;
}
