import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/core/values/json.ts";
import { schemaField, startValue } from "./schema-field.ts";

const kindOf = (schema: JsonObject, root: JsonObject = schema) => schemaField(schema, root).kind;

describe("a field for a schema", () => {
  it.each([
    [{ type: "string" }, "text"],
    [{ type: "integer", minimum: 1 }, "number"],
    [{ type: "boolean" }, "flag"],
    [{ enum: ["a", "b"] }, "choice"],
    [{ const: 3 }, "choice"],
    [{ type: "array", items: { type: "string" } }, "list"],
    [{ type: "object", properties: { a: {} } }, "object"],
    [{ type: "object", additionalProperties: { type: "string" } }, "json"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "json"],
    [{}, "json"],
    [{ $ref: "https://example.org/x" }, "json"],
  ] as const)("of %j is %s", (schema, kind) => expect(kindOf(schema as unknown as JsonObject)).toBe(kind));

  it("follows references to definitions, and not those that lead in a circle", () => {
    const root: JsonObject = { $defs: { a: { type: "string" }, b: { $ref: "#/$defs/b" } } };
    expect(kindOf({ $ref: "#/$defs/a" }, root)).toBe("text");
    expect(kindOf({ $ref: "#/$defs/b" }, root)).toBe("json");
    expect(kindOf({ $ref: "#/$defs/constructor" }, root)).toBe("json");
  });

  it("of a schema that contains itself ends as JSON", () => {
    const root: JsonObject = { type: "object", properties: { child: { $ref: "#" } } };
    expect(schemaField(root, root, 5).kind).toBe("json");
  });

  it("begins with the defaults and the required objects", () => {
    const address = { type: "object", properties: { city: { type: "string", default: "Rome" } }, required: ["city"] };
    const schema: JsonObject = {
      type: "object",
      properties: { to: { type: "string" }, address, kind: { const: "mail" }, copies: { type: "integer", default: 1 } },
      required: ["to", "address", "kind"],
    };
    expect(startValue(schema, schema)).toEqual({ address: { city: "Rome" }, kind: "mail", copies: 1 });
  });
});
