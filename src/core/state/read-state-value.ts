import { parsePointer, pointerTo, valueAt } from "../json/json-pointer.ts";
import type { Check } from "../store/store.ts";
import type { Json } from "../values/json.ts";
import { migratedEntries } from "./migrated-entries.ts";
import { entriesFrom, entryAt, type ProjectState } from "./project-state.ts";
import { recordedSliceName, type Slice } from "./slice.ts";

/** The value at a pointer into state, or the reason why it cannot be read. Without `value`: there is none. */
export type StateValue = { readonly value?: Json } | { readonly wrong: string };

/** The state that policy rules read, with its version. */
export interface PolicyState {
  /** The values, by pointer as rules write it. */
  readonly places: Readonly<Record<string, StateValue>>;
  /** The same pointers, as patches write them. */
  readonly recorded: readonly string[];
  readonly version: number;
  /** A condition that holds as long as the state has not changed. */
  readonly check: Check;
}

/** The slices and the session in which pointers are resolved. */
export interface StateScope {
  readonly slices: readonly Slice[];
  readonly session: string;
}

/** Reads the value at a pointer: the slice, the key or index of an entry, and a path inside it. */
export function readStateValue(state: ProjectState, { slices, session }: StateScope, place: string): StateValue {
  const [name, key, ...inside] = parsePointer(place) ?? [];
  const slice = slices.find((each) => each.name === name);
  if (slice === undefined || key === undefined) return { wrong: `${place} is not in a slice of this engine` };
  const stored = state.get(recordedSliceName(slice, session)) ?? entriesFrom(slice.initial, slice.version);
  const current = migratedEntries(slice, stored);
  if (!current.ok) return { wrong: current.fault.message };
  const entry = entryAt(current.entries, key);
  const value = entry === undefined ? undefined : valueAt(entry, inside.reduce(pointerTo, ""));
  return value === undefined ? {} : { value };
}

/** Returns a pointer as patches write it, with the session in the name of a session slice. */
export function recordedPointer({ slices, session }: StateScope, place: string): string {
  const [name = "", ...rest] = parsePointer(place) ?? [];
  const slice = slices.find((each) => each.name === name);
  return [slice === undefined ? name : recordedSliceName(slice, session), ...rest].reduce(pointerTo, "");
}
