import { parsePointer, pointerTo, withValueAt } from "../json/json-pointer.ts";
import { emptyTrieMap, TrieMap } from "../persistent/trie-map.ts";
import { Vector } from "../persistent/vector.ts";
import { assert } from "../values/assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";
import type { Patch, PatchOperation } from "./patch.ts";

/** The entries of one slice, and the version of the slice in which they were written. */
export type Entries =
  | { readonly shape: "list"; readonly v: string; readonly items: Vector<Json> }
  | { readonly shape: "map"; readonly v: string; readonly items: TrieMap<Json> };

/** All slices of a project, by recorded name. Every version of it stays valid. */
export type ProjectState = TrieMap<Entries>;

export const EMPTY_STATE: ProjectState = emptyTrieMap<Entries>();

export function entriesFrom(value: readonly Json[] | JsonObject, v: string): Entries {
  if (isList(value)) return { shape: "list", v, items: Vector.from(value.map(deepFreeze)) };
  return { shape: "map", v, items: mapFrom(Object.entries(value)) };
}

/** Builds a state from its slices. The items of a map are pairs of key and entry. */
export function stateFromSlices(slices: readonly SliceItems[]): ProjectState {
  let state = EMPTY_STATE;
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
  for (const [key, entry] of pairs) items = items.set(key, deepFreeze(entry));
  return items;
}

export function sortedPairs(items: TrieMap<Json>): readonly (readonly [string, Json])[] {
  return [...items].sort(([left], [right]) => (left < right ? -1 : 1));
}

/** Returns a slice as JSON, with sorted keys for a map, so that equal slices have equal texts. */
export function entriesToJson(entries: Entries): readonly Json[] | JsonObject {
  return entries.shape === "list" ? [...entries.items] : Object.fromEntries(sortedPairs(entries.items));
}

export function entryAt(entries: Entries | undefined, key: string): Json | undefined {
  if (entries?.shape === "map") return entries.items.get(key);
  const index = entries === undefined ? null : parseListIndex(key);
  return index !== null && index < (entries as ListEntries).items.length
    ? (entries as ListEntries).items.get(index)
    : undefined;
}

type ListEntries = Extract<Entries, { shape: "list" }>;

/** Returns the state after a patch. The cost depends on the size of the patch, not of the state. */
export function applyPatch(state: ProjectState, patch: Patch): ProjectState {
  let after = state;
  for (const change of patch) after = applyOperation(after, change);
  return after;
}

type EntryChange = Extract<PatchOperation, { op: "set" | "remove" }>;

function applyOperation(state: ProjectState, change: PatchOperation): ProjectState {
  const [name, key, ...inside] = tokensOf(change.path);
  assert(name !== undefined, "a change names a slice");
  const entries = state.get(name);
  if (change.op === "init") return entries === undefined ? state.set(name, entriesFrom(change.value, change.v)) : state;
  assert(entries !== undefined, `${change.path} is in an existing slice`);
  if (change.op === "cut") return state.set(name, truncateEntries(entries, change.length));
  if (change.op === "append") return state.set(name, appendEntry(entries, change.value));
  if (key !== undefined) return state.set(name, changeEntry(entries, key, inside.reduce(pointerTo, ""), change));
  assert(change.op === "set" && isContainer(change.value), "a slice is never removed");
  return state.set(name, entriesFrom(change.value, change.v ?? entries.v));
}

function appendEntry(entries: Entries, value: Json): Entries {
  assert(entries.shape === "list", "only a list can be appended to or cut");
  return { ...entries, items: entries.items.push(deepFreeze(value)) };
}

function truncateEntries(entries: Entries, length: number): Entries {
  assert(entries.shape === "list", "only a list can be appended to or cut");
  return { ...entries, items: entries.items.take(length) };
}

function changeEntry(entries: Entries, key: string, inside: string, change: EntryChange): Entries {
  if (change.op === "remove") {
    assert(entries.shape === "map" && inside === "", "only whole entries of a map are removed");
    return { ...entries, items: entries.items.delete(key) };
  }
  if (entries.shape === "map")
    return { ...entries, items: entries.items.set(key, entryWithValue(entries.items.get(key), inside, change.value)) };
  return { ...entries, items: changeListItem(entries.items, key, inside, change.value) };
}

function changeListItem(items: Vector<Json>, key: string, inside: string, value: Json): Vector<Json> {
  const index = parseListIndex(key);
  assert(index !== null && index < items.length, `a list is changed at an existing index, not at ${key}`);
  return items.set(index, entryWithValue(items.get(index), inside, value));
}

/** Returns an entry with a value set inside it, or the value as the new entry. */
function entryWithValue(entry: Json | undefined, inside: string, value: Json): Json {
  if (inside === "") return deepFreeze(value);
  const after = isJsonObject(entry) ? withValueAt(entry, inside, value) : undefined;
  assert(after !== undefined, `a value can be set at ${inside} in the entry`);
  return deepFreeze(after);
}

/** Freezes an entry, because readers receive the stored entry itself. */
function deepFreeze(value: Json): Json {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner as Json);
  return Object.freeze(value);
}

/** Returns the list index that a key names, or null. */
export function parseListIndex(key: string): number | null {
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
