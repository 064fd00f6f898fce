import type { Json } from "../json/json.ts";
import { parsePointer, pointerTo } from "../json/pointer.ts";
import { keysOf, type Touched, touchedBy } from "./difference.ts";
import type { Patch } from "./patch.ts";
import { type ProjectState, patched } from "./project-state.ts";
import { recordName } from "./slice.ts";
import { type Seen, type StateTerms, seenAt } from "./state-seen.ts";

/** State as a change would leave it, for whoever says what has to hold of it. Looking costs what the change does. */
export class Aftermath {
  readonly #before: ProjectState;
  readonly #after: ProjectState;
  readonly #terms: StateTerms;
  readonly #touched: ReadonlyMap<string, Touched>;

  constructor(before: ProjectState, patch: Patch, terms: StateTerms) {
    this.#before = before;
    this.#after = patched(before, patch);
    this.#terms = terms;
    this.#touched = touchedBy([patch], before);
  }

  at(place: string): Seen {
    return seenAt(this.#after, this.#terms, place);
  }

  /** Whether the entry that a place is in may have changed. */
  touches(place: string): boolean {
    const [name = "", key = ""] = parsePointer(place) ?? [];
    const touched = this.#touchedIn(name);
    if (touched === undefined) return false;
    return touched.whole || touched.keys.has(key) || Number(key) >= touched.from; // Of a map, at worst one too many.
  }

  /** The entries of a slice that may have changed and are there. */
  entriesOf(name: string): readonly (readonly [key: string, entry: Json])[] {
    const touched = this.#touchedIn(name);
    const recorded = this.#recorded(name);
    if (touched === undefined || recorded === null) return [];
    const keys = keysOf(touched, this.#before.get(recorded), this.#after.get(recorded));
    return [...keys].flatMap((key) => {
      const seen = this.at(pointerTo(pointerTo("", name), key));
      return "value" in seen ? [[key, seen.value] as const] : [];
    });
  }

  #touchedIn(name: string): Touched | undefined {
    return this.#touched.get(this.#recorded(name) ?? "");
  }

  #recorded(name: string): string | null {
    const slice = this.#terms.slices.find((each) => each.name === name);
    return slice === undefined ? null : recordName(slice, this.#terms.session);
  }
}
