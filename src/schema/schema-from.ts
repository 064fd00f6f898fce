import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Json } from "../core/json/json.ts";
import type { Schema } from "../core/schema.ts";
import { jsonSchema } from "./json-schema.ts";
import { refuse } from "./parsed.ts";
import { standardSchema } from "./standard-schema.ts";

/** A schema as an author writes it: of a library that speaks Standard Schema (zod, ArkType, …), or a raw JSON Schema. */
export type SchemaDefinition = StandardSchemaV1 | JsonSchema;

interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** What a schema accepts. */
export type Accepted<Definition> = Definition extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Definition> : Json;

/** What a schema yields: the canonical form that is stored and shown, and that a tool receives. */
export type Yielded<Definition> = Definition extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Definition> : Json;

/** The one reader of schemas. Throws SCHEMA_UNUSABLE, with the fix, for what could not be used reliably. */
export function schemaFrom(definition: SchemaDefinition): Schema {
  if (isStandard(definition)) return standardSchema(definition);
  if (typeof definition === "object" && definition !== null) return jsonSchema(definition);
  return refuse("a schema is a zod schema (or another Standard Schema) or a JSON Schema object");
}

function isStandard(definition: unknown): definition is StandardSchemaV1 {
  const holder = (typeof definition === "object" && definition !== null) || typeof definition === "function";
  return holder && "~standard" in definition;
}
