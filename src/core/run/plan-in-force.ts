import type { Plan } from "../plan/plan.ts";
import { mayHaveActed } from "./branch-acts.ts";
import type { Run } from "./run.ts";
import { isUndoStep, type Step } from "./step.ts";

/** True if the step belongs to a replaced plan: it is never reset, and does not decide how the run ends. */
export function isReplaced({ replanning }: Pick<Run, "replanning">, { index }: Pick<Step, "index">): boolean {
  return replanning !== null && index < replanning.from;
}

/** True for a step that asks the replanner of the run. */
export function isReplanStep({ cause }: Pick<Step, "cause">): boolean {
  return cause?.by === "replan";
}

/** Returns the number of steps that the run has up to the last step of its plan in force. */
export function plannedSteps({ plan, replanning }: Pick<Run, "plan" | "replanning">): number {
  return replanning === null ? (plan?.steps.length ?? 0) : replanning.from + replanning.inForce.steps.length;
}

/** Returns the step of a replaced plan that acted, or may have acted, by an equal call, or undefined. */
export function equalReplacedAct(run: Run, tool: string, digest: string): Step | undefined {
  const end = run.replanning?.from ?? 0;
  for (let index = 0; index < end; index += 1) {
    const step = run.steps.get(index);
    if (step.spec.name === tool && step.call?.digest === digest && mayHaveActed(step) && !isUndoStep(step)) return step;
  }
  return undefined;
}

/** Returns the plan in force, with the earlier steps whose outputs it uses. Null for an open run. */
export function planInForce({ plan, replanning, steps, index }: Run): Plan | null {
  if (plan === null || replanning === null || replanning.from === 0) return plan;
  const needed = new Set<number>();
  const queue = replanning.inForce.steps.map((step) => step.step_id);
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    const at = index.get(id) as number;
    if (needed.has(at)) continue;
    needed.add(at);
    queue.push(...steps.get(at).spec.depends_on);
  }
  return { ...replanning.inForce, steps: [...needed].sort((a, b) => a - b).map((at) => steps.get(at).spec) };
}
