import type { Parsed, Schema } from "../core/ports/schema.ts";
import type { Digest } from "../core/values/ids.ts";
import type { Json } from "../core/values/json.ts";
import {
  invalidValue,
  issuesText,
  messageOf,
  parseStorableJson,
  throwUnusableSchema,
  unusableSchemaFault,
} from "./schema-faults.ts";
import { schemaHash } from "./schema-hash.ts";
import { inspectSchema } from "./validator/inspect-schema.ts";
import { MeteredValidation, type Validator } from "./validator/metered-validation.ts";
import { SchemaCompiler } from "./validator/schema-compiler.ts";
import type { SchemaDocument } from "./validator/schema-document.ts";
import { schemaLimits } from "./validator/schema-limits.ts";

/** Makes a schema from a JSON Schema, which may be untrusted: draft 2020-12, or draft-07 if its `$schema` says so. */
export function jsonSchema(definition: unknown): Schema {
  const inspected = inspectSchema(definition);
  if (!inspected.ok) return throwUnusableSchema(`the JSON Schema is refused: ${issuesText(inspected.reasons)}`);
  const { document } = inspected;
  const json = document.root;
  const validate = compileSchema(document);
  return { hash: schemaHash(json) as Digest, json, parse: (value) => validateValue(validate, value) };
}

function compileSchema(document: SchemaDocument): Validator {
  try {
    return new SchemaCompiler(document).compileRoot();
  } catch (thrown) {
    return throwUnusableSchema(
      `the JSON Schema cannot be compiled (${messageOf(thrown)}); write it as draft 2020-12, or as draft-07 with its $schema`,
    );
  }
}

function validateValue(validate: Validator, value: unknown): Parsed {
  const read = parseStorableJson(value);
  if (!read.ok) return read;
  const validation = new MeteredValidation(schemaLimits.steps + schemaLimits.stepsEach * countValues(read.value));
  try {
    return validate(read.value, validation) ? read : invalidValue(validation.reasons);
  } catch (thrown) {
    return {
      ok: false,
      fault: unusableSchemaFault(`the JSON Schema cannot be applied (${messageOf(thrown)}); simplify it`),
    };
  }
}

/** Counts the value and all values inside it. */
function countValues(value: Json): number {
  let count = 1;
  if (typeof value === "object" && value !== null)
    for (const inner of Object.values(value)) count += countValues(inner as Json);
  return count;
}
