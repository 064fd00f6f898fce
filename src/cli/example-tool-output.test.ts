import { describe, expect, it } from "vitest";
import { z } from "zod";
import { schemaFrom } from "../schema/schema-from.ts";
import { exampleToolOutput } from "./example-tool-output.ts";

describe("example output", () => {
  it.each([
    ["an object", z.object({ id: z.string(), count: z.number(), note: z.string().optional() }), { id: "…", count: 0 }],
    [
      "nested values",
      z.object({ at: z.object({ ok: z.boolean() }), all: z.array(z.string()) }),
      { at: { ok: false }, all: [] },
    ],
    ["an enum", z.object({ sky: z.enum(["clear", "cloudy"]) }), { sky: "clear" }],
    ["a literal", z.object({ type: z.literal("done") }), { type: "done" }],
    ["a union", z.union([z.string(), z.number()]), "…"],
    ["a nullable value", z.object({ x: z.string().nullable() }), { x: "…" }],
    ["limits", z.object({ n: z.number().min(5), s: z.string().min(3) }), { n: 5, s: "………" }],
    [
      "a JSON Schema with a reference",
      { $defs: { a: { type: "string" } }, type: "object", properties: { a: { $ref: "#/$defs/a" } }, required: ["a"] },
      { a: "…" },
    ],
    [
      "combined schemas",
      { allOf: [{ type: "object", properties: { a: { type: "integer" } }, required: ["a"] }] },
      { a: 0 },
    ],
  ])("of %s fits its schema", (_, definition, expected) => {
    const schema = schemaFrom(definition as never);
    expect(exampleToolOutput(schema)).toEqual(expected);
    expect(schema.parse(exampleToolOutput(schema)).ok).toBe(true);
  });
});
