import { jsonSchema } from "../src/schema/schema-from-json-schema.ts";

/** A JSON Schema of an attacker, a value, and the required outcome. */
export interface HostileSchema {
  readonly about: string;
  readonly schema: unknown;
  readonly value: unknown;
  readonly expected: SchemaOutcome;
}

/** refusal: the schema is invalid, or validation exceeds its limit. */
type SchemaOutcome = "refusal" | "misfit" | "fit";

export function runHostileSchema({ schema, value }: HostileSchema): SchemaOutcome {
  try {
    const parsed = jsonSchema(schema).parse(value);
    if (parsed.ok) return "fit";
    return parsed.fault.code === "SCHEMA_UNUSABLE" ? "refusal" : "misfit";
  } catch {
    return "refusal";
  }
}

const times = <Item>(length: number, make: (index: number) => Item): readonly Item[] =>
  Array.from({ length }, (_, index) => make(index));

const properties = (count: number, schema: object) =>
  Object.fromEntries(times(count, (index) => [`p${index}`, schema] as const));

function nested(depth: number, around: (inner: object) => object): object {
  let schema: object = {};
  for (let level = 0; level < depth; level += 1) schema = around(schema);
  return schema;
}

/** Each definition references the next one twice, so a small schema takes exponential time. */
function doublingSchema(levels: number, both: "allOf" | "anyOf" | "oneOf"): object {
  const $defs = properties(levels, {});
  for (let level = 0; level < levels; level += 1) {
    const next = { $ref: `#/$defs/${level + 1 === levels ? "end" : `p${level + 1}`}` };
    $defs[`p${level}`] = { [both]: [next, next] };
  }
  return { $defs: { ...$defs, end: { type: "number" } }, $ref: "#/$defs/p0" };
}

const schemaCases = (about: string, expected: SchemaOutcome, all: readonly (readonly [unknown, unknown])[]) =>
  all.map(([schema, value]): HostileSchema => ({ about, schema, value, expected }));

const exponentialSchemas = [
  [{ $ref: "#" }, 1],
  [{ allOf: [{ $ref: "#" }] }, 1],
  [{ not: { $ref: "#" } }, 1],
  [{ anyOf: [{ $ref: "#" }, { $ref: "#" }] }, 1],
  [{ $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" }, 1],
  [{ $dynamicAnchor: "x", allOf: [{ $dynamicRef: "#x" }] }, 1],
  [doublingSchema(20, "allOf"), 1],
  [doublingSchema(20, "anyOf"), "x"],
  [doublingSchema(20, "oneOf"), 1],
] as const;

const tooLargeSchemas = [
  [{ properties: properties(5000, { type: "string", minLength: 1 }) }, {}],
  [{ anyOf: times(10_000, (index) => ({ const: index })) }, -1],
  [{ enum: times(20_000, String) }, ""],
  [{ required: times(20_000, String) }, {}],
  [{ items: { allOf: times(2000, () => true) } }, []],
  [
    {
      allOf: times(3000, (index) => ({ properties: { [`a${index}`]: {} } })),
      unevaluatedProperties: false,
    },
    {},
  ],
  [nested(100, (inner) => ({ not: inner })), 1],
  [{ description: "x".repeat(1_100_000) }, 1],
] as const;

/** Schemas just below the size limit, with parts that are expensive to compile. */
const largestSchemas = [
  [{ properties: properties(600, { type: "string", minLength: 1 }) }, {}],
  [{ allOf: times(600, (index) => ({ properties: { [`a${index}`]: {} } })), unevaluatedProperties: false }, {}],
  [{ $defs: properties(600, { type: "number" }), anyOf: times(60, (index) => ({ $ref: `#/$defs/p${index}` })) }, 1],
  [referenceChain(600), 1],
  [{ enum: times(19_000, String) }, "7"],
  [{ oneOf: times(600, (index) => ({ const: index })) }, 7],
  [nested(30, (inner) => ({ properties: { a: inner }, unevaluatedProperties: false })), {}],
] as const;

function referenceChain(length: number): object {
  const $defs = properties(length, {});
  for (let at = 0; at < length; at += 1) $defs[`p${at}`] = at + 1 === length ? {} : { $ref: `#/$defs/p${at + 1}` };
  return { $defs, $ref: "#/$defs/p599" };
}

/** Schema and value are small by themselves but expensive together. */
const combinedSchemas = [
  [
    { patternProperties: Object.fromEntries(times(100, (index) => [`a*${index}$`, {}] as const)) },
    Object.fromEntries(times(500, (index) => [`${"a".repeat(200)}${index}`, 1] as const)),
  ],
  [{ items: { allOf: times(500, () => ({ minLength: 1 })) } }, times(2000, () => "a")],
  [{ items: { pattern: "\\s*\\s*x" } }, times(500, () => " ".repeat(120))],
  [{ allOf: times(200, () => ({ uniqueItems: true })) }, times(500, (index) => ({ index }))],
  [{ allOf: times(600, () => ({ const: times(3, String) })) }, times(3000, String)],
  [{ items: { allOf: times(1900, () => true) } }, times(50_000, () => 1)],
] as const;

const nonSchemas = [
  [{ $ref: "file:///etc/passwd" }, 1],
  [{ $ref: "https://example.org/schema" }, 1],
  [{ $ref: "//example.org/schema" }, 1],
  [{ $dynamicRef: "other.json#x" }, 1],
  [{ $recursiveRef: "#" }, 1],
  [{ $id: "https://example.org/a", properties: { a: { $id: "b" } } }, {}],
  [{ $async: true }, 1],
  [JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), {}],
  [{ $schema: "http://json-schema.org/draft-04/schema#" }, 1],
  [{ $ref: "#/const", const: { $ref: "https://example.org/schema" } }, 1],
  [{ pattern: { $data: "1/b" } }, "x"],
  [{ type: () => "string" }, 1],
  [[], 1],
  [null, 1],
  ["true", 1],
] as const;

const exponentialPatterns = [
  "^(a+)+$",
  "(a*)*b",
  "(a|a)*b",
  "(a|aa)+$",
  "(.*a){20}",
  "([a-z]+)*!",
  "(?:a?){30}a{30}",
  "((a+))+",
];

const longText = "a".repeat(20_000);

/** With backtracking, these take quadratic time or more. */
const quadraticPatterns = ["a*b", "a*a*b", "^a*a*b$", "a+a+a+b", "^(a*)(a*)(a*)b$", ".*.*=.*", "[a-z]*[a-y]*!", "a*$b"];

const patterns: readonly HostileSchema[] = [
  ...exponentialPatterns.map(
    (pattern): HostileSchema => ({
      about: "an exponential pattern",
      schema: { pattern },
      value: longText,
      expected: "refusal",
    }),
  ),
  ...exponentialPatterns.map(
    (pattern): HostileSchema => ({
      about: "an exponential property pattern",
      schema: { patternProperties: { [pattern]: {} } },
      value: { [longText]: 1 },
      expected: "refusal",
    }),
  ),
  ...quadraticPatterns.map(
    (pattern): HostileSchema => ({
      about: "a quadratic pattern",
      schema: { pattern },
      value: longText.slice(0, 2000),
      expected: "misfit",
    }),
  ),
  ...quadraticPatterns.map(
    (pattern): HostileSchema => ({
      about: "a quadratic pattern, on a megabyte",
      schema: { pattern },
      value: longText.repeat(50),
      expected: "refusal",
    }),
  ),
  ...schemaCases("a pattern with lookaround", "refusal", [
    [{ pattern: "(?=a*b)a*a*c" }, longText],
    [{ pattern: "(?<=a*)a*\\s*b" }, longText],
    [{ pattern: "\\s*\\s*\\s*x" }, " ".repeat(20_000)],
  ]),
  ...schemaCases("an invalid pattern", "refusal", [
    [{ pattern: "[" }, ""],
    [{ pattern: "(" }, ""],
    [{ pattern: "\\" }, ""],
    [{ pattern: "a".repeat(1001) }, ""],
    [{ pattern: "a{99999999}{99999999}" }, ""],
  ]),
];

const formats = "date date-time time duration uri uri-reference email hostname ipv4 ipv6 uuid json-pointer".split(" ");

const formatCases: readonly HostileSchema[] = formats.flatMap((format) =>
  [`${"a".repeat(10_000)}\u0000`, `${":".repeat(10_000)}\n`, `${"1.".repeat(5000)}\u2028`].map(
    (value): HostileSchema => ({
      about: `a text that is not a valid ${format}`,
      schema: { type: "string", not: { format } },
      value,
      expected: "fit",
    }),
  ),
);

const invalidData = schemaCases("data with errors everywhere", "misfit", [
  [{ items: { type: "string" } }, times(2000, () => 0)],
  [{ additionalProperties: false }, Object.fromEntries(times(2000, (index) => [`k${index}`, 1] as const))],
  [{ contains: { const: 1 } }, times(5000, () => 0)],
  [{ uniqueItems: true }, [...times(3000, (index) => ({ index })), { index: 0 }]],
  [{ required: ["toString", "constructor"] }, {}],
  [{ format: "regex" }, "(".repeat(10_000)],
  [{ format: "uri-template" }, `${"{a".repeat(5000)}`],
  [{ format: "byte" }, `${"a".repeat(10_001)}=`],
  [{ items: { anyOf: times(30, (index) => ({ const: `x${index}` })) } }, times(100, () => "y")],
]);

export const hostileSchemas: readonly HostileSchema[] = [
  ...schemaCases("endless references", "refusal", exponentialSchemas),
  ...schemaCases("a schema that is too large", "refusal", tooLargeSchemas),
  ...schemaCases("a schema of the largest allowed size", "fit", largestSchemas),
  ...schemaCases("an expensive combination of schema and value", "refusal", combinedSchemas),
  ...schemaCases("not a supported schema", "refusal", nonSchemas),
  ...patterns,
  ...formatCases,
  ...invalidData,
];
