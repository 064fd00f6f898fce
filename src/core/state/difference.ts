import { type Json, sameJson } from "../json/json.ts";
import { parsePointer, pointerTo } from "../json/pointer.ts";
import type { Patch } from "./patch.ts";
import { type Entries, entryAt, type ProjectState, wholeOf } from "./project-state.ts";

/** What is different at one place between two states. Absent: nothing is there. */
export interface Difference {
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** Which entries of a slice patches may have changed. */
export interface Touched {
  /** Any of them. */
  whole: boolean;
  /** Those from here on, in a list. */
  from: number;
  readonly keys: Set<string>;
}

/** Which entries patches may have changed, by slice. Costs what the patches do, not what there is. */
export function touchedBy(patches: Iterable<Patch>, before: ProjectState): ReadonlyMap<string, Touched> {
  const slices = new Map<string, Touched>();
  for (const patch of patches) {
    for (const change of patch) {
      const [name, key] = parsePointer(change.path) as readonly [string, string?];
      const touched = slices.get(name) ?? {
        whole: !before.has(name),
        from: lengthOf(before.get(name)),
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

/** What two states differ in, given the patches that lead from the one to the other. Entry by entry, in order. */
export function differences(
  before: ProjectState,
  after: ProjectState,
  patches: Iterable<Patch>,
): readonly Difference[] {
  const found: Difference[] = [];
  for (const [name, touched] of touchedBy(patches, before)) {
    const [old, now] = [before.get(name), after.get(name)];
    for (const key of keysOf(touched, old, now)) {
      const [was, is] = [entryAt(old, key), entryAt(now, key)];
      if (sameJson(was, is)) continue;
      const path = pointerTo(pointerTo("", name), key);
      found.push({ path, ...(was !== undefined && { before: was }), ...(is !== undefined && { after: is }) });
    }
  }
  return found.sort((left, right) => (left.path < right.path ? -1 : 1));
}

export function keysOf(
  { whole, from, keys }: Touched,
  before: Entries | undefined,
  after: Entries | undefined,
): Set<string> {
  if (whole)
    return new Set([before, after].flatMap((entries) => (entries === undefined ? [] : Object.keys(wholeOf(entries)))));
  const all = new Set(keys);
  const end = Math.max(lengthOf(before), lengthOf(after));
  for (let index = from; index < end; index += 1) all.add(String(index));
  return all;
}

export function lengthOf(entries: Entries | undefined): number {
  return entries?.shape === "list" ? entries.items.length : 0;
}
