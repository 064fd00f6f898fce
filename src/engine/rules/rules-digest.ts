import { checkJson, valueLimits } from "../../core/json/check-json.ts";
import { assert } from "../../core/values/assert.ts";
import type { Digest } from "../../core/values/ids.ts";
import type { EngineOptions } from "../api/engine-api.ts";
import { defaultLimits } from "../api/engine-limits.ts";
import { digestOfJson } from "../ports/digest.ts";

/** The options of an engine that decide whether a call may happen. Policies that tenants store are not among them. */
type DecidingOptions = Pick<
  EngineOptions,
  "policies" | "guards" | "tenants" | "budgets" | "rates" | "zone" | "strictPlans" | "limits"
>;

/**
 * Returns the digest of the static rules of an engine. Two engines with the same digest, the same tools and the same
 * version of Writ decide alike. A guard counts by its id and version, because code has no digest. A run pins its tools by
 * their own version and schemas, and workers have different tools, so tools are not part of it.
 */
export function rulesDigest(options: DecidingOptions): Digest {
  const { policies = [], guards = [], tenants = {}, budgets = [], rates = [], zone = "UTC" } = options;
  const { gateMs, useWithinMs, outputBytes, errandsPerStep, noticesPerStep, takeovers, childDepth } = {
    ...defaultLimits,
    ...options.limits,
  };
  const rules = {
    policies,
    guards: guards.map(({ id, version }) => ({ id, version })),
    tenants,
    budgets,
    rates,
    zone,
    strict_plans: options.strictPlans ?? false,
    limits: { gateMs, useWithinMs, outputBytes, errandsPerStep, noticesPerStep, takeovers, childDepth },
  };
  const checked = checkJson(JSON.parse(JSON.stringify(rules)), valueLimits);
  assert(checked.ok, "the options were checked before");
  return digestOfJson(checked.value);
}
