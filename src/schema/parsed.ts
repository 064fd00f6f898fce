import { type Fault, FaultError, fault } from "../core/fault.ts";
import { type CheckedJson, tidyJson, valueLimits } from "../core/json/check-json.ts";
import type { Reason } from "../core/json/reasons.ts";
import type { Parsed } from "../core/schema.ts";

const shownMax = 5;

/** The value did not fit. The caller may give it another code; the issues are always in `detail.issues`. */
export function misfit(issues: readonly Reason[]): Parsed {
  return {
    ok: false,
    fault: fault("INVALID_INPUT", listed(issues), { issues: issues.map((issue) => ({ ...issue })) }),
  };
}

/** The schema itself cannot be used; no other value would help. */
export function unusable(message: string): Fault {
  return fault("SCHEMA_UNUSABLE", message);
}

export function refuse(message: string): never {
  throw new FaultError(unusable(message));
}

/** What a schema or a tool computed, as JSON that survives the store. */
export function asJson(value: unknown): Parsed {
  const checked: CheckedJson = tidyJson(value, valueLimits);
  if (checked.ok) return checked;
  if (checked.tooLarge) return { ok: false, fault: fault("LIMIT_EXCEEDED", listed(checked.reasons)) };
  return { ok: false, fault: unusable(`the value is not JSON: ${listed(checked.reasons)}`) };
}

/** What foreign code threw, in words. */
export function wordsOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

export function listed(issues: readonly Reason[]): string {
  const shown = issues.slice(0, shownMax).map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const more = issues.length - shown.length;
  return more > 0 ? `${shown.join("; ")}; and ${more} more` : shown.join("; ");
}
