import type { Json, JsonObject } from "../../core/values/json.ts";
import { arrayKeywords, draft07ArrayKeywords } from "./array-keywords.ts";
import { combiningKeywords, dynamicReferenceKeywords } from "./combining-keywords.ts";
import type { Keyword } from "./keyword.ts";
import { objectKeywords } from "./object-keywords.ts";
import { scalarKeywords } from "./scalar-keywords.ts";

/** The rules in which the drafts of JSON Schema differ. */
export interface SchemaDialect {
  /** In the order of evaluation: the `unevaluated…` keywords come last. A keyword that is not here has no effect. */
  readonly keywords: Readonly<Record<string, Keyword>>;
  /** The keywords whose argument is a schema or a list of schemas. */
  readonly schemaKeywords: readonly string[];
  /** The keywords whose argument has a schema for each name. */
  readonly namedSchemaKeywords: readonly string[];
  /** True if a schema with `$ref` has no other keyword. */
  readonly ignoresSiblingsOfRef: boolean;
  /** Returns the names by which a reference (`#name`) finds the schema. */
  anchorsOf(schema: JsonObject): readonly Json[];
}

const commonSchemaKeywords = [
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "else",
  "if",
  "items",
  "not",
  "oneOf",
  "propertyNames",
  "then",
] as const;

const commonNamedSchemaKeywords = ["definitions", "dependencies", "patternProperties", "properties"] as const;

const draft202012: SchemaDialect = {
  keywords: {
    ...scalarKeywords,
    ...combiningKeywords,
    ...dynamicReferenceKeywords,
    ...objectKeywords.common,
    ...objectKeywords.dependent,
    ...arrayKeywords.first,
    ...objectKeywords.rest,
    ...arrayKeywords.rest,
  },
  schemaKeywords: [...commonSchemaKeywords, "prefixItems", "unevaluatedItems", "unevaluatedProperties"],
  namedSchemaKeywords: [...commonNamedSchemaKeywords, "$defs", "dependentSchemas"],
  ignoresSiblingsOfRef: false,
  anchorsOf: ({ $anchor, $dynamicAnchor }) => [$anchor, $dynamicAnchor].filter((name) => name !== undefined),
};

const draft07: SchemaDialect = {
  keywords: { ...scalarKeywords, ...combiningKeywords, ...objectKeywords.common, ...draft07ArrayKeywords },
  schemaKeywords: [...commonSchemaKeywords, "additionalItems"],
  namedSchemaKeywords: commonNamedSchemaKeywords,
  ignoresSiblingsOfRef: true,
  anchorsOf: ({ $id }) => (isFragment($id) ? [$id.slice(1)] : []),
};

/** Returns the draft that `$schema` names, 2020-12 if it is absent, or null if the draft is not supported. */
export function findDialect({ $schema }: JsonObject): SchemaDialect | null {
  if ($schema === undefined) return draft202012;
  if (typeof $schema !== "string") return null;
  const [, name] = /^https?:\/\/json-schema\.org\/(draft\/2020-12|draft-07)\/schema#?$/.exec($schema) ?? [];
  if (name === undefined) return null;
  return name === "draft-07" ? draft07 : draft202012;
}

/** Returns the names of the members of a schema that have an effect. */
export function effectiveMembers(schema: JsonObject, draft: SchemaDialect): readonly string[] {
  return draft.ignoresSiblingsOfRef && Object.hasOwn(schema, "$ref") ? ["$ref"] : Object.keys(schema);
}

/** True for a text that refers to a part of the same schema. */
export function isFragment(reference: Json | undefined): reference is string {
  return typeof reference === "string" && reference.startsWith("#");
}
