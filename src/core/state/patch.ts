import type { Json, JsonObject } from "../values/json.ts";

/** One change of state. A path is a JSON pointer: the slice, the key or index of an entry, and a path inside it. */
export type PatchOperation =
  /** Creates a slice unless it exists. Readers see no difference. */
  | { readonly op: "init"; readonly path: string; readonly value: readonly Json[] | JsonObject; readonly v: string }
  /** Sets an entry, a value inside one, or a whole slice; with `v`, the slice is written in that version. */
  | { readonly op: "set"; readonly path: string; readonly value: Json; readonly v?: string }
  /** Appends an entry to the list at the path. */
  | { readonly op: "append"; readonly path: string; readonly value: Json }
  /** Removes the entry of a map. */
  | { readonly op: "remove"; readonly path: string }
  /** Keeps only the first `length` entries of the list at the path. */
  | { readonly op: "cut"; readonly path: string; readonly length: number };

/** The changes that a call publishes. Applying them needs no reducer and no schema. */
export type Patch = readonly PatchOperation[];

/** A set of pointers that a call read or wrote. */
export class Footprint {
  readonly #places = new Set<string>();
  /** The parents of the pointers. */
  readonly #parents = new Set<string>();

  add(pointer: string): void {
    if (this.#places.has(pointer)) return;
    this.#places.add(pointer);
    for (let end = pointer.lastIndexOf("/"); end > 0; end = pointer.lastIndexOf("/", end - 1))
      this.#parents.add(pointer.slice(0, end));
  }

  get places(): Iterable<string> {
    return this.#places;
  }

  get size(): number {
    return this.#places.size;
  }

  /** True if the pointer is in the set, inside one of its pointers, or a parent of one. */
  overlaps(pointer: string): boolean {
    if (this.#places.has(pointer) || this.#parents.has(pointer)) return true;
    for (let end = pointer.lastIndexOf("/"); end > 0; end = pointer.lastIndexOf("/", end - 1))
      if (this.#places.has(pointer.slice(0, end))) return true;
    return false;
  }
}

/** Returns the pointer that a change touches: for an append, the position after the last entry. */
export function changedPointer({ op, path }: PatchOperation): string {
  return op === "append" ? `${path}/-` : path;
}

/**
 * Returns a path at which other calls changed state that this call had read or written, or null. Two appends to the
 * same list do not conflict.
 */
export function findStateConflict(since: Iterable<Patch>, reads: Footprint, writes: Footprint): string | null {
  for (const patch of since) {
    for (const change of patch) {
      if (change.op === "init") continue;
      const place = changedPointer(change);
      if (reads.overlaps(place) || (change.op !== "append" && writes.overlaps(place))) return change.path;
    }
  }
  return null;
}
