import { type Fault, fault } from "../fault.ts";
import { pointerTo } from "../json/pointer.ts";
import { lengthOf, touchedBy } from "./difference.ts";
import type { Change, Patch } from "./patch.ts";
import { type Entries, entriesFrom, entryAt, type ProjectState, wholeOf } from "./project-state.ts";
import { type Slice, sliceNamed } from "./slice.ts";
import { currentEntries } from "./slice-version.ts";

export interface RevertTerms {
  readonly slices: readonly Slice[];
  /** Logs stay as they are: they tell what happened, and it did. */
  readonly preserveLogs: boolean;
}

export type Reverted = { readonly ok: true; readonly patch: Patch } | { readonly ok: false; readonly fault: Fault };

/**
 * The patch that makes state what it was. It goes on top like any other: nothing is rewritten. `since` are the patches that led
 * from then to now. Caches are emptied, because what they were made from is gone.
 */
export function reverting(now: ProjectState, then: ProjectState, since: Iterable<Patch>, terms: RevertTerms): Reverted {
  const changes: Change[] = [];
  for (const [name, touched] of touchedBy(since, then)) {
    const slice = sliceNamed(terms.slices, name);
    if (slice === undefined) return { ok: false, fault: gone(name) };
    if (slice.policy === "log" && terms.preserveLogs) continue;
    const current = now.get(name) as Entries;
    const kept = then.get(name) ?? entriesFrom(slice.initial, slice.version);
    const old = currentEntries(slice, slice.policy === "cache" ? entriesFrom(slice.initial, slice.version) : kept);
    if (!old.ok) return old;
    const place = pointerTo("", name);
    const isWhole = touched.whole || slice.policy === "cache" || old.entries !== kept || current.v !== slice.version;
    if (isWhole) changes.push({ op: "set", path: place, value: wholeOf(old.entries), ...versionOf(slice, current) });
    else changes.push(...entriesBack(place, old.entries, current, touched));
  }
  return { ok: true, patch: changes };
}

function entriesBack(
  place: string,
  old: Entries,
  current: Entries,
  { from, keys }: { readonly from: number; readonly keys: ReadonlySet<string> },
): readonly Change[] {
  const changes: Change[] = [];
  const end = lengthOf(old);
  const cutTo = Math.min(from, end);
  if (old.shape === "list" && lengthOf(current) > cutTo) changes.push({ op: "cut", path: place, length: cutTo });
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

/** Only where it is another one than the record has. */
function versionOf({ version }: Slice, { v }: Entries): { readonly v?: string } {
  return v === version ? {} : { v: version };
}

function gone(name: string): Fault {
  const message = `${name} is on record, but no slice of that name is declared here; declare it as it was`;
  return fault("SLICE_CHANGED", message);
}
