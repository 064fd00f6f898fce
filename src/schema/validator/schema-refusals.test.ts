import { describe, expect, it } from "vitest";
import { jsonSchema } from "../schema-from-json-schema.ts";
import { schemaRefusals } from "./schema-refusals.ts";

const examples: Readonly<Record<keyof typeof schemaRefusals, unknown>> = {
  otherDraft: { $schema: "https://json-schema.org/draft/2019-09/schema" },
  remoteReference: { $ref: "other.json" },
  recursiveReference: { $recursiveRef: "#" },
  innerId: { $defs: { a: { $id: "a" } } },
  asynchrony: { $async: true },
  exponentialPattern: { pattern: "(a+)+" },
  prototypeName: JSON.parse('{ "properties": { "__proto__": {} } }'),
};

describe("a JSON Schema with a feature that is refused on purpose", () => {
  it.each(Object.entries(examples))("is refused with the listed message: %s", (name, example) => {
    expect(() => jsonSchema(example)).toThrow(schemaRefusals[name as keyof typeof schemaRefusals]);
  });
});
