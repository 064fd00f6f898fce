import type { Fields } from "../core/json/fields.ts";
import { type Allowance, AMOUNT_MOST, budgetScopes, type LimitRule, rateScopes, units } from "../core/limits/budget.ts";
import { Zone } from "../core/time/zone.ts";

export const rateFields = ["calls", "per"];
export const budgetFields = ["unit", "limit", "per", "zone"];

/** Reads how often what a rule is for may be called. Null: something is wrong, and the reasons say what. */
export function readRate(fields: Fields, rule: LimitRule): Allowance | null {
  // A call that may never be made would wait for ever.
  const calls = needed(fields, "calls", fields.whole("calls", { min: 1, max: AMOUNT_MOST }), "how many there may be");
  const per = needed(fields, "per", fields.choice("per", rateScopes, null), `for whom: ${rateScopes.join(", ")}`);
  return calls === null || per === null ? null : { budgets: [], rates: [{ calls, per }], zone: UTC, rule };
}

/** Reads how much may be spent by what a rule is for. */
export function readBudget(fields: Fields, rule: LimitRule): Allowance | null {
  const unit = needed(fields, "unit", fields.choice("unit", units, null), `what it counts: ${units.join(", ")}`);
  const limit = needed(fields, "limit", fields.whole("limit", { min: 0, max: AMOUNT_MOST }), "how much there may be");
  const per = needed(fields, "per", fields.choice("per", budgetScopes, null), `for whom: ${budgetScopes.join(", ")}`);
  const zone = readZone(fields);
  if (unit === null || limit === null || per === null || zone === null) return null;
  return { budgets: [{ unit, limit, per }], rates: [], zone, rule };
}

/** Where a rule's days and hours are. Null: nowhere. */
export function readZone(fields: Fields): Zone | null {
  const name = fields.value("zone") ?? "UTC";
  const zone = typeof name === "string" ? Zone.of(name) : null;
  if (zone === null) fields.fault("zone", "must be the IANA name of a time zone, such as Europe/Berlin");
  return zone;
}

function needed<Value>(fields: Fields, name: string, value: Value | null, what: string): Value | null {
  if ((fields.value(name) ?? null) === null) fields.fault(name, `is ${what}`);
  return value;
}

const UTC = Zone.of("UTC") as Zone;
