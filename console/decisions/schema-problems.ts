import type { Json, JsonObject } from "../../src/core/values/json.ts";
import { isJsonObject } from "../../src/core/values/json.ts";

/** A place in a value that does not fit its schema. */
export interface SchemaProblem {
  /** A JSON pointer. Empty: the whole value. */
  readonly path: string;
  readonly message: string;
}

const problemsMax = 20;

/**
 * Returns the places at which a value does not fit a JSON Schema, so that a person sees them while typing. It knows the
 * usual keywords; the server checks all of them again.
 */
export function schemaProblems(value: Json, schema: Json, path = ""): readonly SchemaProblem[] {
  if (!isJsonObject(schema)) return [];
  const own = [...typeProblems(value, schema, path), ...valueProblems(value, schema, path)];
  if (own.length > 0) return own;
  const nested = Array.isArray(value)
    ? itemProblems(value, schema, path)
    : isJsonObject(value)
      ? fieldProblems(value, schema, path)
      : [];
  return nested.slice(0, problemsMax);
}

function typeProblems(value: Json, { type }: JsonObject, path: string): readonly SchemaProblem[] {
  if (type === undefined) return [];
  const types = (Array.isArray(type) ? type : [type]).map(String);
  const actual = typeOf(value);
  const fits = types.includes(actual) || (actual === "integer" && types.includes("number"));
  return fits ? [] : [{ path, message: `must be ${types.join(" or ")}, not ${actual}` }];
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function valueProblems(value: Json, schema: JsonObject, path: string): readonly SchemaProblem[] {
  const found: string[] = [];
  if (Array.isArray(schema.enum) && !schema.enum.some((each) => JSON.stringify(each) === JSON.stringify(value)))
    found.push(`must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}`);
  if (schema.const !== undefined && JSON.stringify(schema.const) !== JSON.stringify(value))
    found.push(`must be ${JSON.stringify(schema.const)}`);
  if (typeof value === "number") found.push(...numberProblems(value, schema));
  if (typeof value === "string") found.push(...textProblems(value, schema));
  return found.map((message) => ({ path, message }));
}

function numberProblems(value: number, schema: JsonObject): readonly string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const found: string[] = [];
  if (typeof minimum === "number" && value < minimum) found.push(`must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) found.push(`must be at most ${maximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    found.push(`must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    found.push(`must be less than ${exclusiveMaximum}`);
  return found;
}

function textProblems(value: string, { minLength, maxLength }: JsonObject): readonly string[] {
  const length = [...value].length;
  if (typeof minLength === "number" && length < minLength) return [`must have at least ${minLength} characters`];
  if (typeof maxLength === "number" && length > maxLength) return [`must have at most ${maxLength} characters`];
  return [];
}

function itemProblems(value: readonly Json[], schema: JsonObject, path: string): readonly SchemaProblem[] {
  const { minItems, maxItems, items } = schema;
  if (typeof minItems === "number" && value.length < minItems)
    return [{ path, message: `must have at least ${minItems} items` }];
  if (typeof maxItems === "number" && value.length > maxItems)
    return [{ path, message: `must have at most ${maxItems} items` }];
  return items === undefined ? [] : value.flatMap((item, at) => schemaProblems(item, items, `${path}/${at}`));
}

function fieldProblems(value: JsonObject, schema: JsonObject, path: string): readonly SchemaProblem[] {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const missing = required.filter((name) => !Object.hasOwn(value, name));
  const unknown =
    schema.additionalProperties === false ? Object.keys(value).filter((name) => !Object.hasOwn(properties, name)) : [];
  return [
    ...missing.map((name) => ({ path: `${path}/${name}`, message: "is missing" })),
    ...unknown.map((name) => ({ path: `${path}/${name}`, message: "is not a field of this tool" })),
    ...Object.entries(properties).flatMap(([name, each]) =>
      Object.hasOwn(value, name) ? schemaProblems(value[name] as Json, each, `${path}/${name}`) : [],
    ),
  ];
}
