import { canonical } from "../core/json/canonical.ts";
import { tidyJson } from "../core/json/check-json.ts";
import { isObject, type Json, type JsonObject } from "../core/json/json.ts";
import { pointerTo } from "../core/json/pointer.ts";
import { type Reason, Reasons } from "../core/json/reasons.ts";
import { mayExplode } from "./pattern-guard.ts";
import { schemaLimits } from "./schema-limits.ts";

export type Guarded =
  | { readonly ok: true; readonly json: JsonObject }
  | { readonly ok: false; readonly reasons: readonly Reason[] };

/**
 * Reads a JSON Schema that may be hostile. Judges every member wherever it stands, because a reference can make a schema
 * of any place; a refused default or example is the smaller evil.
 */
export function guarded(definition: unknown): Guarded {
  const checked = tidyJson(definition, schemaLimits);
  if (!checked.ok) return checked;
  const { value } = checked;
  if (!isObject(value))
    return { ok: false, reasons: [{ path: "", message: "a JSON Schema is an object; use {} for anything" }] };
  const reasons = new Reasons();
  // The name of the whole is of no use: nothing leads from one schema to another.
  const { $id: _, ...rest } = value;
  judgeMembers(rest, "", reasons);
  return reasons.none ? { ok: true, json: value } : { ok: false, reasons: reasons.list };
}

/** What must not be read is told to `reasons`. */
function judgeMembers(value: Json, path: string, reasons: Reasons): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const place = pointerTo(path, key);
    const problem = isObject(value) ? problemWith(key, member as Json) : null;
    if (problem !== null) reasons.add(place, problem);
    judgeMembers(member as Json, place, reasons);
  }
}

function problemWith(key: string, member: Json): string | null {
  switch (key) {
    case "$ref":
    case "$dynamicRef":
      if (typeof member !== "string" || member.startsWith("#")) return null;
      return "only references into the same schema (#/…) are followed; put the other schema under $defs";
    case "$recursiveRef":
      return "is from an older draft; use $ref";
    case "$id":
      return typeof member === "string" ? "only the whole schema may have an $id; use $defs and $ref" : null;
    case "$async":
      return "asynchronous schemas are not used; move what they wait for into `run`";
    case "const":
    case "enum":
      // A reference could make a schema of it.
      return canonical(member).includes('"$ref":')
        ? "a literal value must not look like a reference; rename its $ref"
        : null;
    case "pattern":
      return typeof member === "string" ? patternProblem(member) : null;
    case "patternProperties":
      return isObject(member)
        ? (Object.keys(member)
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
  if (!mayExplode(pattern)) return null;
  return `${pattern} repeats a group that varies, which can take minutes to match; rewrite it without that`;
}
