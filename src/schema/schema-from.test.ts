import type { StandardSchemaV1 } from "@standard-schema/spec";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { FaultError } from "../core/values/fault.ts";
import { schemaFrom } from "./schema-from.ts";

function refusal(definition: unknown): string {
  try {
    schemaFrom(definition as StandardSchemaV1);
  } catch (thrown) {
    return (thrown as FaultError).message;
  }
  return "accepted";
}

/** A Standard Schema with this validate function. */
function standard(validate: (value: unknown) => unknown, more: object = {}): StandardSchemaV1 {
  const jsonSchema = { input: () => ({ type: "object" }), output: () => ({}) };
  return { "~standard": { version: 1, vendor: "tiny", validate, jsonSchema, ...more } } as StandardSchemaV1;
}

const yields = (value: unknown) => schemaFrom(standard(() => ({ value }))).parse(value);

describe("a Standard Schema", () => {
  const mail = schemaFrom(
    z.object({ to: z.string(), copies: z.number().int().default(1), note: z.string().optional() }),
  );

  it("returns the canonical form of accepted values", () => {
    expect(mail.parse({ to: "ana", extra: true })).toEqual({ ok: true, value: { to: "ana", copies: 1 } });
    expect(mail.parse({ to: "ana", copies: 2, note: undefined })).toEqual({
      ok: true,
      value: { to: "ana", copies: 2 },
    });
  });

  it("returns all issues with their paths", () => {
    const parsed = mail.parse({ to: 1, copies: 1.5 });
    expect(parsed).toMatchObject({
      ok: false,
      fault: { code: "INVALID_INPUT", detail: { issues: [{ path: "/to" }, { path: "/copies" }] } },
    });
    expect(!parsed.ok && parsed.fault.message).toMatch(/^\/to: .*string.*; \/copies: /);
  });

  it("shows the first issues in its message and counts the others", () => {
    const parsed = schemaFrom(z.array(z.string())).parse([1, 2, 3, 4, 5, 6, 7]);
    expect(!parsed.ok && parsed.fault.message).toMatch(/; and 2 more$/);
  });

  it("has a JSON Schema for models", () => {
    expect(mail.json).toMatchObject({ type: "object", properties: { to: { type: "string" } }, required: ["to"] });
  });

  it("has the same hash as an equal schema", () => {
    const again = schemaFrom(
      z.object({ to: z.string(), copies: z.number().int().default(1), note: z.string().optional() }),
    );
    const other = schemaFrom(z.object({ to: z.string() }));
    expect(again.hash).toBe(mail.hash);
    expect(other.hash).not.toBe(mail.hash);
    expect(mail.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it("supports paths with objects, and issues without a path", () => {
    const issues = [{ message: "bad", path: [{ key: "a/b" }, 0] }, { message: "worse" }];
    const parsed = schemaFrom(standard(() => ({ issues }))).parse({});
    expect(!parsed.ok && parsed.fault.message).toBe("/a~1b/0: bad; worse");
  });

  it("may be a function with the ~standard property", () => {
    const callable = Object.assign(
      () => 1,
      standard((value) => ({ value })),
    );
    expect(schemaFrom(callable as unknown as StandardSchemaV1).parse({ a: 1 })).toEqual({ ok: true, value: { a: 1 } });
  });

  it.each([
    ["a transform that parses to itself", z.object({ n: z.coerce.number() }), { n: "5" }, { n: 5 }],
    ["trimming", z.object({ s: z.string().trim() }), { s: " a " }, { s: "a" }],
  ])("may use %s", (_, definition, value, expected) => {
    expect(schemaFrom(definition).parse(value)).toEqual({ ok: true, value: expected });
  });

  it("parses its own output to the same value", () => {
    fc.assert(
      fc.property(fc.record({ to: fc.string(), copies: fc.integer() }), (value) => {
        const parsed = mail.parse(value);
        expect(parsed.ok && mail.parse(parsed.value)).toEqual(parsed);
      }),
    );
  });
});

describe("a Standard Schema is unusable", () => {
  it.each([
    ["rejects its own output", z.string().transform(Number), "5"],
    ["changes its own output", z.string().transform((text) => `${text}!`), "5"],
  ])("if it %s", (_, definition, value) => {
    const parsed = schemaFrom(definition).parse(value);
    expect(parsed).toMatchObject({ ok: false, fault: { code: "SCHEMA_UNUSABLE" } });
    expect(!parsed.ok && parsed.fault.message).toContain("in `run` instead");
  });

  it("if it is asynchronous, also if it rejects later", () => {
    const slow = schemaFrom(z.object({ a: z.string().refine(async () => true) })).parse({ a: "x" });
    expect(!slow.ok && slow.fault.message).toContain("is asynchronous");
    const failing = schemaFrom(standard(() => Promise.reject(new Error("later")))).parse(1);
    expect(!failing.ok && failing.fault.code).toBe("SCHEMA_UNUSABLE");
  });

  it.each([
    ["throws", new Error("broken")],
    ["throws something odd", "broken"],
  ])("if it %s", (_, thrown) => {
    const parsed = schemaFrom(
      standard(() => {
        throw thrown;
      }),
    ).parse(1);
    expect(!parsed.ok && parsed.fault.message).toContain("the schema failed (broken)");
  });

  it.each([[new Date(0)], [new Map()], [() => 1], [1n], [Number.NaN], [undefined]])("if it returns %s", (value) => {
    expect(yields(value)).toMatchObject({ ok: false, fault: { code: "SCHEMA_UNUSABLE" } });
  });

  it("if it has no JSON Schema, and the message names the fix", () => {
    expect(refusal(standard(() => ({}), { jsonSchema: undefined }))).toContain(
      "give a JSON Schema instead, or wrap it",
    );
    expect(refusal(z.object({ at: z.date() }))).toContain("a text for a date");
    const odd = { input: () => ({ type: () => 1 }), output: () => ({}) };
    expect(refusal(standard(() => ({}), { jsonSchema: odd }))).toContain("the JSON Schema of tiny is unusable");
  });

  it.each([[null], ["object"], [undefined], [() => 1]])("if it is %s", (definition) => {
    expect(refusal(definition)).toContain("SCHEMA_UNUSABLE: a schema is a zod schema");
  });

  it("but a value that is too large has its own code", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100; level += 1) deep = [deep];
    expect(yields(deep)).toMatchObject({ ok: false, fault: { code: "LIMIT_EXCEEDED" } });
  });
});
