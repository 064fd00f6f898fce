import type { Json, JsonObject } from "../json/json.ts";

/** One change of state. Paths are JSON pointers: the slice, the key or index of an entry, and what is inside it. */
export type Change =
  /** Brings a slice into being, unless it is there: nobody who read it sees a difference. */
  | { readonly op: "init"; readonly path: string; readonly value: readonly Json[] | JsonObject; readonly v: string }
  /** An entry, a place inside one, or a whole slice, whether something is there or not; with `v`, a slice written as that version. */
  | { readonly op: "set"; readonly path: string; readonly value: Json; readonly v?: string }
  /** One more entry of the list at the path. */
  | { readonly op: "append"; readonly path: string; readonly value: Json }
  /** The entry of a map. */
  | { readonly op: "remove"; readonly path: string }
  /** Only the first so many entries of the list at the path. */
  | { readonly op: "cut"; readonly path: string; readonly length: number };

/** What a call leaves of its draft. It is complete in itself: folding it needs no reducer and no schema. */
export type Patch = readonly Change[];

/** What a call read and wrote, as pointers. */
export class Footprint {
  readonly #places = new Set<string>();
  /** What lies around them. */
  readonly #around = new Set<string>();

  add(pointer: string): void {
    if (this.#places.has(pointer)) return;
    this.#places.add(pointer);
    for (let end = pointer.lastIndexOf("/"); end > 0; end = pointer.lastIndexOf("/", end - 1))
      this.#around.add(pointer.slice(0, end));
  }

  get places(): Iterable<string> {
    return this.#places;
  }

  get size(): number {
    return this.#places.size;
  }

  /** Whether the pointer is one of them, lies inside one, or around one. */
  meets(pointer: string): boolean {
    if (this.#places.has(pointer) || this.#around.has(pointer)) return true;
    for (let end = pointer.lastIndexOf("/"); end > 0; end = pointer.lastIndexOf("/", end - 1))
      if (this.#places.has(pointer.slice(0, end))) return true;
    return false;
  }
}

/** The place that a change touches: of a list that is appended to, the one behind its last entry. */
export function placeOf({ op, path }: Change): string {
  return op === "append" ? `${path}/-` : path;
}

/** Where others changed what a call had read or written; null: nowhere. Appending behind what others appended is no quarrel. */
export function quarrel(since: Iterable<Patch>, reads: Footprint, writes: Footprint): string | null {
  for (const patch of since) {
    for (const change of patch) {
      if (change.op === "init") continue;
      const place = placeOf(change);
      if (reads.meets(place) || (change.op !== "append" && writes.meets(place))) return change.path;
    }
  }
  return null;
}
