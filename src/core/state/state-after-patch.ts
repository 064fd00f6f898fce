import { parsePointer, pointerTo } from "../json/json-pointer.ts";
import type { Json } from "../values/json.ts";
import type { Patch } from "./patch.ts";
import { applyPatch, type ProjectState } from "./project-state.ts";
import { readStateValue, type StateScope, type StateValue } from "./read-state-value.ts";
import { recordedSliceName } from "./slice.ts";
import { findTouchedEntries, type TouchedEntries, touchedKeys } from "./state-difference.ts";

/** The state as a patch would leave it, for policy rules. The cost of reading it depends on the size of the patch. */
export class StateAfterPatch {
  readonly #before: ProjectState;
  readonly #after: ProjectState;
  readonly #scope: StateScope;
  readonly #touched: ReadonlyMap<string, TouchedEntries>;

  constructor(before: ProjectState, patch: Patch, scope: StateScope) {
    this.#before = before;
    this.#after = applyPatch(before, patch);
    this.#scope = scope;
    this.#touched = findTouchedEntries([patch], before);
  }

  at(place: string): StateValue {
    return readStateValue(this.#after, this.#scope, place);
  }

  /** True if the entry that contains the pointer may have changed. */
  touches(place: string): boolean {
    const [name = "", key = ""] = parsePointer(place) ?? [];
    const touched = this.#touchedIn(name);
    if (touched === undefined) return false;
    // May be true too often for a map with numeric keys.
    return touched.whole || touched.keys.has(key) || Number(key) >= touched.from;
  }

  /** Returns the existing entries of a slice that may have changed. */
  entriesOf(name: string): readonly (readonly [key: string, entry: Json])[] {
    const touched = this.#touchedIn(name);
    const recorded = this.#recorded(name);
    if (touched === undefined || recorded === null) return [];
    const keys = touchedKeys(touched, this.#before.get(recorded), this.#after.get(recorded));
    return [...keys].flatMap((key) => {
      const found = this.at(pointerTo(pointerTo("", name), key));
      return "value" in found ? [[key, found.value] as const] : [];
    });
  }

  #touchedIn(name: string): TouchedEntries | undefined {
    return this.#touched.get(this.#recorded(name) ?? "");
  }

  #recorded(name: string): string | null {
    const slice = this.#scope.slices.find((each) => each.name === name);
    return slice === undefined ? null : recordedSliceName(slice, this.#scope.session);
  }
}
