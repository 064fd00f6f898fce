import type { Json, JsonObject } from "../../../src/core/values/json.ts";

/** How a value of a schema is entered. `json`: as JSON, because the schema has no simpler form. */
export type SchemaField =
  | { readonly kind: "choice"; readonly values: readonly Json[] }
  | { readonly kind: "text"; readonly isLong: boolean }
  | { readonly kind: "number"; readonly isWhole: boolean; readonly min: number | null; readonly max: number | null }
  | { readonly kind: "flag" }
  | { readonly kind: "object"; readonly fields: readonly NamedField[] }
  | { readonly kind: "list"; readonly of: JsonObject }
  | { readonly kind: "json" };

export interface NamedField {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired: boolean;
}

/** Forms inside forms are shown to this depth; a value below it is entered as JSON. */
const depthMax = 4;
const longText = 200;

/** Returns how a value of the schema is entered. `root` has the definitions that references name. */
export function schemaField(given: JsonObject, root: JsonObject, depth = 0): SchemaField {
  const schema = resolved(given, root);
  if (schema === null || depth > depthMax) return { kind: "json" };
  if (Array.isArray(schema.enum)) return { kind: "choice", values: schema.enum };
  if ("const" in schema) return { kind: "choice", values: [schema.const as Json] };
  switch (schema.type) {
    case "string":
      return { kind: "text", isLong: numberIn(schema.maxLength, 0) > longText };
    case "integer":
    case "number":
      return {
        kind: "number",
        isWhole: schema.type === "integer",
        min: typeof schema.minimum === "number" ? schema.minimum : null,
        max: typeof schema.maximum === "number" ? schema.maximum : null,
      };
    case "boolean":
      return { kind: "flag" };
    case "array":
      return isObject(schema.items) ? { kind: "list", of: schema.items } : { kind: "json" };
    case "object":
      return isObject(schema.properties) ? { kind: "object", fields: namedFields(schema) } : { kind: "json" };
    default:
      return { kind: "json" };
  }
}

function namedFields({ properties, required }: JsonObject): readonly NamedField[] {
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties as JsonObject).map(([name, schema]) => ({
    name,
    schema: isObject(schema) ? schema : {},
    isRequired: needed.includes(name),
  }));
}

/** Follows a reference into the definitions of the same document. Null: it leads elsewhere. */
export function resolved(schema: JsonObject, root: JsonObject): JsonObject | null {
  let found: JsonObject = schema;
  for (let steps = 0; typeof found.$ref === "string"; steps += 1) {
    if (!found.$ref.startsWith("#/") || steps > 8) return null;
    const parts = found.$ref
      .slice(2)
      .split("/")
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    let target: Json | undefined = root;
    for (const part of parts) target = isObject(target) && Object.hasOwn(target, part) ? target[part] : undefined;
    if (!isObject(target)) return null;
    found = target;
  }
  return found;
}

/** Returns the value that a form begins with: the defaults and the required objects. Undefined: there is none. */
export function startValue(given: JsonObject, root: JsonObject, depth = 0): Json | undefined {
  const schema = resolved(given, root);
  if (schema === null) return undefined;
  if (schema.default !== undefined) return schema.default;
  const field = schemaField(schema, root, depth);
  if (field.kind === "choice" && field.values.length === 1) return field.values[0];
  if (field.kind !== "object") return undefined;
  const known = field.fields.flatMap(({ name, schema: of, isRequired }) => {
    const value = isRequired || resolved(of, root)?.default !== undefined ? startValue(of, root, depth + 1) : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(known);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function numberIn(value: Json | undefined, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}
