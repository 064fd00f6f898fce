import type { Digest } from "../core/id.ts";
import type { Json, JsonObject } from "../core/json/json.ts";
import type { Parsed, Schema } from "../core/schema.ts";
import { schemaHash } from "./digest.ts";
import { asJson, listed, misfit, refuse, unusable, wordsOf } from "./parsed.ts";
import { guarded } from "./schema-guard.ts";
import { schemaLimits } from "./schema-limits.ts";
import { SchemaReader } from "./schema-reader.ts";
import { type Judge, Trial } from "./trial.ts";

/** A raw JSON Schema (draft 2020-12), possibly a stranger's. */
export function jsonSchema(definition: unknown): Schema {
  const guard = guarded(definition);
  if (!guard.ok) return refuse(`the JSON Schema is refused: ${listed(guard.reasons)}`);
  const { json } = guard;
  const judge = read(json);
  return { hash: schemaHash(json) as Digest, json, parse: (value) => parse(judge, value) };
}

function read(schema: JsonObject): Judge {
  try {
    return new SchemaReader(schema).read(schema);
  } catch (thrown) {
    return refuse(`the JSON Schema cannot be compiled (${wordsOf(thrown)}); write it as draft 2020-12`);
  }
}

function parse(judge: Judge, value: unknown): Parsed {
  const read = asJson(value);
  if (!read.ok) return read;
  const trial = new Trial(schemaLimits.steps + schemaLimits.stepsEach * countOf(read.value));
  try {
    return judge(read.value, trial) ? read : misfit(trial.reasons);
  } catch (thrown) {
    return { ok: false, fault: unusable(`the JSON Schema cannot be applied (${wordsOf(thrown)}); simplify it`) };
  }
}

/** Of values, the containers counted too. */
function countOf(value: Json): number {
  let count = 1;
  if (typeof value === "object" && value !== null)
    for (const inner of Object.values(value)) count += countOf(inner as Json);
  return count;
}
