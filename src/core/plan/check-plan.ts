import type { StepId } from "../id.ts";
import { checkJson } from "../json/check-json.ts";
import { Fields } from "../json/fields.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { pointerTo } from "../json/pointer.ts";
import { type Reason, Reasons } from "../json/reasons.ts";
import { StateOrder, type Touches } from "../state/state-order.ts";
import { checkStep } from "./check-step.ts";
import { type Plan, type PlanStep, planLimits } from "./plan.ts";
import { arranged, cycles } from "./plan-graph.ts";
import { type KnownTools, type Member, membersOf, type Roster } from "./plan-roster.ts";

export interface PlanRules {
  readonly tools: KnownTools;
  /** Given beside the plan; placeholders may take their values from it. */
  readonly context: JsonObject;
  /** Every step says its effects, tags, cache and template itself. */
  readonly strict: boolean;
}

export type CheckedPlan =
  | { readonly ok: true; readonly plan: Plan; readonly warnings: readonly Reason[] }
  | { readonly ok: false; readonly reasons: readonly Reason[] };

const idRule = {
  pattern: /^[\w.:@/+-]{1,64}$/,
  form: `1 to ${planLimits.idLength} letters, digits or any of _ . : @ / + -`,
};

/**
 * Reads a foreign plan: the normal form that is stored and run, or every reason against it at once. What is accepted can
 * be stored and read back, names only tools and steps that exist, and has an order. Linear in the size of the plan.
 */
export function checkPlan(raw: unknown, rules: PlanRules): CheckedPlan {
  const json = checkJson(raw, planLimits);
  if (json.ok) return readWhole(json.value, rules);
  const rest = json.tooLarge || json.reasons.some(hidesSteps) ? null : readWhole(json.rest, rules);
  return { ok: false, reasons: rest === null ? json.reasons : alsoWrong(json.reasons, rest) };
}

/** A step whose own place or name cannot be read: those that refer to it are not to blame. */
function hidesSteps({ path }: Reason): boolean {
  return /^(\/steps(\/\d+(\/step_id)?)?)?$/.test(path);
}

/** What is wrong with the rest of a plan, beside what is no JSON; about that, the stand-in for it says nothing. */
function alsoWrong(refused: readonly Reason[], rest: CheckedPlan): readonly Reason[] {
  const places = refused.map(({ path }) => path);
  const reasons = new Reasons();
  for (const { path, message } of refused) reasons.add(path, message);
  for (const { path, message } of rest.ok ? [] : rest.reasons)
    if (!places.some((place) => `${path}/`.startsWith(`${place}/`))) reasons.add(path, message);
  return reasons.list;
}

function readWhole(value: Json, rules: PlanRules): CheckedPlan {
  if (!isObject(value)) return { ok: false, reasons: [{ path: "", message: "a plan is an object with steps" }] };
  const reasons = new Reasons();
  const fields = new Fields(value, "", reasons);
  fields.onlyKnown(["plan_id", "schema_version", "intent_id", "steps"]);
  const raws = readSteps(fields);
  const warnings = new Reasons();
  const roster: Roster = { members: membersOf(raws, rules.tools), reasons, warnings, ...rules };
  const steps = raws.map((step, at) => readStep(step, at, roster)).filter((step) => step !== null);
  judgeOrder(steps, roster);
  const plan: Plan = {
    plan_id: readPlanId(fields, "plan_id"),
    schema_version: fields.choice("schema_version", ["1.0"], "1.0"),
    intent_id: readPlanId(fields, "intent_id"),
    steps: reasons.none ? inOrderOfState(steps, roster) : steps,
  };
  return reasons.none ? { ok: true, plan, warnings: warnings.list } : { ok: false, reasons: reasons.list };
}

function readSteps(fields: Fields): readonly Json[] {
  const steps = fields.list("steps");
  if (steps.length > 0 && steps.length <= planLimits.steps) return steps;
  const known = Array.isArray(fields.value("steps") ?? []);
  if (known && steps.length === 0) fields.fault("steps", "a plan has at least one step");
  if (steps.length > 0) fields.fault("steps", `more than ${planLimits.steps} steps; split the plan`);
  return [];
}

function readStep(raw: Json, at: number, roster: Roster): PlanStep | null {
  if (isObject(raw)) return checkStep(raw, at, roster);
  roster.reasons.add(pointerTo("/steps", at), "a step is an object");
  return null;
}

function readPlanId(fields: Fields, name: "plan_id" | "intent_id"): string | null {
  return fields.value(name) === null ? null : fields.text(name, idRule, null);
}

/** Steps that declare what they do to state wait for each other where they are in each other's way. */
function inOrderOfState(steps: readonly PlanStep[], { tools, reasons }: Roster): readonly PlanStep[] {
  const touching = steps.map(({ name, state_reads, state_writes }) => ({
    state_reads: state_reads ?? tools.get(name)?.stateReads ?? null,
    state_writes: state_writes ?? tools.get(name)?.stateWrites ?? null,
  }));
  if (touching.every(({ state_reads, state_writes }) => state_reads === null && state_writes === null)) return steps;
  const order = new StateOrder<StepId>();
  const ordered = [...steps];
  let edges = 0;
  // What the plan says of the order comes first, so that nobody waits for one that waits for it.
  for (const at of arranged(steps)) {
    const step = steps[at] as PlanStep;
    const depends_on = [...new Set([...step.depends_on, ...order.next(step.step_id, touching[at] as Touches)])];
    ordered[at] = { ...step, depends_on };
    edges += depends_on.length;
  }
  if (edges > planLimits.dependencies)
    reasons.add("/steps", `declared state makes more than ${planLimits.dependencies} dependencies; declare less of it`);
  return ordered;
}

function judgeOrder(steps: readonly PlanStep[], { members, reasons }: Roster): void {
  const edges = steps.reduce((count, step) => count + step.depends_on.length, 0);
  if (edges > planLimits.dependencies) {
    reasons.add("/steps", `more than ${planLimits.dependencies} dependencies; let steps wait for fewer others`);
    return;
  }
  const index = new Map(steps.map((step, at) => [step.step_id, at]));
  const at = (id: StepId) => index.get(id);
  const needs = steps.map(({ depends_on }) => depends_on.map(at).filter((need) => need !== undefined));
  for (const cycle of cycles(needs)) {
    const names = cycle.map((at) => (steps[at] as PlanStep).step_id);
    const begin = members.get(names[0] as string) as Member;
    reasons.add(pointerTo("/steps", begin.at), () => `${names.join(" needs ")}; nobody could begin, remove one need`);
  }
}
