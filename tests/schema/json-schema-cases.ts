import type { Json, JsonObject } from "../../src/core/values/json.ts";

/** A group of the JSON Schema test suite: a schema and values that it accepts or rejects. */
export interface SuiteGroup {
  readonly draft: "draft2020-12" | "draft7";
  /** The path of the file in the folder of the draft. */
  readonly file: string;
  readonly description: string;
  readonly schema: Json;
  readonly tests: readonly { readonly description: string; readonly data: Json; readonly valid: boolean }[];
}

/** A keyword, a schema with it, the values that it accepts, and those that it rejects. */
type SchemaCase = readonly [keyword: string, schema: JsonObject, valid: readonly Json[], invalid: readonly Json[]];

/** The linter forbids an object literal with `then`. */
const parse = (text: string) => JSON.parse(text) as JsonObject;

const commonCases: readonly SchemaCase[] = [
  ["type", { type: "integer" }, [1, 1.0, -3], [1.5, "1", null]],
  ["type", { type: ["string", "null"] }, ["", null], [0, {}]],
  ["enum", { enum: [1, { a: [1] }, null] }, [1, { a: [1] }, null], [true, { a: 1 }, []]],
  ["enum", { enum: [] }, [], [null, 1, ""]],
  ["const", { const: { a: false, b: 1 } }, [{ b: 1, a: false }], [{ a: 0, b: 1 }, null]],
  ["maximum", { maximum: 3 }, [3, -9, "9"], [3.5]],
  ["exclusiveMaximum", { exclusiveMaximum: 3 }, [2.9, "3"], [3, 4]],
  ["minimum", { minimum: -2 }, [-2, 0, null], [-2.1]],
  ["exclusiveMinimum", { exclusiveMinimum: 0 }, [0.1, []], [0, -1]],
  ["multipleOf", { multipleOf: 0.01 }, [4.35, 0, "x"], [4.351]],
  ["multipleOf", { type: "integer", multipleOf: 0.5 }, [1e308], [0.25]],
  ["maxLength", { maxLength: 2 }, ["ab", "😀😀", 100], ["abc"]],
  ["minLength", { minLength: 2 }, ["ab", 1], ["a", "😀"]],
  ["pattern", { pattern: "^a+$" }, ["aa", 1], ["ab"]],
  ["pattern", { pattern: "b" }, ["abc"], ["ac"]],
  ["format", { format: "date" }, ["2024-02-29", 1], ["2023-02-29"]],
  ["format", { anyOf: [{ format: "uint32" }, { format: "binary" }], type: "string" }, ["?"], [-1]],
  ["allOf", { allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
  ["anyOf", { anyOf: [{ type: "string" }, { minimum: 2 }] }, ["", 2], [1]],
  ["oneOf", { oneOf: [{ type: "integer" }, { minimum: 2 }] }, [1, 2.5], [3, 1.5]],
  ["not", { not: { type: "string" } }, [1], [""]],
  ["if", parse('{ "if": { "minimum": 5 }, "then": { "maximum": 9 }, "else": { "multipleOf": 2 } }'), [7, 4], [10, 3]],
  ["if", parse('{ "then": false, "else": false }'), [1], []],
  ["$ref", { $ref: "#/definitions/a", definitions: { a: { type: "string" } } }, ["x"], [1]],
  ["$ref", { properties: { next: { $ref: "#" } }, additionalProperties: false }, [{ next: { next: {} } }], [{ a: 1 }]],
  ["$ref", { definitions: { "a/b~c": { type: "null" } }, allOf: [{ $ref: "#/definitions/a~1b~0c" }] }, [null], [0]],
  ["$ref", { properties: { $ref: { type: "string" } } }, [{ $ref: "a" }], [{ $ref: 2 }]],
  ["maxItems", { maxItems: 1 }, [[], [1], "ab"], [[1, 2]]],
  ["minItems", { minItems: 1 }, [[1], {}], [[]]],
  [
    "uniqueItems",
    { uniqueItems: true },
    [[1, true, "1", [1]]],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  ["items", { items: { type: "integer" } }, [[], [1, 2], { 0: "a" }], [[1, "x"]]],
  ["items", { items: false }, [[]], [[null]]],
  ["contains", { contains: { minimum: 5 } }, [[1, 5], "x"], [[], [4]]],
  ["maxProperties", { maxProperties: 1 }, [{}, { a: 1 }, [1, 2]], [{ a: 1, b: 2 }]],
  ["minProperties", { minProperties: 1 }, [{ a: 1 }, []], [{}]],
  ["required", { required: ["a", "toString"] }, [{ a: 1, toString: 1 }, []], [{ a: 1 }, {}]],
  [
    "dependencies",
    { dependencies: { a: ["b"], c: { required: ["d"] } } },
    [{ a: 1, b: 1 }, { b: 1 }],
    [{ a: 1 }, { c: 1 }],
  ],
  ["propertyNames", { propertyNames: { maxLength: 1 } }, [{ a: 1 }, {}, []], [{ ab: 1 }]],
  ["properties", { properties: { a: { type: "string" }, b: false } }, [{ a: "" }, { c: 1 }, []], [{ a: 1 }, { b: 1 }]],
  ["patternProperties", { patternProperties: { "^f": { type: "integer" } } }, [{ f1: 1, g: "" }], [{ f: "x" }]],
  [
    "additionalProperties",
    { properties: { a: {} }, patternProperties: { "^x": {} }, additionalProperties: { type: "null" } },
    [{ a: 1, x1: 1, b: null }],
    [{ b: 1 }],
  ],
];

const draft202012Cases: readonly SchemaCase[] = [
  ["$ref", { $ref: "#/$defs/a", maximum: 2, $defs: { a: { type: "number" } } }, [1], [3, "x"]],
  ["$ref", { $ref: "#here", $defs: { a: { $anchor: "here", type: "null" } } }, [null], [1]],
  [
    "$dynamicRef",
    { $dynamicAnchor: "n", type: "object", additionalProperties: { $dynamicRef: "#n" } },
    [{ a: {} }],
    [{ a: 1 }],
  ],
  ["prefixItems", { prefixItems: [{ type: "string" }, {}] }, [["a", 1, 2], [], [""]], [[1]]],
  ["items", { prefixItems: [{}], items: { type: "null" } }, [[1, null], [1]], [[1, 2]]],
  [
    "contains",
    { contains: { const: 1 }, minContains: 2, maxContains: 3 },
    [
      [1, 1],
      [1, 1, 1, 0],
    ],
    [[1], [1, 1, 1, 1]],
  ],
  ["contains", { contains: { const: 1 }, minContains: 0 }, [[]], []],
  ["dependentRequired", { dependentRequired: { a: ["b"] } }, [{ b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
  ["dependentSchemas", { dependentSchemas: { a: { minProperties: 2 } } }, [{ b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
  ["unevaluatedItems", { allOf: [{ prefixItems: [{}] }], unevaluatedItems: false }, [[1]], [[1, 2]]],
  ["unevaluatedItems", { contains: { const: 1 }, unevaluatedItems: false }, [[1, 1]], [[1, 2]]],
  [
    "unevaluatedProperties",
    { anyOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
    [{ a: 1 }],
    [{ b: 1 }],
  ],
  [
    "unevaluatedProperties",
    { $ref: "#/$defs/a", $defs: { a: { properties: { a: {} } } }, unevaluatedProperties: false },
    [{ a: 1 }],
    [{ b: 1 }],
  ],
  ["additionalItems", { additionalItems: false }, [[1]], []],
];

const draft07Cases: readonly SchemaCase[] = [
  ["$ref", { $ref: "#/definitions/a", maximum: 2, definitions: { a: { type: "number" } } }, [1, 3], ["x"]],
  ["$ref", { allOf: [{ $ref: "#here" }], definitions: { a: { $id: "#here", type: "null" } } }, [null], [1]],
  ["$ref", { $ref: "#here", definitions: { a: { $id: "#here", type: "null" } } }, [null], [1]],
  [
    "$ref",
    { items: { $id: "https://example.org/", $ref: "#/definitions/a" }, definitions: { a: { const: 1 } } },
    [[1]],
    [[2]],
  ],
  ["items", { items: [{ type: "string" }, { type: "number" }] }, [["a", 1, null], ["a"], []], [[1]]],
  ["items", { items: [], additionalItems: false }, [[]], [[1]]],
  ["additionalItems", { items: [{}], additionalItems: { type: "null" } }, [[1, null], [1]], [[1, 2]]],
  ["additionalItems", { items: {}, additionalItems: false }, [[1, 2]], []],
  ["additionalItems", { additionalItems: false }, [[1]], []],
  ["contains", { contains: { const: 1 }, minContains: 2 }, [[1]], [[]]],
  [
    "prefixItems",
    { prefixItems: [false], unevaluatedItems: false, dependentRequired: { a: ["b"] } },
    [[1], { a: 1 }],
    [],
  ],
];

export const schemaCases: readonly SuiteGroup[] = [
  ...[...commonCases, ...draft202012Cases].map((each) => makeGroup("draft2020-12", each)),
  ...[...commonCases, ...draft07Cases].map((each) => makeGroup("draft7", each)),
];

function makeGroup(draft: SuiteGroup["draft"], [keyword, schema, valid, invalid]: SchemaCase): SuiteGroup {
  const tests = [...valid.map((data) => ({ data, valid: true })), ...invalid.map((data) => ({ data, valid: false }))];
  return {
    draft,
    file: `${keyword}.json`,
    description: JSON.stringify(schema),
    schema,
    tests: tests.map((test) => ({ ...test, description: JSON.stringify(test.data) })),
  };
}
