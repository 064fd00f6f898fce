import type { Json } from "../core/json/json.ts";
import { pointerTo, valueAt } from "../core/json/pointer.ts";
import type { Seen } from "../core/state/state-seen.ts";

/** One part of the way to a place: itself, or what the input says there. */
export type Token = string | { readonly input: string };

/** A place of state as a rule names it: a slice, an entry, and what is inside it. */
export type StatePlace = readonly Token[];

/** The places that a condition is about, by what it calls them. */
export type StatePlaces = readonly (readonly [name: string, place: StatePlace])[];

/** Where a place is for one call; null: the input does not say. */
export function placeFor(place: StatePlace, input: Json): string | null {
  let pointer = "";
  for (const token of place) {
    const key = typeof token === "string" ? token : keyOf(valueAt(input, token.input));
    if (key === null) return null;
    pointer = pointerTo(pointer, key);
  }
  return pointer;
}

/** Only what names an entry: anything else could be read in more than one way. */
function keyOf(value: Json | undefined): string | null {
  if (typeof value === "string") return value;
  return Number.isSafeInteger(value) ? String(value) : null;
}

/** What a condition is told of state; what is not there is left out. */
export function stateAt(
  places: StatePlaces,
  input: Json,
  look: (place: string) => Seen | undefined,
): { readonly state: Readonly<Record<string, Json>> } | { readonly wrong: string } {
  const state: Record<string, Json> = {};
  for (const [name, place] of places) {
    const at = placeFor(place, input);
    if (at === null) return { wrong: `the input does not say where ${name} is` };
    const seen = look(at);
    if (seen === undefined) return { wrong: `nobody has looked at ${at}` };
    if ("wrong" in seen) return seen;
    if ("value" in seen) state[name] = seen.value;
  }
  return { state };
}
