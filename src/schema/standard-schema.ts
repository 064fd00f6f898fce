import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { type Json, sameJson } from "../core/json/json.ts";
import { pointerTo } from "../core/json/pointer.ts";
import { Reasons } from "../core/json/reasons.ts";
import type { Parsed, Schema } from "../core/schema.ts";
import { schemaHash } from "./digest.ts";
import { asJson, misfit, refuse, unusable, wordsOf } from "./parsed.ts";

type Standard = StandardSchemaV1["~standard"] & Partial<StandardJSONSchemaV1["~standard"]>;

/** A schema of zod, ArkType or any other library that speaks Standard Schema. */
export function standardSchema(definition: StandardSchemaV1): Schema {
  const standard: Standard = definition["~standard"];
  const json = jsonOf(standard);
  return { hash: schemaHash(json), json, parse: (value) => parse(standard, value) };
}

function jsonOf(standard: Standard): Json {
  const { vendor, jsonSchema } = standard;
  if (jsonSchema === undefined) {
    return refuse(
      `a schema of ${vendor} does not say its JSON Schema; give a JSON Schema instead, or wrap it ` +
        "(valibot: toStandardJsonSchema of @valibot/to-json-schema)",
    );
  }
  try {
    const read = asJson(jsonSchema.input({ target: "draft-2020-12" }));
    return read.ok ? read.value : refuse(`the JSON Schema that ${vendor} gives is unusable: ${read.fault.message}`);
  } catch (thrown) {
    return refuse(
      `a schema of ${vendor} cannot be written as JSON Schema (${wordsOf(thrown)}); ` +
        "use types that JSON can carry, such as a text for a date",
    );
  }
}

/** Parses, and makes sure that the result parses to itself: it is hashed and approved, and a resumed run parses it again. */
function parse(standard: Standard, value: unknown): Parsed {
  const read = validated(standard, value);
  if (!read.ok || sameJson(value as Json, read.value)) return read;
  const again = validated(standard, read.value);
  if (again.ok && sameJson(again.value, read.value)) return read;
  return {
    ok: false,
    fault: unusable(
      "the schema does not accept what it yields, or changes it again; transform the value in `run` instead",
    ),
  };
}

function validated(standard: Standard, value: unknown): Parsed {
  try {
    const result = standard.validate(value);
    if (isPromise(result)) return asynchronous(result);
    return result.issues === undefined ? asJson(result.value) : misfit(reasonsOf(result.issues));
  } catch (thrown) {
    return { ok: false, fault: unusable(`the schema failed (${wordsOf(thrown)}); it must answer for every value`) };
  }
}

function isPromise(result: object): result is PromiseLike<unknown> {
  return "then" in result;
}

function asynchronous(result: PromiseLike<unknown>): Parsed {
  // Nobody waits for it, so nobody may be surprised by its rejection.
  result.then(undefined, () => undefined);
  return { ok: false, fault: unusable("the schema answers asynchronously; move what it waits for into `run`") };
}

function reasonsOf(issues: readonly StandardSchemaV1.Issue[]): Reasons["list"] {
  const reasons = new Reasons();
  for (const { path = [], message } of issues) {
    const keys = path.map((part) => (typeof part === "object" ? part.key : part));
    reasons.add(keys.map(String).reduce(pointerTo, ""), message);
  }
  return reasons.list;
}
