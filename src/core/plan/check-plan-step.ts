import { FieldReader } from "../json/field-reader.ts";
import { pointerTo, valueAt } from "../json/json-pointer.ts";
import { isDeclaredPointer, isStatePointer, STATE_POINTERS_MAX } from "../state/state-access-order.ts";
import { identityCaution } from "../tool/act-identity.ts";
import { mayBeMissing, missingData, readAskedData } from "../tool/asked-data.ts";
import type { Tool } from "../tool/tool.ts";
import { type Effect, effects, effectTags, worseEffect } from "../values/effect.ts";
import type { StepId } from "../values/ids.ts";
import { nameRule } from "../values/is-name.ts";
import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";
import { effectWith, readExpectedEffects } from "./expected-effects.ts";
import { checkItemBindings, forEachFields, forEachLimits } from "./for-each.ts";
import { boundPayloadKeys, isTemplate, placeholderSource, templatePlaceholders } from "./idempotency-template.ts";
import { type PlanStep, planLimits, planStepFields, signalKeyPattern } from "./plan.ts";
import { type PlanContext, stateTools, stepIdPattern, stepToolName, unknownNameProblem } from "./plan-context.ts";
import {
  type ReferringStep,
  readBindings,
  readCondition,
  readDependencies,
  readPreconditions,
} from "./plan-references.ts";
import { refuseToolFields } from "./refuse-tool-fields.ts";
import { type PlanStepKind, planStepKinds, type StepKind, stepKinds } from "./step-kinds.ts";

const stateKinds = Object.keys(stateTools);
/** The fields of the step that is made for each item of a list. */
const templateFields = planStepFields.filter((name) => !["step_id", "depends_on"].includes(name));
/** The fields that a strict plan must declare for every call. */
const strictFields = ["effects", "policy_tags", "cache_policy", "idempotency_template"];
const TAGS_MAX = 32;
/** The end of the year 9999. */
const UNTIL_MAX = 253_402_300_799_999;
const tagPattern = /^[\w.:-]{1,64}$/;
const idRule = {
  pattern: stepIdPattern,
  form: `1 to ${planLimits.idLength} letters, digits, dashes or underscores, a letter or digit first`,
};
const signalName = {
  pattern: signalKeyPattern,
  form: `a name of ${nameRule}, that does not begin with run:`,
};
const outcomeType = { pattern: /^[A-Za-z][\w.:-]{0,63}$/, form: "a word of letters, digits, dots, colons, dashes" };

/** The declaration of a step that calls no tool. */
const noTool = { effect: "pure", tags: [], cache: "never", cacheTtlMs: null } as const;

/**
 * Reads one step of a plan and fills in the declarations of its tool. The result is valid only if no reason was added.
 */
export function checkPlanStep(raw: JsonObject, at: number, context: PlanContext): PlanStep {
  const step = new FieldReader(raw, pointerTo("/steps", at), context.reasons);
  step.refuseUnknown(planStepFields);
  const step_id = readId(step, at, context);
  const kind = readKind(step);
  const callsTool = kind !== null && stepKinds[kind].callsTool;
  const tool = callsTool ? readTool(step, context) : null;
  const self: ReferringStep = { id: step_id, context, needs: new Set() };
  readDependencies(step, self);
  const preconditions = readPreconditions(step, self);
  const payload = readPayload(step, kind, self);
  const bindings = readBindings(step, payload, self);
  const expected_effects = readExpectedEffects(step, tool, context);
  const effect = effectWith(expected_effects, readEffect(step, tool), tool);
  const normal: PlanStep = {
    step_id,
    kind: kind ?? "operator",
    name: tool?.name ?? kind ?? "",
    payload,
    effect,
    policy_tags: readTags(step, tool),
    gate: step.choice("gate", ["none", "human_confirm"], "none"),
    asks_for: readAskedData(step, tool),
    cache_policy: readCache(step, { effect, expected_effects }, tool),
    idempotency_template: readTemplate(step, payload, context),
    depends_on: [...self.needs],
    bindings,
    on_failure: step.choice("on_failure", ["abort", "skip", "retry"], "abort"),
    on_rejected: step.choice("on_rejected", ["stop", "continue"], "stop"),
    retries: step.wholeNumber("retries", { min: 0, max: planLimits.retries }),
    timeout_ms: step.wholeNumber("timeout_ms", { min: 1, max: planLimits.timeoutMs }),
    preconditions,
    outcome: readOutcome(step, context),
    state_reads: readStatePointers(step, "state_reads", tool),
    state_writes: readStatePointers(step, "state_writes", tool),
    expected_effects,
    invalid: null,
  };
  if (kind !== null && !callsTool) refuseToolFields(step, normal);
  if (callsTool && context.strict) requireDeclarations(step);
  if (tool !== null) checkAgainstTool(step, normal, tool, context);
  return normal;
}

function readId(step: FieldReader, at: number, { members, reasons }: PlanContext): StepId {
  const id = step.text("step_id", idRule, "");
  if (step.value("step_id") === undefined) step.addReason("step_id", `is missing; give the step ${idRule.form}`);
  const holder = members.get(id)?.at ?? at;
  if (holder !== at)
    reasons.add(pointerTo(step.path, "step_id"), `${id} is already the id of step ${holder}; choose another`);
  return id as StepId;
}

/** Null: an unknown kind, whose step is not checked further. */
function readKind(step: FieldReader): PlanStepKind | null {
  const kind = step.value("kind");
  if (typeof kind === "string" && stateKinds.includes(kind)) return "operator";
  return kind === undefined ? "operator" : step.choice("kind", planStepKinds, null);
}

function readTool(step: FieldReader, { tools }: PlanContext): Tool | null {
  const kind = String(step.value("kind") ?? "operator");
  const name = stepToolName({ kind, name: step.value("name") ?? null });
  if (stateKinds.includes(kind) && tools.get(String(name)) === undefined) {
    step.addReason("kind", `${kind} needs an engine that has slices; give them to createEngine`);
    return null;
  }
  if (typeof name !== "string") {
    step.addReason("name", "is missing; an operator needs the name of a tool");
    return null;
  }
  const tool = tools.get(name);
  if (tool === undefined)
    step.addReason("name", () =>
      unknownNameProblem(
        "tool",
        name,
        tools.all().map((known) => known.name),
      ),
    );
  return tool ?? null;
}

function readPayload(step: FieldReader, kind: PlanStepKind | null, self: ReferringStep): JsonObject {
  const payload = step.object("payload");
  const inner = new FieldReader(payload, pointerTo(step.path, "payload"), self.context.reasons);
  switch (kind) {
    case null:
    case "operator":
      return payload;
    case "assertion":
      return { ...(readCondition(inner, self) ?? {}) };
    case "wait":
      return readWait(inner, payload, "/signal" in rawBindings(step));
    case "run":
      return readRun(inner, payload);
    case "for_each":
      return readForEachStep(inner, payload, { self, isBound: "/items" in rawBindings(step) });
  }
}

function readWait(wait: FieldReader, payload: JsonObject, isSignalBound: boolean): JsonObject {
  wait.refuseUnknown(["ms", "until", "signal"]);
  wait.text("signal", signalName, null);
  wait.wholeNumber("ms", { min: 1, max: planLimits.waitMs });
  wait.wholeNumber("until", { min: 0, max: UNTIL_MAX });
  const given = ["ms", "until"].filter((name) => typeof wait.value(name) === "number");
  const ends = given.length === 1 || (given.length === 0 && (isSignalBound || wait.value("signal") !== undefined));
  if (!ends) wait.addReason("ms", "a wait has a signal, or either ms, or until in milliseconds since 1970");
  return payload;
}

/** The plan of a child run is checked when the child run starts, because values may be bound into it. */
function readRun(run: FieldReader, payload: JsonObject): JsonObject {
  run.refuseUnknown(["plan", "context"]);
  run.object("context");
  if (run.value("plan") === undefined) run.addReason("plan", "is missing; give the plan of the run to be started");
  else run.object("plan");
  return payload;
}

/** The step of an item is checked when the child run starts, because its values come from the items. */
function readForEachStep(
  loop: FieldReader,
  payload: JsonObject,
  { self, isBound }: { readonly self: ReferringStep; readonly isBound: boolean },
): JsonObject {
  loop.refuseUnknown(forEachFields);
  loop.object("context");
  loop.flag("sequential");
  loop.wholeNumber("most", { min: 1, max: forEachLimits.items });
  if (!isBound && loop.value("items") === undefined) loop.addReason("items", "is missing; give a list, or bind one");
  const { length } = loop.list("items");
  const most = Number(loop.value("most") ?? forEachLimits.usualItems);
  if (length > most) loop.addReason("items", `has ${length} items, and the limit of the step is ${most}`);
  if (loop.value("each") === undefined) loop.addReason("each", "is missing; give the step that is made for each item");
  const each = loop.object("each");
  const { reasons } = self.context;
  const template = new FieldReader(each, pointerTo(loop.path, "each"), reasons);
  template.refuseUnknown(templateFields);
  if (each.kind === "for_each") template.addReason("kind", "an item cannot be a list again; use run with a plan");
  if (each.kind !== undefined && each.kind !== "for_each") readKind(template);
  if (stepKinds[(each.kind ?? "operator") as StepKind]?.callsTool) readTool(template, self.context);
  checkItemBindings(each, template.path, (path, message) => reasons.add(path, message));
  return payload;
}

/** Returns the worse of the effects that the plan and the tool declare; a plan cannot weaken an effect. */
function readEffect(step: FieldReader, tool: Tool | null): Effect {
  const own = (tool ?? noTool).effect;
  if (step.value("effects") === undefined) return own;
  const tags = step.list("effects");
  if (tags.length === 0) step.addReason("effects", "is empty; name the effects of the step, or omit the field");
  const tagEffects = tags.map((name, index) => {
    if (typeof name === "string" && Object.hasOwn(effectTags, name)) return effectTags[name] as Effect;
    step.addReason(
      "effects",
      () => `${JSON.stringify(name)} (${index}) is not an effect; use ${Object.keys(effectTags).join(", ")}`,
    );
    return own;
  });
  const declared = tagEffects.reduce(worseEffect, "pure");
  if (tool !== null && effects.indexOf(declared) < effects.indexOf(own) && tags.length > 0) {
    step.addReason("effects", `the plan declares ${declared}, but ${tool.name} ${own}; declare ${own} or worse`);
  }
  return worseEffect(declared, own);
}

/** The plan may add tags but not remove those of the tool, because policies depend on them. */
function readTags(step: FieldReader, tool: Tool | null): readonly string[] {
  const tags = step.list("policy_tags");
  const valid = tags.filter((name): name is string => typeof name === "string" && tagPattern.test(name));
  if (valid.length < tags.length || tags.length > TAGS_MAX) {
    step.addReason(
      "policy_tags",
      `must be at most ${TAGS_MAX} words of letters, digits, dots, colons, dashes or underscores`,
    );
  }
  const own = (tool ?? noTool).tags;
  return valid.length === 0 ? own : [...new Set([...own, ...valid])];
}

function readCache(
  step: FieldReader,
  { effect, expected_effects }: Pick<PlanStep, "effect" | "expected_effects">,
  tool: Tool | null,
): PlanStep["cache_policy"] {
  const { cache, cacheTtlMs } = tool ?? noTool;
  const chosen = step.choice("cache_policy", ["never", "use_if_safe", "ttl_only", "refresh"], null);
  if (effect === "acts" && (chosen ?? "never") !== "never") {
    step.addReason("cache_policy", "an act is never answered from a cache; use never");
  }
  if (chosen === "ttl_only" && tool !== null && cacheTtlMs === null) {
    step.addReason("cache_policy", `${tool.name} has no cacheTtlMs; use never or use_if_safe`);
  }
  if (expected_effects.length > 0 && (chosen ?? "never") !== "never")
    step.addReason("cache_policy", "an answer from a cache changes no state; use never with expected_effects");
  if (chosen === "refresh" && tool !== null && cache === "never")
    step.addReason("cache_policy", `${tool.name} has no cache to refresh; use never`);
  return chosen ?? (effect === "acts" || expected_effects.length > 0 ? "never" : cache);
}

function readTemplate(step: FieldReader, payload: JsonObject, { context }: PlanContext): string | null {
  const template = step.value("idempotency_template") ?? null;
  if (template === null) return null;
  if (typeof template !== "string" || template === "" || template.length > planLimits.templateLength) {
    step.addReason("idempotency_template", `must be a text of 1 to ${planLimits.templateLength} characters`);
    return null;
  }
  if (!isTemplate(template)) {
    step.addReason(
      "idempotency_template",
      "has a brace that is not part of a placeholder; a placeholder looks like {request_id}",
    );
    return null;
  }
  const sources = { payload, bound: boundPayloadKeys(rawBindings(step)), context };
  const missing = templatePlaceholders(template).filter((name) => placeholderSource(name, sources) === null);
  if (missing.length > 0) {
    const names = missing.join(", ");
    step.addReason(
      "idempotency_template",
      `nothing gives ${names} a value; add to the payload, bind, or give in the context`,
    );
  }
  return template;
}

function readOutcome(step: FieldReader, { reasons }: PlanContext): PlanStep["outcome"] {
  const value = step.value("outcome") ?? null;
  if (value === null) return null;
  if (!isJsonObject(value)) {
    step.addReason("outcome", "must be an object with type and status");
    return null;
  }
  const outcome = new FieldReader(value, pointerTo(step.path, "outcome"), reasons);
  outcome.refuseUnknown(["type", "status"]);
  const type = outcome.text("type", outcomeType, null);
  if (outcome.value("type") === undefined) outcome.addReason("type", `is missing; it is ${outcomeType.form}`);
  const status = outcome.choice("status", ["draft", "final"], "draft");
  return type === null ? null : { type, status };
}

/** Returns the state that the step declares; a plan may declare less than its tool, never more. */
function readStatePointers(
  step: FieldReader,
  name: "state_reads" | "state_writes",
  tool: Tool | null,
): readonly string[] | null {
  if ((step.value(name) ?? null) === null) return null;
  const pointers = step.list(name);
  const declared = (name === "state_reads" ? tool?.stateReads : tool?.stateWrites) ?? null;
  const valid = pointers.filter((pointer): pointer is string => typeof pointer === "string" && isStatePointer(pointer));
  if (valid.length < pointers.length || pointers.length > STATE_POINTERS_MAX)
    step.addReason(
      name,
      `must be at most ${STATE_POINTERS_MAX} JSON pointers whose first part is a slice, such as /beds/north`,
    );
  const undeclared = valid.find((pointer) => !isDeclaredPointer(declared, pointer));
  if (undeclared !== undefined)
    step.addReason(
      name,
      `${undeclared} is not among what ${tool?.name} declares: ${declared?.join(", ") || "nothing"}`,
    );
  return valid;
}

function checkAgainstTool(step: FieldReader, normal: PlanStep, tool: Tool, context: PlanContext): void {
  const { payload, idempotency_template } = normal;
  if (tool.identity !== null && idempotency_template !== null) {
    const message = `${tool.name} declares its own identity; the template is recorded but not used`;
    context.warnings.add(pointerTo(step.path, "idempotency_template"), message);
  }
  const caution = identityCaution(tool.identity ?? [], (pointer) => valueAt(payload, pointer));
  if (caution !== null) context.warnings.add(pointerTo(step.path, "payload"), caution);
  const isComplete = Object.keys(rawBindings(step)).length === 0;
  if (isComplete && isJsonObject(step.value("payload") ?? {})) checkPayload(step, normal, tool, context);
}

function requireDeclarations(step: FieldReader): void {
  for (const name of strictFields) {
    if ((step.value(name) ?? null) === null)
      step.addReason(name, "is missing; a strict plan declares it for every step");
  }
}

/** Checks a payload without bindings; a payload with bindings is checked once they are resolved. */
function checkPayload(step: FieldReader, { payload, asks_for }: PlanStep, tool: Tool, { reasons }: PlanContext): void {
  const parsed = tool.input.parse(payload);
  if (parsed.ok) return;
  const missing = missingData(asks_for, payload);
  const path = pointerTo(step.path, "payload");
  const { detail, message } = parsed.fault;
  const issues = isJsonObject(detail) && Array.isArray(detail.issues) ? (detail.issues as readonly Json[]) : [];
  for (const issue of issues.filter((item) => isJsonObject(item))) {
    if (mayBeMissing(missing, String(issue.path))) continue;
    reasons.add(`${path}${String(issue.path)}`, `does not fit ${tool.name}: ${String(issue.message)}`);
  }
  if (issues.length === 0 && missing.length === 0) reasons.add(path, `does not fit ${tool.name}: ${message}`);
}

/** Returns the unchecked bindings, so that an invalid binding is not also reported as a missing value. */
function rawBindings(step: FieldReader): JsonObject {
  const bindings = step.value("bindings");
  return isJsonObject(bindings) ? bindings : {};
}
