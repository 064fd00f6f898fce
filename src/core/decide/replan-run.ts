import type { EndStatus, Event } from "../event/event.ts";
import type { ToolPin } from "../event/tool-pin.ts";
import { leanPlan, leanStep, type Plan, planStep } from "../plan/plan.ts";
import { stepKinds } from "../plan/step-kinds.ts";
import type { Run } from "../run/run.ts";
import type { Step } from "../run/step.ts";
import type { Fault } from "../values/fault.ts";
import type { Instant, StepId } from "../values/ids.ts";

/** The answer of a replanner as the engine has read it: a checked plan, no plan, or why it is refused. */
export type ReplanFact =
  | { readonly plan: Plan | null; readonly tools: Readonly<Record<string, ToolPin>> }
  | { readonly refused: Fault };

/** Returns the events that continue a run whose plan has ended with this status. Empty: the run ends. */
export function replanEvents(run: Run, status: EndStatus, at: Instant): readonly Event[] {
  const { replanning, deadline_at } = run;
  if (replanning === null || (status !== "failed" && status !== "partial") || run.recordOf !== null) return NONE;
  if (deadline_at !== null && at >= deadline_at) return NONE;
  const { terms, fallbacks, asked, isOver } = replanning;
  if (isOver || hasChildOfErrand(run)) return NONE;
  const [fallback] = fallbacks;
  if (fallback !== undefined) return [{ type: "run.replanned", at, plan: fallback, tools: {} }];
  if (terms === null || asked >= terms.attempts) return NONE;
  const attempt = asked + 1;
  const step_id = `replan.${attempt}` as StepId; // No step of a plan has a dot in its id.
  const asks = { kind: "operator", on_failure: "skip", on_rejected: "continue", retries: 0 } as const;
  const step = leanStep(planStep({ step_id, name: terms.by, effect: "reads", ...asks }));
  const pin = run.tools[terms.by] ?? null;
  const proposed: Event = { type: "step.proposed", at, step_id, step, pin, cause: { by: "replan", attempt } };
  const { delay_ms = 0 } = terms;
  if (delay_ms === 0) return [proposed];
  const until = (at + delay_ms) as Instant;
  return [proposed, { type: "step.parked", at, step_id, on: { for: "time", until } }];
}

const NONE: readonly never[] = [];

/** The acts of a child run that a handler asked for are not known here, so no other plan may repeat them. */
function hasChildOfErrand({ steps }: Run): boolean {
  for (const { cause, spec } of steps) if (cause?.by === "errand" && stepKinds[spec.kind].startsRun) return true;
  return false;
}

/** Returns the event of the plan that a replanner has answered, or none. */
export function replannedEvents({ spec }: Step, fact: ReplanFact | undefined, at: Instant): readonly Event[] {
  if (fact === undefined || "refused" in fact || fact.plan === null) return NONE;
  return [{ type: "run.replanned", at, plan: leanPlan(fact.plan), tools: fact.tools, answer_of: spec.step_id }];
}
