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

/** Returns the patch if it is small enough for a result of its step, else null. */
export function smallPatch(patch: Patch): Patch | null {
  if (patch.length > SMALL_PATCH.operations) return null;
  const left = { nodes: SMALL_PATCH.nodes, characters: SMALL_PATCH.characters };
  return patch.every((change) => !("value" in change) || fits(change.value, left)) ? patch : null;
}

const SMALL_PATCH = { operations: 32, nodes: 256, characters: 4096 } as const;

function fits(value: Json, left: { nodes: number; characters: number }): boolean {
  left.nodes -= 1;
  if (typeof value === "string") left.characters -= value.length;
  if (left.nodes < 0 || left.characters < 0) return false;
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every((item) => fits(item, left));
  for (const name in value) {
    left.characters -= name.length;
    if (!fits((value as JsonObject)[name] as Json, left)) return false;
  }
  return true;
}

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
