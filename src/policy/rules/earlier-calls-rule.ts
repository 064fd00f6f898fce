import type { NamePattern } from "../../core/approval/name-pattern.ts";
import type { Run } from "../../core/run/run.ts";
import type { RuleAnswer, RuleCheck } from "./rule.ts";

/** Earlier calls of the run: all of these tags and, unless null, one of these tools. */
export interface FlowTrigger {
  readonly tags: readonly string[];
  readonly tools: readonly NamePattern[] | null;
}

/** Refuses or holds calls after the run has made certain earlier calls. */
export function earlierCallsRule(after: FlowTrigger, answer: RuleAnswer): RuleCheck {
  return ({ admission }) => (hasMadeCalls(admission.run, after) ? answer : null);
}

function hasMadeCalls({ called }: Run, { tags, tools }: FlowTrigger): boolean {
  if (!tags.every((tag) => called.tags.has(tag))) return false;
  if (tools === null) return true;
  for (const [name] of called.tools) if (tools.some((pattern) => pattern.matches(name))) return true;
  return false;
}
