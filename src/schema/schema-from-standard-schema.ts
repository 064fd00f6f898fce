import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { pointerTo } from "../core/json/json-pointer.ts";
import { ProblemList } from "../core/json/problem-list.ts";
import type { Parsed, Schema } from "../core/ports/schema.ts";
import { type Json, sameJson } from "../core/values/json.ts";
import {
  invalidValue,
  messageOf,
  parseStorableJson,
  throwUnusableSchema,
  unusableSchemaFault,
} from "./schema-faults.ts";
import { schemaHash } from "./schema-hash.ts";

type Standard = StandardSchemaV1["~standard"] & Partial<StandardJSONSchemaV1["~standard"]>;

/** Makes a schema from one of zod, ArkType or any other library that implements Standard Schema. */
export function schemaFromStandardSchema(definition: StandardSchemaV1): Schema {
  const standard: Standard = definition["~standard"];
  const json = jsonSchemaOf(standard);
  return { hash: schemaHash(json), json, parse: (value) => parseTwice(standard, value) };
}

function jsonSchemaOf(standard: Standard): Json {
  const { vendor, jsonSchema } = standard;
  if (jsonSchema === undefined) {
    return throwUnusableSchema(
      `a schema of ${vendor} has no JSON Schema; give a JSON Schema instead, or wrap it ` +
        "(valibot: toStandardJsonSchema of @valibot/to-json-schema)",
    );
  }
  try {
    const read = parseStorableJson(jsonSchema.input({ target: "draft-2020-12" }));
    return read.ok
      ? read.value
      : throwUnusableSchema(`the JSON Schema of ${vendor} is unusable: ${read.fault.message}`);
  } catch (thrown) {
    return throwUnusableSchema(
      `a schema of ${vendor} cannot be written as JSON Schema (${messageOf(thrown)}); ` +
        "use types that JSON can represent, such as a text for a date",
    );
  }
}

/**
 * Parses a value and checks that the result parses to itself: it is hashed and approved, and a resumed run parses it
 * again.
 */
function parseTwice(standard: Standard, value: unknown): Parsed {
  const read = validateOnce(standard, value);
  if (!read.ok || sameJson(value as Json, read.value)) return read;
  const again = validateOnce(standard, read.value);
  if (again.ok && sameJson(again.value, read.value)) return read;
  return {
    ok: false,
    fault: unusableSchemaFault("the schema rejects or changes its own output; transform the value in `run` instead"),
  };
}

function validateOnce(standard: Standard, value: unknown): Parsed {
  try {
    const result = standard.validate(value);
    if (isPromise(result)) return asynchronousResult(result);
    return result.issues === undefined ? parseStorableJson(result.value) : invalidValue(reasonsOf(result.issues));
  } catch (thrown) {
    return {
      ok: false,
      fault: unusableSchemaFault(`the schema failed (${messageOf(thrown)}); it must not throw`),
    };
  }
}

function isPromise(result: object): result is PromiseLike<unknown> {
  return "then" in result;
}

function asynchronousResult(result: PromiseLike<unknown>): Parsed {
  // The promise is not awaited, so its rejection must not end the process as unhandled.
  result.then(undefined, () => undefined);
  return {
    ok: false,
    fault: unusableSchemaFault("the schema is asynchronous; move its asynchronous part into `run`"),
  };
}

function reasonsOf(issues: readonly StandardSchemaV1.Issue[]): ProblemList["list"] {
  const reasons = new ProblemList();
  for (const { path = [], message } of issues) {
    const keys = path.map((part) => (typeof part === "object" ? part.key : part));
    reasons.add(keys.map(String).reduce(pointerTo, ""), message);
  }
  return reasons.list;
}
