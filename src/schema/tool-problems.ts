import { effects } from "../core/effect.ts";
import { isObject, type Json } from "../core/json/json.ts";
import { nearest } from "../core/json/nearest.ts";
import { isPlainObject } from "../core/json/plain-object.ts";
import { parsePointer, pointerTo } from "../core/json/pointer.ts";
import { estimateProblems } from "../core/limits/budget.ts";
import { planLimits } from "../core/plan/plan.ts";
import { isPlaceOfState, placesMax } from "../core/state/state-order.ts";

/** A definition as it arrives: its author may not use a type checker. */
type Given = Readonly<Record<string, unknown>>;

const everyTool = [
  ..."name version effect description tags risk roles preconditions input output identity".split(" "),
  ..."timeoutMs heartbeatMs tries cache cacheTtlMs cost resources stateReads stateWrites redact run".split(" "),
];
const actsOnly = "settleAfter confirm idempotent errorsMean onDuplicate safeIfAbsent preview verify compensate".split(
  " ",
);
const fields = [...everyTool, ...actsOnly];

const dayMs = 24 * 60 * 60 * 1000;
const tagsMax = 32;

/** Everything that is wrong with a definition, each with what to do about it. */
export function problemsWith(
  definition: object,
  schemas: { readonly input: Json; readonly output: Json },
): readonly string[] {
  const given = definition as Given;
  return [
    ...unknownFields(given),
    ...names(given),
    ...choices(given),
    ...numbers(given),
    ...functions(given),
    ...conditions(given),
    ...fieldLists(given, schemas),
    ...(typeof given.cost === "function" ? [] : estimateProblems(given.cost ?? {})),
    ...resourceProblems(given),
    ...stateProblems(given),
    ...contradictions(given),
  ];
}

/** What an act did in the world is not put back, so that what it did beside it must not be either. */
function resourceProblems({ resources = {}, effect }: Given): readonly string[] {
  const fits =
    isPlainObject(resources) && Object.values(resources).every((access) => access === "handle" || access === "raw");
  if (!fits) return ['resources must say "handle" or "raw" for each resource that the tool changes'];
  const used = Object.keys(resources as object).length > 0;
  return unless(!used || effect === "writes", "resources are changed by tools whose effect is writes");
}

function stateProblems({ stateReads = [], stateWrites, effect }: Given): readonly string[] {
  const wrong = Object.entries({ stateReads, stateWrites: stateWrites ?? [] }).filter(
    ([, places]) => !arePlaces(places),
  );
  const writes = effect === "writes" || effect === "acts" || stateWrites === undefined;
  return [
    ...wrong.map(
      ([field]) => `${field} must be at most ${placesMax} slices by name, or JSON pointers such as /beds/north`,
    ),
    ...unless(writes, `stateWrites is for tools that write or act; this one ${String(effect)}`),
  ];
}

function arePlaces(value: unknown): boolean {
  const isPlace = (place: unknown) =>
    typeof place === "string" && isPlaceOfState(place.startsWith("/") ? place : pointerTo("", place));
  return Array.isArray(value) && value.length <= placesMax && value.every(isPlace);
}

function unknownFields(given: Given): readonly string[] {
  return Object.keys(given)
    .filter((field) => !fields.includes(field))
    .map((field) => {
      const meant = nearest(field, fields);
      return meant === null
        ? `${field} is not a field of a tool; remove it`
        : `${field} is not a field; did you mean ${meant}?`;
    });
}

function names({ name, version = "1", description = "", tags = [], roles = [] }: Given): readonly string[] {
  const tagged = Array.isArray(tags) && tags.length <= tagsMax && tags.every((tag) => matches(tag, /^[\w.:-]{1,64}$/));
  return [
    ...unless(
      matches(name, /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/),
      "name must be a letter and then up to 63 letters, digits, dots, dashes or underscores",
    ),
    ...unless(
      matches(version, /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$/),
      'version must be a short text of letters, digits, dots, dashes, such as "1"',
    ),
    ...unless(typeof description === "string", "description must be a text"),
    ...unless(
      Array.isArray(roles) &&
        roles.length <= tagsMax &&
        roles.every((role) => matches(role, /^[^\p{Cc}\p{Cs}]{1,200}$/u)),
      `roles must be at most ${tagsMax} names of 1 to 200 printable characters`,
    ),
    ...unless(tagged, `tags must be at most ${tagsMax} words of letters, digits, dots, colons, dashes or underscores`),
  ];
}

const allowed: Readonly<Record<string, readonly unknown[]>> = {
  effect: effects,
  risk: ["low", "medium", "high"],
  cache: ["never", "use_if_safe", "ttl_only"],
  confirm: ["none", "strict", "warn", "gate"],
  errorsMean: ["unknown", "not_done"],
  onDuplicate: ["hold", "reuse", "refuse"],
  safeIfAbsent: [true, false],
};

function choices(given: Given): readonly string[] {
  return Object.entries(allowed)
    .filter(([field, values]) => (given[field] !== undefined || field === "effect") && !values.includes(given[field]))
    .map(([field, values]) => `${field} must be one of ${values.join(", ")}`);
}

const ranges: Readonly<Record<string, { readonly min: number; readonly max: number }>> = {
  timeoutMs: { min: 1, max: planLimits.timeoutMs },
  heartbeatMs: { min: 1, max: planLimits.timeoutMs },
  tries: { min: 1, max: planLimits.retries + 1 },
  cacheTtlMs: { min: 1, max: 366 * dayMs },
  settleAfter: { min: 0, max: 30 * dayMs },
};

function numbers(given: Given): readonly string[] {
  return Object.entries(ranges)
    .filter(([field, range]) => given[field] !== undefined && !within(given[field], range))
    .map(([field, { min, max }]) => `${field} must be a whole number from ${min} to ${max}`);
}

/** Whether they can be read is found out where they are asked. */
function conditions({ preconditions = [] }: Given): readonly string[] {
  const isOne = (each: unknown) =>
    isPlainObject(each) &&
    Object.keys(each).every((key) => ["id", "expression"].includes(key)) &&
    matches(each.id, /^[A-Za-z0-9][\w.-]{0,63}$/) &&
    typeof each.expression === "string";
  return unless(
    Array.isArray(preconditions) && preconditions.length <= tagsMax && preconditions.every(isOne),
    `preconditions must be at most ${tagsMax} of { id, expression }`,
  );
}

function functions(given: Given): readonly string[] {
  return ["run", "preview", "verify", "compensate"]
    .filter((field) => typeof given[field] !== "function" && (given[field] !== undefined || field === "run"))
    .map((field) => `${field} must be a function`);
}

function fieldLists(given: Given, schemas: { readonly input: Json; readonly output: Json }): readonly string[] {
  return [...fieldList(given, "identity", schemas.input), ...fieldList(given, "redact", schemas.output)];
}

function fieldList(given: Given, option: "identity" | "redact", schema: Json): readonly string[] {
  const list = given[option];
  if (list === undefined) return [];
  if (!Array.isArray(list) || list.length === 0)
    return [`${option} must name at least one field; leave it out for none`];
  return list.flatMap((field: unknown) => {
    const token = typeof field === "string" ? firstToken(field) : null;
    if (token === null) return [`${option} must be names of fields or JSON pointers; ${String(field)} is neither`];
    return hasField(schema, token) ? [] : [`${option} names ${token}, which the schema does not have`];
  });
}

function firstToken(field: string): string | null {
  const token = field.startsWith("/") ? parsePointer(field)?.[0] : field;
  return token === undefined || token === "" ? null : token;
}

/** Only a schema that lists its fields can lack one. */
function hasField(schema: Json, name: string): boolean {
  if (!isObject(schema) || !isObject(schema.properties) || schema.patternProperties !== undefined) return true;
  return Object.hasOwn(schema.properties, name);
}

function contradictions(given: Given): readonly string[] {
  const { effect, cache = "never", cacheTtlMs, confirm = "none", verify, compensate, safeIfAbsent = false } = given;
  const { timeoutMs = 30_000, heartbeatMs } = given;
  const idle = effects.includes(effect as never) && effect !== "acts";
  return [
    ...actsOnly
      .filter((field) => idle && given[field] !== undefined)
      .map(
        (field) => `${field} is for acts, and this tool ${effect === "pure" ? "is pure" : String(effect)}; remove it`,
      ),
    ...unless(isShorter(heartbeatMs, timeoutMs), "heartbeatMs must be shorter than timeoutMs, or it never helps"),
    ...unless(effect !== "acts" || cache === "never", "an act is never answered from a cache; remove cache"),
    ...unless(cache !== "ttl_only" || cacheTtlMs !== undefined, "cache ttl_only needs cacheTtlMs"),
    ...unless(cacheTtlMs === undefined || cache !== "never", "cacheTtlMs needs a cache: use_if_safe or ttl_only"),
    ...unless(confirm === "none" || verify !== undefined, "confirm needs verify, which asks the world"),
    ...unless(safeIfAbsent === false || compensate !== undefined, "safeIfAbsent needs compensate, which it is about"),
    ...idempotence(given),
  ];
}

function isShorter(heartbeatMs: unknown, timeoutMs: unknown): boolean {
  return heartbeatMs === undefined || Number(heartbeatMs) < Number(timeoutMs);
}

/** The same bytes are sent again only while a whole attempt still fits into the promise. */
function idempotence({ idempotent, timeoutMs = 30_000, settleAfter = 60_000 }: Given): readonly string[] {
  if (idempotent === undefined) return [];
  const forMs = isPlainObject(idempotent) ? idempotent.forMs : undefined;
  if (!within(forMs, { min: 1, max: 366 * dayMs }))
    return ["idempotent must be { forMs } with a whole number of milliseconds"];
  const helps = forMs > Number(timeoutMs) + Number(settleAfter);
  return unless(helps, "idempotent.forMs must be longer than timeoutMs and settleAfter together, or it never helps");
}

function unless(right: boolean, problem: string): readonly string[] {
  return right ? [] : [problem];
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === "string" && pattern.test(value);
}

function within(value: unknown, { min, max }: { readonly min: number; readonly max: number }): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
}
