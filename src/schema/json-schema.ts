import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import type { Digest } from "../core/id.ts";
import { canonical } from "../core/json/canonical.ts";
import type { Json, JsonObject } from "../core/json/json.ts";
import { pointerTo } from "../core/json/pointer.ts";
import { type Reason, Reasons } from "../core/json/reasons.ts";
import type { Parsed, Schema } from "../core/schema.ts";
import { carefulPattern } from "./careful-pattern.ts";
import { schemaHash } from "./digest.ts";
import { asJson, listed, misfit, refuse, unusable, wordsOf } from "./parsed.ts";
import { fuelKeyword, guarded } from "./schema-guard.ts";
import { schemaLimits } from "./schema-limits.ts";

const compiledMax = 1000;

/** A raw JSON Schema (draft 2020-12), possibly a stranger's. */
export function jsonSchema(definition: unknown): Schema {
  const guard = guarded(definition);
  if (!guard.ok) return refuse(`the JSON Schema is refused: ${listed(guard.reasons)}`);
  const { json, compilable } = guard;
  const hash = schemaHash(json);
  const validate = compiled(hash, compilable);
  return { hash, json, parse: (value) => parse(validate, value) };
}

function parse(validate: ValidateFunction, value: unknown): Parsed {
  const read = asJson(value);
  if (!read.ok) return read;
  try {
    // References to references can double at every step.
    fuel = schemaLimits.references + schemaLimits.referencesEach * countOf(read.value);
    return validate(read.value) ? read : misfit(reasonsOf(validate.errors ?? []));
  } catch (thrown) {
    return { ok: false, fault: unusable(`the JSON Schema cannot be applied (${wordsOf(thrown)}); simplify it`) };
  }
}

function reasonsOf(errors: readonly ErrorObject[]): readonly Reason[] {
  const reasons = new Reasons();
  for (const { instancePath, keyword, params, message } of errors) {
    // The names that a model got wrong are in the parameters, not in the message.
    const extra: unknown = params.additionalProperty ?? params.unevaluatedProperty;
    const path = typeof extra === "string" ? pointerTo(instancePath, extra) : instancePath;
    const allowed = keyword === "enum" ? ` (${JSON.stringify(params.allowedValues)})` : "";
    reasons.add(path, `${message ?? keyword}${allowed}`);
  }
  return reasons.list;
}

let fuel = 0;
let shared: Ajv2020 | null = null;
const validators = new Map<Digest, ValidateFunction>();

function compiled(hash: Digest, schema: JsonObject): ValidateFunction {
  const known = validators.get(hash);
  if (known !== undefined) return known;
  // Compiling costs milliseconds and memory, so the oldest goes when strangers bring too many.
  for (const oldest of validators.size < compiledMax ? [] : [...validators.keys()].slice(0, 1))
    validators.delete(oldest);
  // A name of its own, so that no anchor of one schema is ever found from another.
  const validate = compile({ ...schema, $id: `urn:writ:${hash}` });
  validators.set(hash, validate);
  return validate;
}

function compile(schema: JsonObject): ValidateFunction {
  shared ??= newAjv();
  try {
    return shared.compile(schema);
  } catch (thrown) {
    return refuse(`the JSON Schema cannot be compiled (${wordsOf(thrown)}); write it as draft 2020-12`);
  } finally {
    shared.removeSchema(schema);
  }
}

function newAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    // Without it `required: ["toString"]` is met by every object.
    ownProperties: true,
    // A schema that is used many times would be copied into the code each time.
    inlineRefs: false,
    addUsedSchema: false,
    logger: false,
    // Making the code shorter takes longer than running it ever will.
    code: { regExp: Object.assign(carefulPattern, { code: "carefulPattern" }), optimize: false },
    formats: fullFormats,
  });
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    validate: unique,
    error: { message: "must NOT have duplicate items" },
  });
  ajv.addKeyword({ keyword: fuelKeyword, before: "$ref", schema: false, validate: burn });
  return ajv;
}

/** In linear time: comparing every pair would let a list of 100,000 stop the process. */
function unique(wanted: boolean, items: readonly Json[]): boolean {
  return !wanted || new Set(items.map(canonical)).size === items.length;
}

function burn(): boolean {
  fuel -= 1;
  if (fuel < 0) throw new Error("too many references to follow");
  return true;
}

/** Of values, the containers counted too. */
function countOf(value: Json): number {
  let count = 1;
  if (typeof value === "object" && value !== null)
    for (const inner of Object.values(value)) count += countOf(inner as Json);
  return count;
}
