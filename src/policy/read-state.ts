import type { Fields } from "../core/json/fields.ts";
import { isObject, type Json } from "../core/json/json.ts";
import { parsePointer } from "../core/json/pointer.ts";
import { variables } from "./case.ts";
import type { Invariant } from "./invariant.ts";
import type { Reader } from "./reader.ts";
import type { StatePlace, StatePlaces, Token } from "./state-places.ts";

/** So many places may one condition be about. */
const PLACES_MAX = 20;
const NAME = /^[a-z][a-zA-Z0-9_]{0,63}$/;
const SLICE = { pattern: /^[A-Za-z0-9][\w.-]{0,63}$/, form: "the name of a slice" };

export const stateFields = ["state", "expression"];
/** What the expression of a rule about state may speak of. */
export const stateVariables = [...variables, "state"];

/** Reads the places that a condition is about; null: something is wrong, and the reasons say what. */
export function readPlaces(fields: Fields, reader: Reader, tokens: "from input" | "as they are"): StatePlaces | null {
  const said = reader.inner(fields, "state");
  const named = said === null ? [] : Object.entries(fields.object("state"));
  if (named.length === 0 || named.length > PLACES_MAX) {
    fields.fault("state", `is where to look: 1 to ${PLACES_MAX} names, each with a place of state`);
    return null;
  }
  const inner = said as Fields;
  const places = named.map(([name, raw]) => [name, readPlace(inner, name, raw, tokens)] as const);
  const read = places.filter((each): each is readonly [string, StatePlace] => each[1] !== null);
  return read.length === places.length ? read : null;
}

function readPlace(fields: Fields, name: string, raw: Json, tokens: "from input" | "as they are"): StatePlace | null {
  const wrong = (must: string): null => {
    fields.fault(name, must);
    return null;
  };
  if (!NAME.test(name)) return wrong("is what the expression calls it: a small letter, then letters, digits or _");
  const place = typeof raw === "string" ? parsePointer(raw) : Array.isArray(raw) ? raw.map(tokenOf) : null;
  if (
    place === null ||
    place.length < 2 ||
    place[0] === "" ||
    typeof place[0] !== "string" ||
    place.some((token) => token === null)
  )
    return wrong(`must be a slice and an entry of it, as in /orders/first or ["orders", { "input": "/order" }]`);
  if (tokens === "as they are" && place.some((token) => typeof token !== "string"))
    return wrong("must be the same for every call; only a rule about calls takes what the input says");
  return place as StatePlace;
}

function tokenOf(raw: Json): Token | null {
  if (typeof raw === "string") return raw;
  if (!isObject(raw) || Object.keys(raw).length !== 1) return null;
  const { input } = raw;
  return typeof input === "string" && parsePointer(input) !== null ? { input } : null;
}

/** Reads what has to hold of state, whoever changes it. */
export function readInvariant(fields: Fields, reader: Reader, id: string, reason: string | null): Invariant | null {
  fields.onlyKnown(["id", "kind", "reason", "state", "slice", "expression"]);
  const slice = fields.text("slice", SLICE, null);
  const isOfEntries = fields.value("slice") !== undefined;
  if (isOfEntries && fields.value("state") !== undefined)
    fields.fault("slice", "say either of which slice each entry or, in state, which places it is about");
  const places = isOfEntries ? null : readPlaces(fields, reader, "as they are");
  const source = fields.value("expression");
  if (typeof source !== "string") fields.fault("expression", "is what has to hold, as text");
  const known = isOfEntries ? ["entry", "key"] : ["state"];
  const expression = typeof source === "string" ? reader.read(fields, "expression", source, known) : null;
  const about = slice !== null ? { slice } : places !== null ? { places } : null;
  return about && expression && { id, reason, expression, about };
}
