import { type Fault, fault } from "../fault.ts";
import type { Json } from "../json/json.ts";
import { lengthOf, touchedBy } from "./difference.ts";
import type { Patch } from "./patch.ts";
import { type Entries, entryAt, NO_STATE, type ProjectState, patched, wholeOf } from "./project-state.ts";
import { type Slice, type SliceFold, sliceNamed } from "./slice.ts";

type Folding = Slice & { readonly fold: SliceFold };

/** The sums of slices. Each is carried on from the one before, so that judging a change costs what the change does. */
export class SliceFolds {
  readonly #slices: readonly Folding[];
  /** Of entries that never change. */
  readonly #sums = new WeakMap<Entries, Json>();

  constructor(slices: readonly Slice[]) {
    this.#slices = slices.filter((slice): slice is Folding => slice.fold !== null);
  }

  /** Why a state may not become what a patch makes of it; null: it may. */
  flawIn(before: ProjectState, patch: Patch): Fault | null {
    if (this.#slices.length === 0 || patch.length === 0) return null;
    const after = patched(before, patch);
    for (const [name, slice] of this.#touched(patch)) {
      const broken = this.#judged(slice, name, { before, patch, after });
      if (broken !== null) return fault("STATE_INVALID", `${slice.name} as a whole ${broken}`);
    }
    return null;
  }

  /** The patch was published: what is known of the state before it is known of the one after. */
  carry(before: ProjectState, patch: Patch, after: ProjectState): void {
    if (this.#slices.length === 0) return;
    for (const [name, slice] of this.#touched(patch)) {
      const known = before.get(name);
      if (known !== undefined && this.#sums.has(known)) this.#judged(slice, name, { before, patch, after });
    }
  }

  #touched(patch: Patch): ReadonlyMap<string, Folding> {
    const found = new Map<string, Folding>();
    for (const name of touchedBy([patch], NO_STATE).keys()) {
      const slice = sliceNamed(this.#slices, name);
      if (slice !== undefined) found.set(name, slice as Folding);
    }
    return found;
  }

  #judged(slice: Folding, name: string, step: Step): string | null {
    try {
      const entries = step.after.get(name) as Entries;
      const sum = this.#sums.get(entries) ?? this.#sumAfter(slice, name, step);
      this.#sums.set(entries, sum);
      return slice.fold.holds(sum);
    } catch (error) {
      return `could not be judged: ${error instanceof Error ? error.message : "something that is no error was thrown"}`;
    }
  }

  #sumAfter(slice: Folding, name: string, { before, patch, after }: Step): Json {
    const [old, now] = [before.get(name), after.get(name) as Entries];
    const touched = touchedBy([patch], before).get(name);
    if (old === undefined || touched === undefined || touched.whole) return this.#sumOf(slice, now);
    let sum = this.#sums.get(old) ?? this.#sumOf(slice, old);
    this.#sums.set(old, sum);
    const keys = new Set(touched.keys);
    for (let index = touched.from; index < Math.max(lengthOf(old), lengthOf(now)); index += 1) keys.add(String(index));
    for (const key of keys) {
      const at = slice.shape === "list" ? Number(key) : key;
      const [was, is] = [entryAt(old, key), entryAt(now, key)];
      if (was !== undefined) sum = slice.fold.remove(sum, was, at);
      if (is !== undefined) sum = slice.fold.add(sum, is, at);
    }
    return sum;
  }

  #sumOf({ fold, shape }: Folding, entries: Entries): Json {
    let sum = fold.begin;
    for (const [key, entry] of Object.entries(wholeOf(entries)))
      sum = fold.add(sum, entry, shape === "list" ? Number(key) : key);
    return sum;
  }
}

/** One change of state. */
interface Step {
  readonly before: ProjectState;
  readonly patch: Patch;
  readonly after: ProjectState;
}
