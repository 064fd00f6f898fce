import { checkJson } from "../json/check-json.ts";
import { FieldReader } from "../json/field-reader.ts";
import { pointerTo } from "../json/json-pointer.ts";
import { ProblemList, type Reason } from "../json/problem-list.ts";
import { isStatePointer, type StateAccess, StateAccessOrder } from "../state/state-access-order.ts";
import type { StepId } from "../values/ids.ts";
import { isName } from "../values/is-name.ts";
import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";
import { checkAtomicStep } from "./check-atomic-step.ts";
import { checkPlanStep } from "./check-plan-step.ts";
import { stateConditions } from "./condition.ts";
import { type Plan, type PlanStep, planLimits, planStep } from "./plan.ts";
import {
  type KnownTools,
  type PlanContext,
  type PlanMember,
  planMembers,
  stateTools,
  stepIdPattern,
} from "./plan-context.ts";
import { planInvalidFault } from "./plan-invalid-fault.ts";
import { findCycles, topologicalOrder } from "./step-graph.ts";

export interface PlanRules {
  readonly tools: KnownTools;
  /** The context of the request; placeholders may take their values from it. */
  readonly context: JsonObject;
  /** If true, every step must declare its effects, tags, cache policy and template. */
  readonly strict: boolean;
  /** The steps of its run whose outputs the plan may use, besides its own. Absent: none. */
  readonly earlier?: ReadonlyMap<string, PlanMember>;
}

export type CheckedPlan =
  | { readonly ok: true; readonly plan: Plan; readonly warnings: readonly Reason[] }
  | { readonly ok: false; readonly reasons: readonly Reason[] };

const idRule = {
  pattern: /^[\w.:@/+-]{1,64}$/,
  form: `1 to ${planLimits.idLength} letters, digits or any of _ . : @ / + -`,
};

/**
 * Checks a plan from outside. Returns its normal form, which is stored and run, or every reason against it at once. An
 * accepted plan can be stored and read back, names only tools and steps that exist, and has no cycle. Linear in the
 * size of the plan.
 */
export function checkPlan(raw: unknown, rules: PlanRules): CheckedPlan {
  const json = checkJson(raw, planLimits);
  if (json.ok) return checkPlanJson(json.value, rules);
  const rest = json.tooLarge || json.reasons.some(hidesStep) ? null : checkPlanJson(json.rest, rules);
  return { ok: false, reasons: rest === null ? json.reasons : mergeReasons(json.reasons, rest) };
}

/** True if the reason makes a step or its id unreadable: then references to it cannot be checked. */
function hidesStep({ path }: Reason): boolean {
  return /^(\/steps(\/\d+(\/step_id)?)?)?$/.test(path);
}

/**
 * Merges the reasons why values are not JSON with the reasons of the readable rest, except those about refused values.
 */
function mergeReasons(refused: readonly Reason[], rest: CheckedPlan): readonly Reason[] {
  const refusedPaths = refused.map(({ path }) => path);
  const reasons = new ProblemList();
  for (const { path, message } of refused) reasons.add(path, message);
  for (const { path, message } of rest.ok ? [] : rest.reasons)
    if (!refusedPaths.some((refusedPath) => `${path}/`.startsWith(`${refusedPath}/`))) reasons.add(path, message);
  return reasons.list;
}

const planFields = ["plan_id", "schema_version", "intent_id", "sequential", "atomicity", "invalid", "steps"];

/** Checks a plan that was read as JSON. */
export function checkPlanJson(value: Json, rules: PlanRules): CheckedPlan {
  if (!isJsonObject(value)) return { ok: false, reasons: [{ path: "", message: "a plan is an object with steps" }] };
  const reasons = new ProblemList();
  const fields = new FieldReader(value, "", reasons);
  fields.refuseUnknown(planFields);
  const raws = readSteps(fields);
  const warnings = new ProblemList();
  const own = planMembers(raws, rules.tools);
  const members = rules.earlier === undefined ? own : new Map([...rules.earlier, ...own]);
  const atomic = fields.choice("atomicity", ["step", "plan"], "step") === "plan";
  const context: PlanContext = { members, reasons, warnings, atomic, ...rules };
  if (atomic && rules.earlier !== undefined)
    fields.addReason("atomicity", "a plan that continues a run is not atomic; submit it as a request of its own");
  const rejects = fields.choice("invalid", ["refuse", "reject_step"], "refuse") === "reject_step";
  const read = rejects ? readOrRejectStep : readStep;
  const steps = raws.map((step, at) => read(step, at, context)).filter((step) => step !== null);
  checkOrder(steps, context);
  const plan: Plan = {
    plan_id: readPlanId(fields, "plan_id"),
    schema_version: fields.choice("schema_version", ["1.0"], "1.0"),
    intent_id: readPlanId(fields, "intent_id"),
    ...(fields.flag("sequential") && { sequential: true }),
    ...(atomic && { atomicity: "plan" }),
    steps: reasons.isEmpty ? orderByDeclaredState(steps, context) : steps,
  };
  return reasons.isEmpty ? { ok: true, plan, warnings: warnings.list } : { ok: false, reasons: reasons.list };
}

function readSteps(fields: FieldReader): readonly Json[] {
  const steps = fields.list("steps");
  if (steps.length > 0 && steps.length <= planLimits.steps) return steps;
  const isList = Array.isArray(fields.value("steps") ?? []);
  if (isList && steps.length === 0) fields.addReason("steps", "a plan has at least one step");
  if (steps.length > 0) fields.addReason("steps", `more than ${planLimits.steps} steps; split the plan`);
  return [];
}

function readStep(raw: Json, at: number, context: PlanContext): PlanStep | null {
  if (isJsonObject(raw)) {
    const step = checkPlanStep(raw, at, context);
    if (context.atomic) checkAtomicStep(step, at, context);
    return step;
  }
  context.reasons.add(pointerTo("/steps", at), "a step is an object");
  return null;
}

/** Reads a step. If it is invalid and has an id of its own, the plan has a step in its place that is rejected. */
function readOrRejectStep(raw: Json, at: number, context: PlanContext): PlanStep | null {
  const own = new ProblemList();
  const step = readStep(raw, at, { ...context, reasons: own });
  if (own.isEmpty) return step;
  const id = isJsonObject(raw) ? raw.step_id : null;
  const isNamed = typeof id === "string" && stepIdPattern.test(id) && context.members.get(id)?.at === at;
  if (isNamed && isJsonObject(raw)) return rejectedStep(id as StepId, raw, own.list);
  for (const { path, message } of own.list) context.reasons.add(path, message);
  return null;
}

function rejectedStep(step_id: StepId, raw: JsonObject, reasons: readonly Reason[]): PlanStep {
  return planStep({
    step_id,
    kind: "assertion",
    name: typeof raw.name === "string" && isName(raw.name) ? raw.name : "(invalid step)",
    effect: "pure",
    on_rejected: raw.on_rejected === "stop" ? "stop" : "continue",
    invalid: planInvalidFault(reasons, "step"),
  });
}

function readPlanId(fields: FieldReader, name: "plan_id" | "intent_id"): string | null {
  return fields.value(name) === null ? null : fields.text(name, idRule, null);
}

/** Adds dependencies between steps that declare conflicting accesses to state. */
function orderByDeclaredState(steps: readonly PlanStep[], { tools, reasons }: PlanContext): readonly PlanStep[] {
  const accesses = steps.map((step) => {
    const literal = literalAccess(step);
    return {
      state_reads: withConditions(step, step.state_reads ?? tools.get(step.name)?.stateReads ?? literal.state_reads),
      state_writes: withEffects(step, step.state_writes ?? tools.get(step.name)?.stateWrites ?? literal.state_writes),
    };
  });
  if (accesses.every(({ state_reads, state_writes }) => state_reads === null && state_writes === null)) return steps;
  const order = new StateAccessOrder<StepId>();
  const ordered = [...steps];
  let edges = 0;
  // In the order of the explicit dependencies, so that the added ones cannot form a cycle.
  for (const at of topologicalOrder(steps)) {
    const step = steps[at] as PlanStep;
    const depends_on = [...new Set([...step.depends_on, ...order.next(step.step_id, accesses[at] as StateAccess)])];
    ordered[at] = { ...step, depends_on };
    edges += depends_on.length;
  }
  if (edges > planLimits.dependencies)
    reasons.add("/steps", `declared state makes more than ${planLimits.dependencies} dependencies; declare less of it`);
  return ordered;
}

/** A step reads the state that its conditions are about. */
function withConditions(step: PlanStep, state_reads: readonly string[] | null): readonly string[] | null {
  const conditions = stateConditions(step);
  return conditions.length === 0 ? state_reads : [...(state_reads ?? []), ...conditions.map(({ state }) => state)];
}

/** A step writes the state that it is expected to change. */
function withEffects({ expected_effects }: PlanStep, state_writes: readonly string[] | null): readonly string[] | null {
  return expected_effects.length === 0
    ? state_writes
    : [...(state_writes ?? []), ...expected_effects.map(({ state }) => state)];
}

/**
 * Returns the access that the literal path of a `state_read` or `state_write` step tells. An added entry of a list
 * changes the whole list.
 */
function literalAccess({ name, payload: { path }, bindings }: PlanStep): StateAccess {
  const isLiteral = typeof path === "string" && isStatePointer(path) && !Object.hasOwn(bindings, "/path");
  if (!isLiteral || Object.hasOwn(bindings, "")) return NO_ACCESS;
  if (name === stateTools.state_read) return { ...NO_ACCESS, state_reads: [path] };
  if (name === stateTools.state_write) return { ...NO_ACCESS, state_writes: [path.replace(/\/-$/, "")] };
  return NO_ACCESS;
}

const NO_ACCESS: StateAccess = { state_reads: null, state_writes: null };

function checkOrder(steps: readonly PlanStep[], { members, reasons }: PlanContext): void {
  const edges = steps.reduce((count, step) => count + step.depends_on.length, 0);
  if (edges > planLimits.dependencies) {
    reasons.add("/steps", `more than ${planLimits.dependencies} dependencies; remove some`);
    return;
  }
  const index = new Map(steps.map((step, at) => [step.step_id, at]));
  const at = (id: StepId) => index.get(id);
  const needs = steps.map(({ depends_on }) => depends_on.map(at).filter((need) => need !== undefined));
  for (const cycle of findCycles(needs)) {
    const names = cycle.map((at) => (steps[at] as PlanStep).step_id);
    const first = members.get(names[0] as string) as PlanMember;
    reasons.add(
      pointerTo("/steps", first.at),
      () => `${shortened(names).join(" needs ")}; the steps form a cycle, remove one dependency`,
    );
  }
}

/** Returns at most twelve names, so that the reason still says what is wrong with them. */
function shortened(names: readonly string[]): readonly string[] {
  return names.length <= 12 ? names : [...names.slice(0, 6), `… (${names.length - 12} more) …`, ...names.slice(-6)];
}
