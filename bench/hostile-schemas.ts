import { jsonSchema } from "../src/schema/json-schema.ts";

/** A JSON Schema of someone who means harm, what it is given, and what must come of it. */
export interface HostileSchema {
  readonly about: string;
  readonly schema: unknown;
  readonly value: unknown;
  readonly comesTo: SchemaEnd;
}

/** Refused: as a schema, or because no answer can be had in time. */
type SchemaEnd = "refusal" | "misfit" | "fit";

export function endOfSchema({ schema, value }: HostileSchema): SchemaEnd {
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

/** Each asks twice for the next one: what is small to write is endless to follow. */
function doubling(levels: number, both: "allOf" | "anyOf" | "oneOf"): object {
  const $defs = properties(levels, {});
  for (let level = 0; level < levels; level += 1) {
    const next = { $ref: `#/$defs/${level + 1 === levels ? "end" : `p${level + 1}`}` };
    $defs[`p${level}`] = { [both]: [next, next] };
  }
  return { $defs: { ...$defs, end: { type: "number" } }, $ref: "#/$defs/p0" };
}

const cases = (about: string, comesTo: SchemaEnd, all: readonly (readonly [unknown, unknown])[]) =>
  all.map(([schema, value]): HostileSchema => ({ about, schema, value, comesTo }));

const endless = [
  [{ $ref: "#" }, 1],
  [{ allOf: [{ $ref: "#" }] }, 1],
  [{ not: { $ref: "#" } }, 1],
  [{ anyOf: [{ $ref: "#" }, { $ref: "#" }] }, 1],
  [{ $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" }, 1],
  [{ $dynamicAnchor: "x", allOf: [{ $dynamicRef: "#x" }] }, 1],
  [doubling(20, "allOf"), 1],
  [doubling(20, "anyOf"), "x"],
  [doubling(20, "oneOf"), 1],
] as const;

const tooLarge = [
  [{ properties: properties(5000, { type: "string", minLength: 1 }) }, {}],
  [{ anyOf: times(10_000, (index) => ({ const: index })) }, -1],
  [{ enum: times(20_000, String) }, ""],
  [{ required: times(10_000, String) }, {}],
  [
    {
      allOf: times(3000, (index) => ({ properties: { [`a${index}`]: {} } })),
      unevaluatedProperties: false,
    },
    {},
  ],
  [nested(100, (inner) => ({ not: inner })), 1],
  [{ description: "x".repeat(300_000) }, 1],
] as const;

/** As large as is let through: each part asks for more of whoever reads it than it takes to write. */
const asLarge = [
  [{ properties: properties(600, { type: "string", minLength: 1 }) }, {}],
  [{ allOf: times(600, (index) => ({ properties: { [`a${index}`]: {} } })), unevaluatedProperties: false }, {}],
  [{ $defs: properties(600, { type: "number" }), anyOf: times(60, (index) => ({ $ref: `#/$defs/p${index}` })) }, 1],
  [chain(600), 1],
  [{ enum: times(1900, String) }, "7"],
  [{ oneOf: times(600, (index) => ({ const: index })) }, 7],
  [nested(30, (inner) => ({ properties: { a: inner }, unevaluatedProperties: false })), {}],
] as const;

function chain(length: number): object {
  const $defs = properties(length, {});
  for (let at = 0; at < length; at += 1) $defs[`p${at}`] = at + 1 === length ? {} : { $ref: `#/$defs/p${at + 1}` };
  return { $defs, $ref: "#/$defs/p599" };
}

/** Together they ask for more than each of them by itself. */
const together = [
  [
    { patternProperties: Object.fromEntries(times(100, (index) => [`a*${index}$`, {}] as const)) },
    Object.fromEntries(times(500, (index) => [`${"a".repeat(200)}${index}`, 1] as const)),
  ],
  [{ items: { allOf: times(500, () => ({ minLength: 1 })) } }, times(2000, () => "a")],
  [{ items: { pattern: "\\s*\\s*x" } }, times(500, () => " ".repeat(120))],
  [{ allOf: times(200, () => ({ uniqueItems: true })) }, times(500, (index) => ({ index }))],
  [{ allOf: times(600, () => ({ const: times(3, String) })) }, times(3000, String)],
] as const;

const elsewhere = [
  [{ $ref: "file:///etc/passwd" }, 1],
  [{ $ref: "https://example.org/schema" }, 1],
  [{ $ref: "//example.org/schema" }, 1],
  [{ $dynamicRef: "other.json#x" }, 1],
  [{ $recursiveRef: "#" }, 1],
  [{ $id: "https://example.org/a", properties: { a: { $id: "b" } } }, {}],
  [{ $async: true }, 1],
  [JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), {}],
  [{ const: { $ref: "#" } }, 1],
  [{ pattern: { $data: "1/b" } }, "x"],
  [{ type: () => "string" }, 1],
  [[], 1],
  [null, 1],
  ["true", 1],
] as const;

const explodes = ["^(a+)+$", "(a*)*b", "(a|a)*b", "(a|aa)+$", "(.*a){20}", "([a-z]+)*!", "(?:a?){30}a{30}", "((a+))+"];

const long = "a".repeat(20_000);

/** These grow with the square of the text or worse, where a regular expression goes back and forth. */
const grows = ["a*b", "a*a*b", "^a*a*b$", "a+a+a+b", "^(a*)(a*)(a*)b$", ".*.*=.*", "[a-z]*[a-y]*!", "a*$b"];

const patterns: readonly HostileSchema[] = [
  ...explodes.map(
    (pattern): HostileSchema => ({
      about: "a pattern that explodes",
      schema: { pattern },
      value: long,
      comesTo: "refusal",
    }),
  ),
  ...explodes.map(
    (pattern): HostileSchema => ({
      about: "a name pattern that explodes",
      schema: { patternProperties: { [pattern]: {} } },
      value: { [long]: 1 },
      comesTo: "refusal",
    }),
  ),
  ...grows.map(
    (pattern): HostileSchema => ({
      about: "a pattern that grows",
      schema: { pattern },
      value: long.slice(0, 2000),
      comesTo: "misfit",
    }),
  ),
  ...grows.map(
    (pattern): HostileSchema => ({
      about: "a pattern that grows, on a megabyte",
      schema: { pattern },
      value: long.repeat(50),
      comesTo: "refusal",
    }),
  ),
  ...cases("a pattern that looks ahead", "refusal", [
    [{ pattern: "(?=a*b)a*a*c" }, long],
    [{ pattern: "(?<=a*)a*\\s*b" }, long],
    [{ pattern: "\\s*\\s*\\s*x" }, " ".repeat(20_000)],
  ]),
  ...cases("a pattern that is none", "refusal", [
    [{ pattern: "[" }, ""],
    [{ pattern: "(" }, ""],
    [{ pattern: "\\" }, ""],
    [{ pattern: "a".repeat(1001) }, ""],
    [{ pattern: "a{99999999}{99999999}" }, ""],
  ]),
];

const formats = "date date-time time duration uri uri-reference email hostname ipv4 ipv6 uuid json-pointer".split(" ");

const texts: readonly HostileSchema[] = formats.flatMap((format) =>
  [`${"a".repeat(10_000)}\u0000`, `${":".repeat(10_000)}\n`, `${"1.".repeat(5000)}\u2028`].map(
    (value): HostileSchema => ({
      about: `a text that is no ${format}`,
      schema: { type: "string", not: { format } },
      value,
      comesTo: "fit",
    }),
  ),
);

const data = cases("data that is wrong everywhere", "misfit", [
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
  ...cases("references without end", "refusal", endless),
  ...cases("more than anyone writes", "refusal", tooLarge),
  ...cases("as much as is let through", "fit", asLarge),
  ...cases("much of both", "refusal", together),
  ...cases("what is not in the schema", "refusal", elsewhere),
  ...patterns,
  ...texts,
  ...data,
];
