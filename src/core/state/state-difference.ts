import { parsePointer, pointerTo } from "../json/json-pointer.ts";
import { type Json, sameJson } from "../values/json.ts";
import type { Patch } from "./patch.ts";
import { type Entries, entriesToJson, entryAt, type ProjectState } from "./project-state.ts";

/** A difference between two states at one path. Absent: no value. */
export interface StateDifference {
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** The entries of a slice that patches may have changed. */
export interface TouchedEntries {
  /** True: any entry. */
  whole: boolean;
  /** The first index of a list from which all entries may have changed. */
  from: number;
  readonly keys: Set<string>;
}

/** Returns the entries that patches may have changed, by slice. The cost depends on the patches, not on the state. */
export function findTouchedEntries(
  patches: Iterable<Patch>,
  before: ProjectState,
): ReadonlyMap<string, TouchedEntries> {
  const slices = new Map<string, TouchedEntries>();
  for (const patch of patches) {
    for (const change of patch) {
      const [name, key] = parsePointer(change.path) as readonly [string, string?];
      const touched = slices.get(name) ?? {
        whole: !before.has(name),
        from: listLength(before.get(name)),
        keys: new Set(),
      };
      slices.set(name, touched);
      if (change.op === "cut") touched.from = Math.min(touched.from, change.length);
      else if (change.op === "set" && key === undefined) touched.whole = true;
      else if (key !== undefined) touched.keys.add(key);
    }
  }
  return slices;
}

/** Returns the differences between two states, given the patches between them, entry by entry, ordered by path. */
export function diffStates(
  before: ProjectState,
  after: ProjectState,
  patches: Iterable<Patch>,
): readonly StateDifference[] {
  const found: StateDifference[] = [];
  for (const [name, touched] of findTouchedEntries(patches, before)) {
    const [old, now] = [before.get(name), after.get(name)];
    for (const key of touchedKeys(touched, old, now)) {
      const [was, is] = [entryAt(old, key), entryAt(now, key)];
      if (sameJson(was, is)) continue;
      const path = pointerTo(pointerTo("", name), key);
      found.push({ path, ...(was !== undefined && { before: was }), ...(is !== undefined && { after: is }) });
    }
  }
  return found.sort((left, right) => (left.path < right.path ? -1 : 1));
}

export function touchedKeys(
  { whole, from, keys }: TouchedEntries,
  before: Entries | undefined,
  after: Entries | undefined,
): Set<string> {
  if (whole)
    return new Set(
      [before, after].flatMap((entries) => (entries === undefined ? [] : Object.keys(entriesToJson(entries)))),
    );
  const all = new Set(keys);
  const end = Math.max(listLength(before), listLength(after));
  for (let index = from; index < end; index += 1) all.add(String(index));
  return all;
}

export function listLength(entries: Entries | undefined): number {
  return entries?.shape === "list" ? entries.items.length : 0;
}
