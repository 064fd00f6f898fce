import { normalizeJson } from "../../core/json/check-json.ts";
import { pointerTo } from "../../core/json/json-pointer.ts";
import { ProblemList, type Reason } from "../../core/json/problem-list.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/values/json.ts";
import { isExponential } from "./pattern-cost.ts";
import { effectiveMembers, findDialect, isFragment, type SchemaDialect } from "./schema-dialect.ts";
import { SchemaDocument } from "./schema-document.ts";
import { schemaLimits } from "./schema-limits.ts";
import { schemaRefusals } from "./schema-refusals.ts";

export type InspectedSchema =
  | { readonly ok: true; readonly document: SchemaDocument }
  | { readonly ok: false; readonly reasons: readonly Reason[] };

/** Checks a JSON Schema that may be hostile: its size, and every schema inside it that a validation can use. */
export function inspectSchema(definition: unknown): InspectedSchema {
  const checked = normalizeJson(definition, schemaLimits);
  if (!checked.ok) return checked;
  const { value } = checked;
  if (!isJsonObject(value)) return refuse("", "a JSON Schema is an object; use {} for anything");
  const draft = findDialect(value);
  if (draft === null) return refuse("/$schema", schemaRefusals.otherDraft);
  const document = new SchemaDocument(value, draft);
  if (document.isTooLarge) return refuse("", `it contains more than ${schemaLimits.schemas} schemas`);
  const reasons = new ProblemList();
  for (const [schema, path] of document.schemas) inspectMembers(schema, path, draft, reasons);
  return reasons.isEmpty ? { ok: true, document } : { ok: false, reasons: reasons.list };
}

function refuse(path: string, message: string): InspectedSchema {
  return { ok: false, reasons: [{ path, message }] };
}

/** Adds a reason for each member that is not allowed. */
function inspectMembers(schema: JsonObject, path: string, draft: SchemaDialect, reasons: ProblemList): void {
  for (const name of effectiveMembers(schema, draft)) {
    // The $id of the whole schema is ignored: no reference leads from one schema to another.
    const problem = name === "$id" && path === "" ? null : memberProblem(name, schema[name] as Json, draft);
    if (problem !== null) reasons.add(pointerTo(path, name), problem);
  }
}

function memberProblem(name: string, argument: Json, draft: SchemaDialect): string | null {
  switch (name) {
    case "$ref":
    case "$dynamicRef":
      if (typeof argument !== "string" || isFragment(argument) || !Object.hasOwn(draft.keywords, name)) return null;
      return schemaRefusals.remoteReference;
    case "$recursiveRef":
      return schemaRefusals.recursiveReference;
    case "$id":
      if (typeof argument !== "string" || draft.anchorsOf({ $id: argument }).length > 0) return null;
      return schemaRefusals.innerId;
    case "$async":
      return schemaRefusals.asynchrony;
    case "pattern":
      return typeof argument === "string" ? patternProblem(argument) : null;
    case "patternProperties":
      return isJsonObject(argument)
        ? (Object.keys(argument)
            .map(patternProblem)
            .find((problem) => problem !== null) ?? null)
        : null;
    default:
      return null;
  }
}

function patternProblem(pattern: string): string | null {
  const { patternLength } = schemaLimits;
  if (pattern.length > patternLength) return `a pattern has at most ${patternLength} characters`;
  if (!isExponential(pattern)) return null;
  return `${pattern} ${schemaRefusals.exponentialPattern}`;
}
