import type { RuleCheck } from "./rule.ts";

/** Refuses every call that the rule applies to. */
export function denyRule(reason: string | null): RuleCheck {
  return ({ tool }) => ({ says: "refuse", reason: reason ?? `${tool.name} is denied` });
}
