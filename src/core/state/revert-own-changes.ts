import { parsePointer, pointerTo } from "../json/json-pointer.ts";
import type { LeftPlace } from "../ports/revert-report.ts";
import { type Json, sameJson } from "../values/json.ts";
import type { Patch, PatchOperation } from "./patch.ts";
import { applyPatch, type Entries, entriesFrom, entriesToJson, entryAt, type ProjectState } from "./project-state.ts";
import { findSlice, type Slice } from "./slice.ts";
import { listLength } from "./state-difference.ts";

/** A version of the state. `by` is the run that made it. `isOwn`: one of the calls to be reverted made it. */
export interface OwnedVersion {
  readonly patch: Patch;
  readonly by: string;
  readonly isOwn: boolean;
}

export interface RevertedChanges {
  /** The patch that puts the own places back, on the latest state. */
  readonly patch: Patch;
  /** The number of places that they put back. */
  readonly restored: number;
  /** The own places that stay as they are, because something else has changed them since. */
  readonly left: readonly LeftPlace[];
}

/**
 * Returns the changes that put back the places that the own versions wrote, as they were before the first of these
 * writes. A place is an entry, or a whole slice that was replaced. A place that another version has changed since stays.
 * Logs stay, because they record what happened; caches are emptied.
 */
export function revertOwnChanges(
  before: ProjectState,
  versions: readonly OwnedVersion[],
  slices: readonly Slice[],
): RevertedChanges {
  const reverts = new Map<string, SliceRevert>();
  let state = before;
  for (const { patch, by, isOwn } of versions) {
    for (const change of patch) {
      const [name = ""] = parsePointer(change.path) ?? [];
      if (isOwn && change.op !== "init" && !reverts.has(name)) reverts.set(name, new SliceRevert(name, slices));
      reverts.get(name)?.note(change, state.get(name), isOwn ? null : by);
      state = applyPatch(state, [change]);
    }
  }
  const patch: PatchOperation[] = [];
  const left: LeftPlace[] = [];
  let restored = 0;
  for (const [name, revert] of reverts) {
    const found = revert.revert(state.get(name) as Entries);
    patch.push(...found.patch);
    left.push(...found.left);
    restored += found.restored;
  }
  return { patch, restored, left };
}

/** A place as it was before the first own write. `by`: another run has changed it since. */
interface OwnPlace {
  readonly key: string;
  /** Undefined: there was no such entry. */
  readonly was: Json | undefined;
  readonly v: string;
  by: string | null;
}

/** The own places of one slice. */
class SliceRevert {
  readonly #place: string;
  readonly #slice: Slice | undefined;
  readonly #entries = new Map<string, OwnPlace>();
  /** The whole slice, if a call replaced it, and who changed it since. */
  #whole: { readonly was: Entries | undefined; by: string | null } | null = null;

  constructor(name: string, slices: readonly Slice[]) {
    this.#place = pointerTo("", name);
    this.#slice = findSlice(slices, name);
  }

  /** Notes a change. `now` are the entries before it. `by` is another run that made it; null: it is an own change. */
  note(change: PatchOperation, now: Entries | undefined, by: string | null): void {
    if (change.op === "init") return;
    const [, given] = parsePointer(change.path) ?? [];
    const key = change.op === "append" ? String(listLength(now)) : given;
    if (by !== null) this.#noteOther(change, key, by);
    else if (this.#whole !== null) return;
    else if (key === undefined) this.#whole = { was: now, by: null };
    else if (!this.#entries.has(key))
      this.#entries.set(key, { key, was: entryAt(now, key), v: now?.v ?? "", by: null });
  }

  #noteOther(change: PatchOperation, key: string | undefined, by: string): void {
    if (this.#whole !== null) this.#whole.by ??= by;
    if (key !== undefined) {
      const own = this.#entries.get(key);
      if (own !== undefined) own.by ??= by;
      return;
    }
    for (const own of this.#entries.values())
      if (change.op !== "cut" || Number(own.key) >= change.length) own.by ??= by;
  }

  revert(now: Entries): RevertedChanges {
    const slice = this.#slice;
    if (slice === undefined) return this.#leave(`no slice of that name is declared here`);
    if (slice.policy === "log") return NOTHING;
    if (slice.policy === "cache") return this.#replace(entriesFrom(slice.initial, slice.version), slice);
    if (now.v !== slice.version) return this.#leave("the form of the slice has changed");
    if (this.#whole === null) return this.#revertEntries(now);
    if (this.#whole.by !== null) return this.#leave(changedBy(this.#whole.by));
    const was = this.#whole.was ?? entriesFrom(slice.initial, slice.version);
    if (was.v !== slice.version) return this.#leave("the form of the slice has changed");
    const replaced = this.#replace(was, slice);
    const inside = this.#revertEntries(was);
    return {
      patch: [...replaced.patch, ...inside.patch],
      restored: replaced.restored,
      left: inside.left,
    };
  }

  #replace(was: Entries, { version }: Slice): RevertedChanges {
    const change = { op: "set", path: this.#place, value: entriesToJson(was), v: version } as const;
    return { patch: [change], restored: 1, left: [] };
  }

  #leave(why: string): RevertedChanges {
    const places =
      this.#whole === null ? [...this.#entries.keys()].map((key) => pointerTo(this.#place, key)) : [this.#place];
    return { patch: [], restored: 0, left: places.map((path) => ({ path, why })) };
  }

  #revertEntries(now: Entries): RevertedChanges {
    const patch: PatchOperation[] = [];
    const left: LeftPlace[] = [];
    let restored = 0;
    const added = new Set<number>();
    for (const { key, was, v, by } of this.#entries.values()) {
      const path = pointerTo(this.#place, key);
      const is = entryAt(now, key);
      if (by !== null) left.push({ path, why: changedBy(by) });
      else if (was === undefined && is === undefined) restored += 1;
      else if (was === undefined && now.shape === "list") added.add(Number(key));
      else if (was === undefined) {
        patch.push({ op: "remove", path });
        restored += 1;
      } else if (v !== now.v || (now.shape === "list" && is === undefined))
        left.push({ path, why: "the form of the slice has changed" });
      else {
        if (is === undefined || !sameJson(was, is)) patch.push({ op: "set", path, value: was });
        restored += 1;
      }
    }
    let length = listLength(now);
    while (added.delete(length - 1)) length -= 1;
    if (now.shape === "list" && length < now.items.length) {
      patch.push({ op: "cut", path: this.#place, length });
      restored += now.items.length - length;
    }
    for (const index of added)
      left.push({ path: pointerTo(this.#place, index), why: "later entries of the list follow it" });
    return { patch, restored, left };
  }
}

const NOTHING: RevertedChanges = { patch: [], restored: 0, left: [] };

function changedBy(by: string): string {
  return `run ${by} has changed it since`;
}
