import { pointerTo } from "../json/json-pointer.ts";
import { type Fault, fault } from "../values/fault.ts";
import { migratedEntries } from "./migrated-entries.ts";
import type { Patch, PatchOperation } from "./patch.ts";
import { type Entries, entriesFrom, entriesToJson, entryAt, type ProjectState } from "./project-state.ts";
import { findSlice, type Slice } from "./slice.ts";
import { findTouchedEntries, listLength } from "./state-difference.ts";

export interface RevertOptions {
  readonly slices: readonly Slice[];
  /** If true, logs are not reverted, because they record what happened. */
  readonly preserveLogs: boolean;
}

export type RevertResult = { readonly ok: true; readonly patch: Patch } | { readonly ok: false; readonly fault: Fault };

/**
 * Returns the patch that restores an earlier state. It is published like any other patch; no version is rewritten.
 * `since` are the patches from `then` to `now`. Caches are reset, because the data they were computed from has changed.
 */
export function revertPatch(
  now: ProjectState,
  then: ProjectState,
  since: Iterable<Patch>,
  options: RevertOptions,
): RevertResult {
  const changes: PatchOperation[] = [];
  for (const [name, touched] of findTouchedEntries(since, then)) {
    const slice = findSlice(options.slices, name);
    if (slice === undefined) return { ok: false, fault: undeclaredSliceFault(name) };
    if (slice.policy === "log" && options.preserveLogs) continue;
    const current = now.get(name) as Entries;
    const stored = then.get(name) ?? entriesFrom(slice.initial, slice.version);
    const old = migratedEntries(slice, slice.policy === "cache" ? entriesFrom(slice.initial, slice.version) : stored);
    if (!old.ok) return old;
    const place = pointerTo("", name);
    const isWhole = touched.whole || slice.policy === "cache" || old.entries !== stored || current.v !== slice.version;
    if (isWhole)
      changes.push({ op: "set", path: place, value: entriesToJson(old.entries), ...changedVersion(slice, current) });
    else changes.push(...revertEntries(place, old.entries, current, touched));
  }
  return { ok: true, patch: changes };
}

function revertEntries(
  place: string,
  old: Entries,
  current: Entries,
  { from, keys }: { readonly from: number; readonly keys: ReadonlySet<string> },
): readonly PatchOperation[] {
  const changes: PatchOperation[] = [];
  const end = listLength(old);
  const cutTo = Math.min(from, end);
  if (old.shape === "list" && listLength(current) > cutTo) changes.push({ op: "cut", path: place, length: cutTo });
  for (const key of keys) {
    const value = entryAt(old, key);
    if (old.shape === "list" && Number(key) >= cutTo) continue;
    if (value !== undefined) changes.push({ op: "set", path: pointerTo(place, key), value });
    else if (entryAt(current, key) !== undefined) changes.push({ op: "remove", path: pointerTo(place, key) });
  }
  for (let index = cutTo; index < end; index += 1)
    changes.push({ op: "append", path: place, value: entryAt(old, String(index)) as never });
  return changes;
}

/** Returns the version of the slice only if it differs from the stored one. */
function changedVersion({ version }: Slice, { v }: Entries): { readonly v?: string } {
  return v === version ? {} : { v: version };
}

function undeclaredSliceFault(name: string): Fault {
  const message = `${name} is stored, but no slice of that name is declared here; declare it again`;
  return fault("SLICE_CHANGED", message);
}
