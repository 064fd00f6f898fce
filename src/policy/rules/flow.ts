import type { Run } from "../../core/run.ts";
import type { Glob } from "../glob.ts";
import type { Clause, Said } from "../rule.ts";

/** What the run has touched before: every one of these tags, and one of these tools. */
export interface Past {
  readonly tags: readonly string[];
  readonly tools: readonly Glob[] | null;
}

/** After the run has touched something, what the rule is for is refused, or a person decides. */
export function flow(after: Past, then: Said): Clause {
  return ({ admission }) => (hasTouched(admission.run, after) ? then : null);
}

function hasTouched({ called, tagged }: Run, { tags, tools }: Past): boolean {
  if (!tags.every((tag) => tagged.has(tag))) return false;
  if (tools === null) return true;
  for (const [name] of called) if (tools.some((glob) => glob.matches(name))) return true;
  return false;
}
