import { FieldReader } from "../json/field-reader.ts";
import { canSetAt, parsePointer, pointersOverlap, pointerTo } from "../json/json-pointer.ts";
import { isStatePointer } from "../state/state-access-order.ts";
import type { StepId } from "../values/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../values/json.ts";
import { type Condition, type PlanBinding, planLimits, type StateCondition } from "./plan.ts";
import { type PlanContext, stateTools, unknownNameProblem } from "./plan-context.ts";

/** A step whose references to other steps are being checked. */
export interface ReferringStep {
  readonly id: string;
  readonly context: PlanContext;
  /** The steps that it depends on. */
  readonly needs: Set<StepId>;
}

const operators = ["eq", "neq", "gt", "lt", "gte", "lte", "exists", "not_exists", "contains"] as const;

export function readDependencies(step: FieldReader, self: ReferringStep): void {
  const ids = step.list("depends_on");
  if (ids.length === 0) return;
  const named = new Set<Json>();
  for (const [index, id] of ids.entries()) {
    const path = pointerTo(pointerTo(step.path, "depends_on"), index);
    if (named.has(id)) self.context.reasons.add(path, `${String(id)} is named twice; name it once`);
    else resolveStepReference(id, path, self);
    named.add(id);
  }
}

export function readPreconditions(step: FieldReader, self: ReferringStep): readonly Condition[] {
  const conditions = step.list("preconditions");
  if (conditions.length === 0) return [];
  const place = pointerTo(step.path, "preconditions");
  return conditions.flatMap((raw, index) => {
    const path = pointerTo(place, index);
    if (isJsonObject(raw)) return readCondition(new FieldReader(raw, path, self.context.reasons), self) ?? [];
    self.context.reasons.add(path, "must be an object with step and path, or state, and operator and value");
    return [];
  });
}

/** Reads a condition on the output of a step, or on the state if it names a place there. */
export function readCondition(fields: FieldReader, self: ReferringStep): Condition | null {
  const isOnState = fields.value("state") !== undefined;
  fields.refuseUnknown(isOnState ? ["state", "operator", "value"] : ["step", "path", "operator", "value"]);
  const source = isOnState ? readStatePlace(fields, self) : readSource(fields, self);
  const operator = fields.choice("operator", operators, null);
  if (fields.value("operator") === undefined)
    fields.addReason("operator", `is missing; use one of ${operators.join(", ")}`);
  const value = fields.value("value");
  if (operator === null) return null;
  const bare = operator === "exists" || operator === "not_exists";
  if (value === undefined && !bare) fields.addReason("value", `is missing; ${operator} compares with it`);
  const ordered = ["gt", "lt", "gte", "lte"].includes(operator);
  if (value !== undefined && ordered && typeof value !== "number" && typeof value !== "string") {
    fields.addReason("value", `must be a number or a text; ${operator} compares nothing else`);
  }
  return source === null ? null : { ...source, operator, value: bare ? null : (value ?? null) };
}

function readStatePlace(fields: FieldReader, { context }: ReferringStep): Pick<StateCondition, "state"> | null {
  const state = fields.value("state");
  const isEntry = typeof state === "string" && isStatePointer(state) && (parsePointer(state)?.length ?? 0) > 1;
  if (!isEntry) fields.addReason("state", "must be a JSON pointer to an entry of a slice, such as /beds/north");
  if (context.tools.get(stateTools.state_read) === undefined)
    fields.addReason("state", "needs an engine that has slices; give them to createEngine");
  return isEntry ? { state } : null;
}

/** Reads the bindings, each under the JSON pointer of its target. */
export function readBindings(
  step: FieldReader,
  payload: JsonObject,
  self: ReferringStep,
): Readonly<Record<string, PlanBinding>> {
  const raw = step.object("bindings");
  const names = Object.keys(raw);
  if (names.length === 0) return {};
  const targets = new Set(names);
  const place = pointerTo(step.path, "bindings");
  const bindings: [string, PlanBinding][] = [];
  for (const [target, source] of Object.entries(raw)) {
    const path = pointerTo(place, target);
    const problem = bindingTargetProblem(target, targets, payload);
    if (problem !== null) self.context.reasons.add(path, problem);
    if (!isJsonObject(source)) self.context.reasons.add(path, "must be an object with step or outcome, and path");
    const binding = isJsonObject(source)
      ? readBinding(new FieldReader(source, path, self.context.reasons), self)
      : null;
    if (binding !== null) bindings.push([target, binding]);
  }
  return Object.fromEntries(bindings);
}

function readBinding(fields: FieldReader, self: ReferringStep): PlanBinding | null {
  if (fields.value("outcome") !== undefined) return readOutcomeBinding(fields);
  fields.refuseUnknown(["step", "path", "as"]);
  const source = readSource(fields, self);
  const as = fields.choice("as", ["value", "sha256"], "value");
  return source === null ? null : { ...source, as };
}

/** The outcome is read when the plan is accepted. */
function readOutcomeBinding(fields: FieldReader): PlanBinding | null {
  fields.refuseUnknown(["outcome", "path", "as"]);
  const outcome = fields.text("outcome", outcomeIdRule, null);
  const path = fields.value("path");
  const isPointer = typeof path === "string" && parsePointer(path) !== null;
  if (!isPointer) fields.addReason("path", `must be a JSON pointer into the output of the outcome; "" is all of it`);
  const as = fields.choice("as", ["value", "sha256"], "value");
  return outcome === null || !isPointer ? null : { outcome, path, as };
}

const outcomeIdRule = { pattern: /^out_[A-Za-z0-9._-]{1,160}$/, form: "the id of an outcome, such as out_01k2…_draft" };

function bindingTargetProblem(target: string, targets: ReadonlySet<string>, payload: JsonObject): string | null {
  const tokens = parsePointer(target);
  if (tokens === null || tokens.length === 0) return "must be a JSON pointer into the payload, such as /body";
  if (tokens.length > planLimits.depth) return `must not be deeper than ${planLimits.depth} levels`;
  const outer = enclosingBinding(tokens, targets);
  if (outer !== null) return `lies inside ${outer}, which is bound, too; bind only one of them`;
  if (canSetAt(payload, tokens)) return null;
  return "is not a valid target: its parent must be an object, or a list that has this index";
}

function enclosingBinding(tokens: readonly string[], targets: ReadonlySet<string>): string | null {
  let pointer = "";
  for (const token of tokens.slice(0, -1)) {
    pointer = pointerTo(pointer, token);
    if (targets.has(pointer)) return pointer;
  }
  return null;
}

/** Reads the step and the pointer into its output. */
function readSource(fields: FieldReader, self: ReferringStep): { readonly step: StepId; readonly path: string } | null {
  const id = fields.value("step");
  if (id === undefined) fields.addReason("step", "is missing; name the step whose output is meant");
  const path = fields.value("path");
  const valid = typeof path === "string" && parsePointer(path) !== null;
  if (!valid) fields.addReason("path", `must be a JSON pointer into the output of the step; "" is all of it`);
  const step = id === undefined ? null : resolveStepReference(id, pointerTo(fields.path, "step"), self);
  if (step === null || !valid) return null;
  return isReadableOutput(step, path, fields, self.context) ? { step, path } : null;
}

function isReadableOutput(step: StepId, path: string, fields: FieldReader, context: PlanContext): boolean {
  const member = context.members.get(step);
  if (member?.hasOutput === false) fields.addReason("step", `${step} calls no tool and has no output`);
  const hidden = member?.tool?.redact.find((pointer) => pointersOverlap(pointer, path));
  if (hidden !== undefined)
    fields.addReason("path", `${hidden} of ${step} is redacted: it is stored as a digest and cannot be used`);
  return member?.hasOutput === true && hidden === undefined;
}

/** Adds another step as a dependency and returns its id, or adds the reason and returns null. */
function resolveStepReference(id: Json, path: string, { id: self, context, needs }: ReferringStep): StepId | null {
  const { reasons, members } = context;
  if (typeof id !== "string") reasons.add(path, "must be the id of a step");
  else if (id === self) reasons.add(path, `${id} cannot wait for itself`);
  else if (!members.has(id)) reasons.add(path, () => unknownNameProblem("step", id, [...members.keys()]));
  else {
    needs.add(id as StepId);
    return id as StepId;
  }
  return null;
}
