import { fault } from "../core/fault.ts";
import type { Policy } from "../core/guard.ts";
import type { Check } from "../core/store.ts";

/** What is in force where nobody can tell what is: nothing is let through. */
export function refusesAll(version: string, rule: string, reason: string, checks: readonly Check[] = []): Policy {
  const objections = [{ rule, says: "refuse", reason }] as const;
  return {
    version,
    checks,
    mode: null,
    stepsMost: () => null,
    trusts: () => false,
    earns: () => false,
    limits: [],
    limitsFor: () => [],
    placesFor: () => [],
    broken: () => null,
    judge: () => ({
      kind: "refuse",
      rule,
      fault: fault("POLICY_DENIED", reason),
      basis: { policy: version, passed: [], objections },
    }),
  };
}
