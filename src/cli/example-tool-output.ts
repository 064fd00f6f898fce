import type { Schema } from "../core/ports/schema.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";

const depthMax = 8;

/** Returns a small value that fits a schema, with `…` for every text. It may not fit where a text has a format. */
export function exampleToolOutput({ json }: Schema): Json {
  return exampleOf(json, json, 0);
}

function exampleOf(schema: Json | undefined, root: Json, depth: number): Json {
  if (!isJsonObject(schema) || depth > depthMax) return null;
  const { $ref, const: only, enum: choices, default: usual, anyOf, oneOf, allOf } = schema;
  if (typeof $ref === "string") return exampleOf(referenced($ref, root), root, depth + 1);
  if (only !== undefined) return only;
  if (Array.isArray(choices)) return (choices as readonly Json[])[0] ?? null;
  if (usual !== undefined) return usual;
  const options = [anyOf, oneOf].find(Array.isArray) as readonly Json[] | undefined;
  if (options !== undefined) return exampleOf(options[0], root, depth + 1);
  if (Array.isArray(allOf)) return exampleOfAll(schema, allOf as readonly Json[], root, depth);
  return exampleOfType(schema, root, depth);
}

function exampleOfAll(schema: JsonObject, parts: readonly Json[], root: Json, depth: number): Json {
  const { allOf: _allOf, ...rest } = schema;
  const examples = [rest, ...parts].map((part) => exampleOf(part, root, depth + 1));
  const objects = examples.filter(isJsonObject);
  return objects.length === 0 ? (examples[0] ?? null) : Object.assign({}, ...objects);
}

function exampleOfType(schema: JsonObject, root: Json, depth: number): Json {
  const { type, properties } = schema;
  switch (Array.isArray(type) ? (type as readonly Json[])[0] : (type ?? (properties && "object"))) {
    case "object":
      return exampleObject(schema, root, depth);
    case "array":
      return exampleArray(schema, root, depth);
    case "string":
      return "…".repeat(Math.min(Number(schema.minLength ?? 1), 100)) || "…";
    case "integer":
    case "number":
      return exampleNumber(schema);
    case "boolean":
      return false;
    default:
      return null;
  }
}

function exampleObject({ properties, required }: JsonObject, root: Json, depth: number): Json {
  const known = isJsonObject(properties) ? properties : {};
  const names = Array.isArray(required) ? (required as readonly string[]) : [];
  return Object.fromEntries(names.map((name) => [name, exampleOf(known[name], root, depth + 1)]));
}

function exampleArray({ items, minItems }: JsonObject, root: Json, depth: number): Json {
  const length = Math.min(Number(minItems ?? 0), 10);
  return Array.from({ length }, () => exampleOf(items, root, depth + 1));
}

function exampleNumber({ minimum, exclusiveMinimum, maximum }: JsonObject): number {
  if (typeof minimum === "number") return minimum;
  if (typeof exclusiveMinimum === "number") return Math.floor(exclusiveMinimum) + 1;
  return typeof maximum === "number" ? Math.min(0, maximum) : 0;
}

/** Returns the part of the document that a local reference like `#/$defs/name` names. */
function referenced($ref: string, root: Json): Json | undefined {
  const words = $ref.startsWith("#/") ? $ref.slice("#/".length).split("/") : [];
  let found: Json | undefined = root;
  for (const word of words) found = isJsonObject(found) ? found[word] : undefined;
  return words.length === 0 && $ref !== "#" ? undefined : found;
}
