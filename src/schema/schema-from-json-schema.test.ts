import { describe, expect, it } from "vitest";
import type { FaultError } from "../core/values/fault.ts";
import type { Json } from "../core/values/json.ts";
import { jsonSchema } from "./schema-from-json-schema.ts";

function refusal(definition: unknown): string {
  try {
    jsonSchema(definition);
  } catch (thrown) {
    return (thrown as FaultError).message;
  }
  return "accepted";
}

function messageOf(definition: object, value: unknown): string {
  const parsed = jsonSchema(definition).parse(value);
  return parsed.ok ? "fits" : `${parsed.fault.code}: ${parsed.fault.message}`;
}

function nested(depth: number, inner: Json): Json {
  return depth === 0 ? inner : { not: nested(depth - 1, inner) };
}

describe("a JSON Schema", () => {
  const mail = {
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: "https://example.org/mail",
    type: "object",
    properties: { to: { type: "string", format: "email" }, kind: { enum: ["a", "b"] } },
    required: ["to"],
    additionalProperties: false,
  };

  it("accepts a valid value and changes nothing", () => {
    expect(jsonSchema(mail).parse({ to: "ana@example.org" })).toEqual({ ok: true, value: { to: "ana@example.org" } });
  });

  it("returns all issues with their paths", () => {
    expect(messageOf(mail, { to: "no", kind: "c", extra: 1 })).toBe(
      'INVALID_INPUT: /to: must match format "email"; /kind: must be equal to one of the allowed values (["a","b"]); ' +
        "/extra: must NOT have additional properties",
    );
  });

  it("has the same hash for every order of its keys", () => {
    const schema = jsonSchema(mail);
    expect(schema.json).toEqual(mail);
    expect(jsonSchema(Object.fromEntries(Object.entries(mail).reverse())).hash).toBe(schema.hash);
  });

  it("may have the $id of another schema or of the metaschema", () => {
    expect(jsonSchema({ $id: "https://json-schema.org/draft/2020-12/schema", type: "string" }).parse("a").ok).toBe(
      true,
    );
    expect(jsonSchema({ $id: "https://example.org/mail", type: "number" }).parse(1).ok).toBe(true);
    expect(refusal({ type: "nonsense" })).toContain("cannot be compiled");
  });

  it("may refer to itself and to its definitions", () => {
    const tree = {
      $defs: { tree: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/tree" } } } } },
      $ref: "#/$defs/tree",
    };
    expect(messageOf(tree, { kids: [{ kids: [] }] })).toBe("fits");
    expect(messageOf(tree, { kids: [{ kids: [1] }] })).toContain("/kids/0/kids/0: must be object");
  });

  it("has its own anchors", () => {
    const anchored = (type: string) => ({ $defs: { a: { $anchor: "here", type } }, $ref: "#here" });
    expect(messageOf(anchored("string"), "a")).toBe("fits");
    expect(messageOf(anchored("number"), "a")).toContain("must be number");
    expect(refusal({ $ref: "#here" })).toContain("cannot be compiled");
  });

  it("accepts only JSON", () => {
    expect(messageOf({}, { at: new Date(0) })).toContain("SCHEMA_UNUSABLE: the value is not JSON: /at: ");
    expect(jsonSchema({}).parse({ a: undefined, b: 1 })).toEqual({ ok: true, value: { b: 1 } });
  });

  it("ignores inherited properties", () => {
    expect(messageOf({ type: "object", required: ["toString"] }, {})).toContain(
      "must have required property 'toString'",
    );
  });

  it("compares items in linear time", () => {
    const items = Array.from({ length: 15_000 }, (_, index) => ({ index, same: { a: [1] } }));
    expect(messageOf({ uniqueItems: true }, items)).toBe("fits");
    expect(messageOf({ uniqueItems: true }, [1, "1", true, null, "null", "{}", {}, [], "[]"])).toBe("fits");
    expect(messageOf({ uniqueItems: true }, [null, 1, null])).toContain("duplicate items");
    expect(
      messageOf({ uniqueItems: true }, [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ]),
    ).toContain("duplicate items");
    expect(messageOf({ uniqueItems: false }, [1, 1])).toBe("fits");
  });

  it("applies each pattern to its own property", () => {
    const both = { properties: { a: { pattern: "^x" }, b: { pattern: "^y" } } };
    expect(messageOf(both, { a: "x", b: "y" })).toBe("fits");
    expect(messageOf(both, { a: "x", b: "x" })).toBe('INVALID_INPUT: /b: must match pattern "^y"');
  });

  it("follows as many references as a large value needs", () => {
    const list = { $defs: { n: { type: "number" } }, items: { $ref: "#/$defs/n" } };
    expect(
      messageOf(
        list,
        Array.from({ length: 20_000 }, (_, index) => index),
      ),
    ).toBe("fits");
  });

  it("may have an enum of 10,000 values, and its message shows the first", () => {
    const values = Array.from({ length: 10_000 }, (_, index) => `00000000-0000-4000-8000-${100_000_000_000 + index}`);
    const schema = { type: "string", enum: values };
    expect(messageOf(schema, values.at(-1))).toBe("fits");
    expect(messageOf({ enum: values.map((_, index) => index) }, "x")).toContain("18,19] and 9980 more)");
    expect(messageOf({ items: schema }, values.concat(values))).toBe("fits");
  });

  it("may have an enum without values, which accepts nothing", () => {
    expect(messageOf({ enum: [] }, null)).toContain("must be equal to one of the allowed values");
  });

  it.each(["uint32", "uint", "binary", "password", "idn-email", "nonsense", "toString", "__proto__"])(
    "ignores the unknown format %s",
    (format) => {
      expect(messageOf({ format }, "?")).toBe("fits");
      expect(messageOf({ format }, -1.5)).toBe("fits");
    },
  );

  it("treats literals and unknown keywords as data", () => {
    const literal = { $ref: "https://example.org/", $id: "b", $anchor: "here", pattern: "^(a+)+$" };
    const schema = { const: literal, default: literal, "x-odd": literal, $defs: { a: { $anchor: "here" } } };
    expect(messageOf({ ...schema, not: { not: { $ref: "#here" } } }, literal)).toBe("fits");
  });

  it("names unevaluated properties", () => {
    expect(messageOf({ properties: { a: {} }, unevaluatedProperties: false }, { b: 1 })).toContain("/b: must NOT have");
  });
});

describe("a hostile JSON Schema", () => {
  it.each([
    ["a remote reference", { $ref: "https://evil.example/?d=1" }, "only references into the same schema"],
    [
      "a remote reference behind a local one",
      { $ref: "#/x-odd/0", "x-odd": [{ $dynamicRef: "other.json" }] },
      "/x-odd/0/$dynamicRef: only",
    ],
    ["an exponential pattern in a literal", { $ref: "#/const", const: { pattern: "^(a+)+$" } }, "/const/pattern: "],
    ["another draft", { $schema: "http://json-schema.org/draft-04/schema#" }, "/$schema: only draft 2020-12"],
    ["a reference of an older draft", { $recursiveRef: "#" }, "use $ref"],
    ["an exponential pattern", { properties: { a: { pattern: "^(a+)+$" } } }, "/properties/a/pattern: ^(a+)+$ repeats"],
    ["an exponential property pattern", { patternProperties: { "(a|a)*": {} } }, "/patternProperties: (a|a)* repeats"],
    ["a pattern that is too long", { pattern: "a".repeat(1001) }, "at most 1000 characters"],
    ["an inner $id", { properties: { a: { $id: "https://example.org/a" } } }, "only the whole schema may have an $id"],
    ["asynchrony", { $async: true, type: "object" }, "asynchronous schemas are not supported"],
    ["too many levels", nested(70, {}), "more than 64 levels deep"],
    ["too many bytes", { description: "x".repeat(1_048_576) }, "more than 1048576 bytes"],
    ["too many values", { enum: Array.from({ length: 20_000 }, (_, index) => index) }, "more than 20000 values"],
    ["too many schemas", { anyOf: Array.from({ length: 2000 }, () => true) }, "more than 2000 schemas"],
    ["a prototype", JSON.parse('{"properties":{"__proto__":{}}}'), "__proto__"],
    ["a function", { type: () => 1 }, "function is not JSON"],
    ["a list", [], "a JSON Schema is an object"],
    ["a dangling reference", { $ref: "#/$defs/none" }, "cannot be compiled"],
    ["data as a keyword", { properties: { a: { pattern: { $data: "1/b" } } } }, "cannot be compiled"],
    ["a broken pattern", { pattern: "[" }, "cannot be compiled"],
  ])("is refused for %s", (_, definition, message) => {
    expect(refusal(definition)).toContain(message);
  });

  it("that refers to itself without end is unusable and does not hang", () => {
    expect(messageOf({ allOf: [{ $ref: "#" }] }, 1)).toContain("SCHEMA_UNUSABLE: the JSON Schema cannot be applied");
  });

  it("that doubles at every reference exceeds the step limit", () => {
    const $defs: Record<string, object> = { d40: { type: "number" } };
    for (let level = 0; level < 40; level += 1) {
      $defs[`d${level}`] = { allOf: [{ $ref: `#/$defs/d${level + 1}` }, { $ref: `#/$defs/d${level + 1}` }] };
    }
    expect(messageOf({ $defs, $ref: "#/$defs/d0" }, 1)).toContain("too many references");
    expect(messageOf({ $defs, $ref: "#/$defs/d30" }, 1)).toBe("fits");
  });

  it("that doubles at every level of the value exceeds the step limit", () => {
    let value: Json = 1;
    for (let level = 0; level < 40; level += 1) value = [value];
    expect(messageOf({ allOf: [{ items: { $ref: "#" } }, { items: { $ref: "#" } }] }, value)).toContain("references");
  });

  it("cannot inject code through its names", () => {
    const name = "a'\"`\\\u2028*/ throw 1 //";
    expect(messageOf({ properties: { [name]: { type: "string" } }, required: [name] }, { [name]: 1 })).toContain(
      "must be string",
    );
  });

  it("is independent of other schemas with the same anchor", () => {
    const numbered = (index: number) => ({ $anchor: "here", const: index });
    for (let index = 0; index < 1100; index += 1) jsonSchema(numbered(index));
    expect(messageOf(numbered(0), 0)).toBe("fits");
  });
});
