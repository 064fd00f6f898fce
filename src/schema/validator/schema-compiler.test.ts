import { Ajv2020 } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../core/values/json.ts";
import { jsonSchema } from "../schema-from-json-schema.ts";

/** The reference validator. It differs from the draft for `unevaluated…`, so other tests cover these keywords. */
const ajv = new Ajv2020({ strict: false, ownProperties: true, formats: fullFormats, logger: false });

const names = ["a", "b", "ab", "c"] as const;
const name = fc.constantFrom(...names);
const small = fc.integer({ min: 0, max: 3 });
const leaf: fc.Arbitrary<Json> = fc.constantFrom<Json[]>(
  null,
  true,
  false,
  0,
  1,
  2.5,
  -3,
  "",
  "a",
  "ab",
  "x\ud83d\ude00",
  "2024-02-29",
);

const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(name, tie("value"), { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<Json>,
  ),
}));

/** Removes `contains` beside `prefixItems`, and `contains: false`: the reference differs from the draft for both. */
function withoutAmbiguousContains({ contains, ...argument }: JsonObject): Json {
  return contains === undefined || argument.prefixItems !== undefined || contains === false
    ? argument
    : { ...argument, contains };
}

/** Generates `then` under another name, because fast-check would take an object with `then` for a promise. */
const toKeyword = (word: string) => (word === "thereupon" ? "then" : word);

const types = fc.constantFrom("null", "boolean", "string", "number", "integer", "array", "object");
const pattern = fc.constantFrom("^a", "b$", "^a|b$", ".");

const { schema } = fc.letrec<{ schema: Json; word: JsonObject }>((tie) => {
  const inner = tie("schema");
  const some = fc.array(inner, { minLength: 1, maxLength: 3 });
  const named = fc.dictionary(name, inner, { maxKeys: 3, noNullPrototype: true });
  const words: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })),
    enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3, selector: (each) => JSON.stringify(each) }),
    const: value,
    maximum: fc.integer({ min: -3, max: 3 }),
    exclusiveMaximum: fc.integer({ min: -3, max: 3 }),
    minimum: fc.integer({ min: -3, max: 3 }),
    exclusiveMinimum: fc.integer({ min: -3, max: 3 }),
    multipleOf: fc.constantFrom(1, 2, 0.5),
    maxLength: small,
    minLength: small,
    pattern,
    format: fc.constantFrom("date", "email", "int32"),
    maxItems: small,
    minItems: small,
    uniqueItems: fc.boolean(),
    prefixItems: some,
    items: inner,
    contains: inner,
    minContains: small,
    maxContains: small,
    maxProperties: small,
    minProperties: small,
    required: fc.uniqueArray(name, { maxLength: 2 }),
    dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), {
      maxKeys: 2,
      noNullPrototype: true,
    }),
    dependentSchemas: named,
    propertyNames: inner,
    properties: named,
    patternProperties: fc.dictionary(pattern, inner, { maxKeys: 2, noNullPrototype: true }),
    additionalProperties: inner,
    allOf: some,
    anyOf: some,
    oneOf: some,
    not: inner,
    if: inner,
    else: inner,
    thereupon: inner,
    $ref: fc.constantFrom("#/$defs/one", "#/$defs/two", "#here"),
  };
  const word = fc
    .constantFrom(...Object.keys(words))
    .chain((each) => (words[each] as fc.Arbitrary<Json>).map((argument) => ({ [toKeyword(each)]: argument })));
  return {
    word: word as fc.Arbitrary<JsonObject>,
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.boolean() as fc.Arbitrary<Json>,
      fc
        .array(tie("word"), { maxLength: 4 })
        .map((all) => withoutAmbiguousContains(Object.assign({}, ...all) as JsonObject)),
    ),
  };
});

const definitions = fc.record({ one: schema, two: schema, main: schema }).map(({ one, two, main }): JsonObject => {
  const plain = (each: Json) => JSON.parse(JSON.stringify(each).replaceAll(/"#[^"]*"/g, '"#/$defs/end"')) as Json;
  const end = { type: "string" };
  const $defs = { one: plain(one), two: plain(two), end, anchored: { $anchor: "here", type: "number" } };
  const argument = typeof main === "boolean" ? { allOf: [main] } : (main as JsonObject);
  return { ...argument, $defs };
});

/** Returns null if the code that the reference generates fails. */
function reference(definition: JsonObject, value: Json): boolean | null {
  try {
    return ajv.compile(definition)(value) as boolean;
  } catch (thrown) {
    if (thrown instanceof ReferenceError) return null;
    throw thrown;
  }
}

describe("a compiled JSON Schema", () => {
  it("accepts the same values as the reference validator", () => {
    fc.assert(
      fc.property(definitions, fc.array(value, { minLength: 1, maxLength: 5 }), (definition, values) => {
        const found = jsonSchema(definition);
        for (const each of values) {
          const expected = reference(definition, each);
          if (expected !== null) expect([each, found.parse(each).ok]).toEqual([each, expected]);
        }
      }),
      { numRuns: 400, seed: 7 },
    );
  });

  it.each<[JsonObject, Json, boolean]>([
    [{ prefixItems: [{}] }, [1], true],
    [{ prefixItems: [{}] }, [1, 2], false],
    [{ items: {} }, [1, 2], true],
    [{ contains: { type: "string" } }, ["a", "b"], true],
    [{ contains: { type: "string" } }, ["a", 1], false],
    [{ anyOf: [true, { prefixItems: [false] }] }, [null], false],
    [{ anyOf: [{ prefixItems: [{ type: "null" }] }, { prefixItems: [{}, {}] }] }, [null, 1], true],
    [{ not: { items: false } }, [1], false],
    [{ if: { prefixItems: [{ const: 1 }] } }, [1], true],
    [{ allOf: [{ unevaluatedItems: { type: "number" } }] }, [1], true],
    [{ items: { prefixItems: [{}] } }, [[1], [2]], true],
  ])("%j evaluates items: without unevaluated items, %j is valid: %s", (argument, items, expected) => {
    expect(jsonSchema({ ...argument, unevaluatedItems: false }).parse(items).ok).toBe(expected);
  });

  it.each<[JsonObject, Json, boolean]>([
    [{ properties: { a: {} } }, { a: 1 }, true],
    [{ properties: { a: {} } }, { a: 1, b: 1 }, false],
    [{ patternProperties: { "^a": {} } }, { ab: 1 }, true],
    [{ additionalProperties: {} }, { b: 1 }, true],
    [{ allOf: [{ properties: { a: {} } }], properties: { b: {} } }, { a: 1, b: 1 }, true],
    [{ anyOf: [{ properties: { a: { const: 1 } } }, { properties: { b: {} } }] }, { a: 2, b: 1 }, false],
    [{ oneOf: [true, { properties: { a: false } }] }, { a: 1 }, false],
    [{ if: { properties: { c: true } } }, { c: 1 }, true],
    [{ not: { properties: { c: false } } }, { c: 1 }, false],
    [{ dependentSchemas: { a: { properties: { a: {}, b: {} } } } }, { a: 1, b: 1 }, true],
    [{ $defs: { a: { properties: { a: {} } } }, $ref: "#/$defs/a" }, { a: 1 }, true],
    [{ allOf: [{ unevaluatedProperties: { type: "number" } }] }, { a: 1 }, true],
    [{ properties: { a: { properties: { b: {} } } } }, { a: { c: 1 } }, true],
  ])("%j evaluates members: without unevaluated members, %j is valid: %s", (argument, members, expected) => {
    expect(jsonSchema({ ...argument, unevaluatedProperties: false }).parse(members).ok).toBe(expected);
  });

  it("may refer to itself, by any form of reference", () => {
    const tree = { $dynamicAnchor: "node", type: "object", additionalProperties: { $dynamicRef: "#node" } };
    expect(jsonSchema(tree).parse({ a: { b: {} } }).ok).toBe(true);
    expect(jsonSchema(tree).parse({ a: { b: 1 } }).ok).toBe(false);
    const odd = { $defs: { "a/b %": { type: "string" } }, $ref: "#/$defs/a~1b%20%25" };
    expect([jsonSchema(odd).parse("x").ok, jsonSchema(odd).parse(1).ok]).toEqual([true, false]);
  });

  it.each<[string, JsonObject]>([
    ["type", { type: "text" }],
    ["type", { type: ["string", "string"] }],
    ["enum", { enum: 1 }],
    ["minimum", { minimum: "1" }],
    ["multipleOf", { multipleOf: 0 }],
    ["minLength", { minLength: -1 }],
    ["maxItems", { maxItems: 1.5 }],
    ["pattern", { pattern: 1 }],
    ["format", { format: 1 }],
    ["uniqueItems", { uniqueItems: 1 }],
    ["required", { required: "a" }],
    ["properties", { properties: [] }],
    ["properties", { properties: { a: 1 } }],
    ["allOf", { allOf: [] }],
    ["prefixItems", { prefixItems: {} }],
    ["items", { items: [{}] }],
    ["$ref", { $ref: 1 }],
    ["$ref", { $ref: "#/$defs/none" }],
    ["dependentRequired", { dependentRequired: { a: "b" } }],
  ])("is refused if %s has an invalid argument: %j", (word, definition) => {
    expect(() => jsonSchema(definition)).toThrow(new RegExp(`cannot be compiled.*${word.replace("$", "\\$")}`));
  });
});
