import { type CheckedJson, normalizeJson, valueLimits } from "../core/json/check-json.ts";
import type { Reason } from "../core/json/problem-list.ts";
import type { Parsed } from "../core/ports/schema.ts";
import { type Fault, FaultError, fault } from "../core/values/fault.ts";

const shownMax = 5;

/** Makes the result for an invalid value. The caller may use another code; the issues are always in `detail.issues`. */
export function invalidValue(issues: readonly Reason[]): Parsed {
  return {
    ok: false,
    fault: fault("INVALID_INPUT", issuesText(issues), { issues: issues.map((issue) => ({ ...issue })) }),
  };
}

/** Makes the fault for a schema that cannot be used with any value. */
export function unusableSchemaFault(message: string): Fault {
  return fault("SCHEMA_UNUSABLE", message);
}

export function throwUnusableSchema(message: string): never {
  throw new FaultError(unusableSchemaFault(message));
}

/** Converts a value that a schema or a tool computed to JSON that can be stored. */
export function parseStorableJson(value: unknown): Parsed {
  const checked: CheckedJson = normalizeJson(value, valueLimits);
  if (checked.ok) return checked;
  if (checked.tooLarge) return { ok: false, fault: fault("LIMIT_EXCEEDED", issuesText(checked.reasons)) };
  return { ok: false, fault: unusableSchemaFault(`the value is not JSON: ${issuesText(checked.reasons)}`) };
}

/** Returns the message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

export function issuesText(issues: readonly Reason[]): string {
  const shown = issues.slice(0, shownMax).map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const more = issues.length - shown.length;
  return more > 0 ? `${shown.join("; ")}; and ${more} more` : shown.join("; ");
}
