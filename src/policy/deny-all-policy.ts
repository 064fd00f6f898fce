import { isJudgedByName } from "../core/approval/verb-rules.ts";
import { ALLOW, type Policy } from "../core/call/guard.ts";
import type { Check } from "../core/store/store.ts";
import { fault } from "../core/values/fault.ts";

/**
 * Makes a policy that refuses every call. It is used where the policies in force cannot be determined. It does not refuse
 * the verbs that only named rules judge: a person must be able to replace the policy.
 */
export function denyAllPolicy(version: string, rule: string, reason: string, checks: readonly Check[] = []): Policy {
  const objections = [{ rule, says: "refuse", reason }] as const;
  return {
    version,
    checks,
    mode: null,
    maxSteps: () => null,
    trusts: () => false,
    earns: () => false,
    limits: [],
    limitsFor: () => [],
    statePointersFor: () => [],
    brokenInvariant: () => null,
    judge: ({ step }) =>
      isJudgedByName(step.spec.name)
        ? ALLOW
        : {
            kind: "refuse",
            rule,
            fault: fault("POLICY_DENIED", reason),
            basis: { policy: version, passed: [], objections },
          },
  };
}
