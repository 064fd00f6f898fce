import type { ReplanFact } from "../../core/decide/replan-run.ts";
import { analysePlan } from "../../core/plan/analyse-plan.ts";
import { checkPlan } from "../../core/plan/check-plan.ts";
import { type Plan, type PlanStep, planLimits } from "../../core/plan/plan.ts";
import type { PlanMember } from "../../core/plan/plan-context.ts";
import { planInvalidFault } from "../../core/plan/plan-invalid-fault.ts";
import { isSamePlan, outcomeBindingProblem, renameTakenSteps } from "../../core/plan/rename-taken-steps.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import { stepsWithActingChildRuns } from "../../core/plan/steps-with-acting-child-runs.ts";
import type { Run } from "../../core/run/run.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import { isJsonObject, type Json } from "../../core/values/json.ts";
import type { AttemptReport } from "./attempt-report.ts";
import type { CallPorts } from "./call-ports.ts";
import { toolPins } from "./tool-pins.ts";

/** Reads the answer of a replanner: `{ plan }`, or `{ plan: null }` if it knows no other plan. */
export function readReplanAnswer(ports: CallPorts, run: Run, report: AttemptReport): ReplanFact {
  const { ending, errands } = report;
  const output = ending.how === "value" ? ending.output : null;
  if (errands.length > 0) return refuse("it asked for errands; put these steps into the plan");
  if (!isJsonObject(output) || output.plan === undefined) return refuse("it has no field plan");
  if (output.plan === null) return { plan: null, tools: {} };
  return readAddedPlan(ports, run, output.plan);
}

function readAddedPlan(ports: CallPorts, run: Run, raw: Json): ReplanFact {
  const { toolbox, strictPlans: strict, clock } = ports;
  const earlier = earlierMembers(ports, run);
  const checked = checkPlan(raw, { tools: toolbox.callable, context: run.context, strict, earlier });
  if (!checked.ok) return refuse(planInvalidFault(checked.reasons).message, checked.reasons as unknown as Json);
  const { plan } = checked;
  if (run.steps.length + plan.steps.length > planLimits.steps)
    return refuse(`the run would have more than ${planLimits.steps} steps`);
  const failed = [run.plan, run.replanning?.inForce].find((known) => known != null && isSamePlan(known, plan));
  if (failed != null) return refuse("it is a plan that did not complete; change it");
  const terms = { mode: run.mode, ...(run.deadline_at !== null && { deadlineMs: run.deadline_at - clock.now() }) };
  const errors = analysePlan(plan, toolbox.callable, terms).findings.filter(({ severity }) => severity === "error");
  if (errors.length > 0) return refuse(errors.map(({ message }) => message).join("; "), errors as unknown as Json);
  const hidden = stepsWithActingChildRuns(plan, toolbox.callable);
  if (hidden.length > 0) return refuse(hiddenActsText(hidden));
  const bound = outcomeBindingProblem(plan);
  if (bound !== null) return refuse(bound);
  const added: Plan = renameTakenSteps(plan, (id) => run.index.has(id), (run.replanning?.plans ?? 1) + 1);
  return { plan: added, tools: toolPins(ports, added) };
}

/** Says why steps whose child runs may act have no place in a plan that another one may replace. */
export function hiddenActsText(steps: readonly Pick<PlanStep, "step_id">[]): string {
  const ids = steps.slice(0, 10).map(({ step_id }) => step_id);
  return `${ids.join(", ")}: a child run that may act cannot be in a plan that another plan may replace; make its acts steps of the plan`;
}

/** The steps of the run whose outputs a new plan may use. */
function earlierMembers({ toolbox }: CallPorts, run: Run): ReadonlyMap<string, PlanMember> {
  const members = new Map<string, PlanMember>();
  for (const { spec, standing, cause } of run.steps) {
    if (standing.state !== "succeeded" || cause?.by === "undo" || cause?.by === "replan") continue;
    const { callsTool, output } = stepKinds[spec.kind];
    const tool = callsTool ? (toolbox.get(spec.name) ?? null) : null;
    members.set(spec.step_id, { at: 0, tool, hasOutput: output !== "never" });
  }
  return members;
}

function refuse(why: string, reasons?: Json): { readonly refused: Fault } {
  const message = `the answer of the replanner is refused: ${why}`;
  return { refused: fault("REPLAN_REFUSED", message, reasons === undefined ? undefined : { reasons }) };
}
