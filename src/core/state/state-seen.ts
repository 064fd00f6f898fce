import type { Json } from "../json/json.ts";
import { parsePointer, pointerTo, valueAt } from "../json/pointer.ts";
import type { Check } from "../store.ts";
import { entriesFrom, entryAt, type ProjectState } from "./project-state.ts";
import { recordName, type Slice } from "./slice.ts";
import { currentEntries } from "./slice-version.ts";

/** What is at a place of state, or what keeps it from being told. Without a value: nothing is there. */
export type Seen = { readonly value?: Json } | { readonly wrong: string };

/** What rules were shown of a project's state, and of which version. */
export interface StateSeen {
  /** By place, as rules call it. */
  readonly places: Readonly<Record<string, Seen>>;
  /** The same places, as patches call them. */
  readonly recorded: readonly string[];
  readonly version: number;
  /** Holds as long as nobody has written since. */
  readonly check: Check;
}

/** Whose state it is. */
export interface StateTerms {
  readonly slices: readonly Slice[];
  readonly session: string;
}

/** What is at a place: a slice, the key or index of an entry, and what is inside it. */
export function seenAt(state: ProjectState, { slices, session }: StateTerms, place: string): Seen {
  const [name, key, ...inside] = parsePointer(place) ?? [];
  const slice = slices.find((each) => each.name === name);
  if (slice === undefined || key === undefined) return { wrong: `${place} is in no slice of this engine` };
  const kept = state.get(recordName(slice, session)) ?? entriesFrom(slice.initial, slice.version);
  const current = currentEntries(slice, kept);
  if (!current.ok) return { wrong: current.fault.message };
  const entry = entryAt(current.entries, key);
  const value = entry === undefined ? undefined : valueAt(entry, inside.reduce(pointerTo, ""));
  return value === undefined ? {} : { value };
}

/** A place as patches call it: that of a session is its own. */
export function recordedPlace({ slices, session }: StateTerms, place: string): string {
  const [name = "", ...rest] = parsePointer(place) ?? [];
  const slice = slices.find((each) => each.name === name);
  return [slice === undefined ? name : recordName(slice, session), ...rest].reduce(pointerTo, "");
}
