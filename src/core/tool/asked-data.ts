import type { FieldReader } from "../json/field-reader.ts";
import { canSetAt, parsePointer, pointersOverlap, valueAt } from "../json/json-pointer.ts";
import type { Json, JsonObject } from "../values/json.ts";

/** The values of an input that a person supplies if the call has none: a description of each, by its JSON pointer. */
export type AskedData = Readonly<Record<string, string>>;

/** A value that a gate asks for. */
export interface AskedValue {
  /** The JSON pointer to its place in the input. */
  readonly path: string;
  /** Its description. */
  readonly what: string;
}

const askedDataLimits = { values: 32, words: 200 } as const;

/** Returns the problems of a declaration of asked values, which may have any form. */
export function askedDataProblems(given: Readonly<Record<string, unknown>>): readonly string[] {
  const places = Object.keys(given);
  const inside = places.find((one) => places.some((other) => other !== one && pointersOverlap(one, other)));
  return [
    ...(places.length > askedDataLimits.values ? [`asks for more than ${askedDataLimits.values} values`] : []),
    ...places
      .filter((place) => !isPlace(place))
      .map((place) => `${JSON.stringify(place)} is not a JSON pointer to a field of the input, such as /transcript`),
    ...Object.entries(given)
      .filter(([, what]) => !isWords(what))
      .map(([place]) => `${place} must say in 1 to ${askedDataLimits.words} characters what is asked for`),
    ...(inside === undefined ? [] : [`${inside} lies inside another of its places, or contains it`]),
  ];
}

function isPlace(pointer: string): boolean {
  const tokens = parsePointer(pointer);
  return tokens !== null && tokens.length > 0 && canSetAt({}, tokens);
}

function isWords(what: unknown): what is string {
  return typeof what === "string" && what.trim() !== "" && what.length <= askedDataLimits.words;
}

/** Returns what a step asks for: what its tool does, in the words of the tool, and what the plan adds. */
export function readAskedData(step: FieldReader, tool: { readonly asksFor: AskedData } | null): AskedData {
  if (step.value("asks_for") === undefined) return tool?.asksFor ?? NOTHING;
  const all = { ...step.object("asks_for"), ...tool?.asksFor } as AskedData;
  const problems = askedDataProblems(all);
  for (const problem of problems) step.addReason("asks_for", problem);
  return problems.length > 0 ? NOTHING : all;
}

const NOTHING: AskedData = {};

/** Returns the asked values that an input lacks. */
export function missingData(asked: AskedData, input: JsonObject): readonly AskedValue[] {
  const places = Object.keys(asked);
  if (places.length === 0) return NONE;
  return places
    .filter((path) => valueAt(input, path) === undefined)
    .map((path) => ({ path, what: asked[path] as string }));
}

const NONE: readonly never[] = [];

/** True if a problem at this place of the input can be due to a missing value. */
export function mayBeMissing(missing: readonly AskedValue[], place: string): boolean {
  return missing.some(({ path }) => pointersOverlap(path, place));
}

/** Names the values in one line. */
export function askedText(asked: readonly AskedValue[]): string {
  return asked.map(({ path, what }) => `${path} (${what})`).join(", ");
}

/** Returns the reason why these values do not answer a gate, or null. Exactly the asked values answer it. */
export function dataProblem(asked: readonly AskedValue[], data: Readonly<Record<string, Json>>): string | null {
  const lacking = asked.filter(({ path }) => !Object.hasOwn(data, path));
  if (lacking.length > 0) return `the data lacks ${askedText(lacking)}`;
  const foreign = Object.keys(data).filter((path) => !asked.some((one) => one.path === path));
  return foreign.length === 0 ? null : `the gate does not ask for ${foreign.join(", ")}`;
}
