import type { FieldReader } from "../../core/json/field-reader.ts";
import {
  budgetScopes,
  COST_AMOUNT_MAX,
  type LimitRule,
  type LimitSet,
  limitUnits,
  rateScopes,
} from "../../core/limits/budget.ts";
import { TimeZone } from "../../core/time/time-zone.ts";

export const rateFields = ["calls", "per"];
export const budgetFields = ["unit", "limit", "per", "zone"];

/** Parses the rate of a rule. Returns null, and adds reasons, if it is invalid. */
export function parseRate(fields: FieldReader, rule: LimitRule): LimitSet | null {
  // With a rate of 0, a call would wait forever.
  const calls = requireField(
    fields,
    "calls",
    fields.wholeNumber("calls", { min: 1, max: COST_AMOUNT_MAX }),
    "the number of calls",
  );
  const per = requireField(fields, "per", fields.choice("per", rateScopes, null), `one of ${rateScopes.join(", ")}`);
  return calls === null || per === null ? null : { budgets: [], rates: [{ calls, per }], zone: UTC, rule };
}

/** Parses the budget of a rule. Returns null, and adds reasons, if it is invalid. */
export function parseBudget(fields: FieldReader, rule: LimitRule): LimitSet | null {
  const unit = requireField(fields, "unit", fields.choice("unit", limitUnits, null), `one of ${limitUnits.join(", ")}`);
  const limit = requireField(
    fields,
    "limit",
    fields.wholeNumber("limit", { min: 0, max: COST_AMOUNT_MAX }),
    "the largest amount",
  );
  const per = requireField(
    fields,
    "per",
    fields.choice("per", budgetScopes, null),
    `one of ${budgetScopes.join(", ")}`,
  );
  const zone = parseZone(fields);
  if (unit === null || limit === null || per === null || zone === null) return null;
  return { budgets: [{ unit, limit, per }], rates: [], zone, rule };
}

/** Parses the time zone of a rule; UTC by default. Returns null, and adds a reason, if there is no such zone. */
export function parseZone(fields: FieldReader): TimeZone | null {
  const name = fields.value("zone") ?? "UTC";
  const zone = typeof name === "string" ? TimeZone.of(name) : null;
  if (zone === null) fields.addReason("zone", "must be the IANA name of a time zone, such as Europe/Berlin");
  return zone;
}

function requireField<Value>(fields: FieldReader, name: string, value: Value | null, what: string): Value | null {
  if ((fields.value(name) ?? null) === null) fields.addReason(name, `is required: ${what}`);
  return value;
}

const UTC = TimeZone.of("UTC") as TimeZone;
