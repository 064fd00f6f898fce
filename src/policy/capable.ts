import { fault } from "../core/fault.ts";
import { type Admission, ALLOW, type Guard } from "../core/guard.ts";
import type { Capability } from "../core/principal.ts";
import { Glob } from "./glob.ts";

/** Guard 2: what the principal was given to do. Every one of its capabilities has to let the call pass. */
export const capable: Guard = {
  id: "capability",
  judge(admission) {
    const { step, run } = admission;
    const { capabilities = [], id } = run.principal;
    if (step.spec.kind !== "operator" || step.cause?.by === "undo") return ALLOW;
    for (const capability of capabilities) {
      const why = lacking(capability, admission);
      if (why === null) continue;
      const message = `${id} may not run ${step.spec.step_id}: ${why}`;
      return { kind: "refuse", rule: "capability", fault: fault("AUTH_FORBIDDEN", message) };
    }
    return ALLOW;
  },
};

/** Why it is not enough; null: it is. Steps that are not calls count, too: which are the first so many is known beforehand. */
function lacking({ tools = {}, max_actions }: Capability, { step }: Admission): string | null {
  const { name } = step.spec;
  if (names(tools.deny ?? [], name)) return `${name} is denied to it`;
  if (tools.allow !== undefined && !names(tools.allow, name)) return `${name} is not among what it may call`;
  if (max_actions !== undefined && step.index >= max_actions) return `it may take ${max_actions} steps in a run`;
  return null;
}

function names(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => new Glob(pattern).matches(name));
}
