import { type Fault, fault } from "../values/fault.ts";
import type { Json } from "../values/json.ts";
import type { Patch } from "./patch.ts";
import { applyPatch, EMPTY_STATE, type Entries, entriesToJson, entryAt, type ProjectState } from "./project-state.ts";
import { findSlice, type Slice, type SliceFold } from "./slice.ts";
import { findTouchedEntries, listLength } from "./state-difference.ts";

type FoldedSlice = Slice & { readonly fold: SliceFold };

/** The sums of slices. Each is computed from the previous one, so that the cost depends on the size of the change. */
export class SliceSums {
  readonly #slices: readonly FoldedSlice[];
  /** The sums by entries, which are immutable. */
  readonly #sums = new WeakMap<Entries, Json>();

  constructor(slices: readonly Slice[]) {
    this.#slices = slices.filter((slice): slice is FoldedSlice => slice.fold !== null);
  }

  /** Returns the fault if the state after a patch breaks a condition on a whole slice, or null. */
  findFault(before: ProjectState, patch: Patch): Fault | null {
    if (this.#slices.length === 0 || patch.length === 0) return null;
    const after = applyPatch(before, patch);
    for (const [name, slice] of this.#touched(patch)) {
      const broken = this.#check(slice, name, { before, patch, after });
      if (broken !== null) return fault("STATE_INVALID", `${slice.name} as a whole ${broken}`);
    }
    return null;
  }

  /** Called when the patch is published: computes the sums of the new state from the known sums of the old one. */
  carry(before: ProjectState, patch: Patch, after: ProjectState): void {
    if (this.#slices.length === 0) return;
    for (const [name, slice] of this.#touched(patch)) {
      const known = before.get(name);
      if (known !== undefined && this.#sums.has(known)) this.#check(slice, name, { before, patch, after });
    }
  }

  #touched(patch: Patch): ReadonlyMap<string, FoldedSlice> {
    const found = new Map<string, FoldedSlice>();
    for (const name of findTouchedEntries([patch], EMPTY_STATE).keys()) {
      const slice = findSlice(this.#slices, name);
      if (slice !== undefined) found.set(name, slice as FoldedSlice);
    }
    return found;
  }

  #check(slice: FoldedSlice, name: string, step: StateTransition): string | null {
    try {
      const entries = step.after.get(name) as Entries;
      const sum = this.#sums.get(entries) ?? this.#sumAfter(slice, name, step);
      this.#sums.set(entries, sum);
      return slice.fold.holds(sum);
    } catch (error) {
      const message = error instanceof Error ? error.message : "a value that is not an Error was thrown";
      return `could not be checked: ${message}`;
    }
  }

  #sumAfter(slice: FoldedSlice, name: string, { before, patch, after }: StateTransition): Json {
    const [old, now] = [before.get(name), after.get(name) as Entries];
    const touched = findTouchedEntries([patch], before).get(name);
    if (old === undefined || touched === undefined || touched.whole) return this.#sumOf(slice, now);
    let sum = this.#sums.get(old) ?? this.#sumOf(slice, old);
    this.#sums.set(old, sum);
    const keys = new Set(touched.keys);
    for (let index = touched.from; index < Math.max(listLength(old), listLength(now)); index += 1)
      keys.add(String(index));
    for (const key of keys) {
      const at = slice.shape === "list" ? Number(key) : key;
      const [was, is] = [entryAt(old, key), entryAt(now, key)];
      if (was !== undefined) sum = slice.fold.remove(sum, was, at);
      if (is !== undefined) sum = slice.fold.add(sum, is, at);
    }
    return sum;
  }

  #sumOf({ fold, shape }: FoldedSlice, entries: Entries): Json {
    let sum = fold.begin;
    for (const [key, entry] of Object.entries(entriesToJson(entries)))
      sum = fold.add(sum, entry, shape === "list" ? Number(key) : key);
    return sum;
  }
}

/** One change of state. */
interface StateTransition {
  readonly before: ProjectState;
  readonly patch: Patch;
  readonly after: ProjectState;
}
