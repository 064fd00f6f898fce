import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Schema } from "../core/ports/schema.ts";
import type { Json } from "../core/values/json.ts";
import { throwUnusableSchema } from "./schema-faults.ts";
import { jsonSchema } from "./schema-from-json-schema.ts";
import { schemaFromStandardSchema } from "./schema-from-standard-schema.ts";

/** A schema of a library that implements Standard Schema (zod, ArkType, …), or a JSON Schema. */
export type SchemaDefinition = StandardSchemaV1 | JsonSchema;

interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** The type of the values that a schema accepts. */
export type SchemaInput<Definition> = Definition extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Definition>
  : Json;

/** The type of the values that a schema returns: the canonical form that is stored, shown and passed to the tool. */
export type SchemaOutput<Definition> = Definition extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Definition>
  : Json;

/**
 * Makes a schema from its definition. Throws SCHEMA_UNUSABLE, with the fix, for a schema that cannot be used reliably.
 */
export function schemaFrom(definition: SchemaDefinition): Schema {
  if (isStandard(definition)) return schemaFromStandardSchema(definition);
  if (typeof definition === "object" && definition !== null) return jsonSchema(definition);
  return throwUnusableSchema("a schema is a zod schema (or another Standard Schema) or a JSON Schema object");
}

function isStandard(definition: unknown): definition is StandardSchemaV1 {
  const isObject = (typeof definition === "object" && definition !== null) || typeof definition === "function";
  return isObject && "~standard" in definition;
}
