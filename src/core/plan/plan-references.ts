import type { StepId } from "../id.ts";
import { Fields } from "../json/fields.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { hasPlaceFor, overlap, parsePointer, pointerTo } from "../json/pointer.ts";
import { type Binding, type Condition, planLimits } from "./plan.ts";
import { type Roster, unknownName } from "./plan-roster.ts";

/** A step while its references to others are read. */
export interface Referrer {
  readonly id: string;
  readonly roster: Roster;
  /** Whom it turned out to need. */
  readonly needs: Set<StepId>;
}

const operators = ["eq", "neq", "gt", "lt", "gte", "lte", "exists", "not_exists", "contains"] as const;

export function readDependencies(step: Fields, self: Referrer): void {
  const ids = step.list("depends_on");
  if (ids.length === 0) return;
  const named = new Set<Json>();
  for (const [index, id] of ids.entries()) {
    const path = pointerTo(pointerTo(step.path, "depends_on"), index);
    if (named.has(id)) self.roster.reasons.add(path, `${String(id)} is named twice; name it once`);
    else refer(id, path, self);
    named.add(id);
  }
}

export function readPreconditions(step: Fields, self: Referrer): readonly Condition[] {
  const conditions = step.list("preconditions");
  if (conditions.length === 0) return [];
  const place = pointerTo(step.path, "preconditions");
  return conditions.flatMap((raw, index) => {
    const path = pointerTo(place, index);
    if (isObject(raw)) return readCondition(new Fields(raw, path, self.roster.reasons), self) ?? [];
    self.roster.reasons.add(path, "must be an object with step, path, operator and value");
    return [];
  });
}

export function readCondition(fields: Fields, self: Referrer): Condition | null {
  fields.onlyKnown(["step", "path", "operator", "value"]);
  const source = readSource(fields, self);
  const operator = fields.choice("operator", operators, null);
  if (fields.value("operator") === undefined)
    fields.fault("operator", `is missing; use one of ${operators.join(", ")}`);
  const value = fields.value("value");
  if (operator === null) return null;
  const bare = operator === "exists" || operator === "not_exists";
  if (value === undefined && !bare) fields.fault("value", `is missing; ${operator} compares with it`);
  const ordered = ["gt", "lt", "gte", "lte"].includes(operator);
  if (value !== undefined && ordered && typeof value !== "number" && typeof value !== "string") {
    fields.fault("value", `must be a number or a text; ${operator} compares nothing else`);
  }
  return source === null ? null : { ...source, operator, value: bare ? null : (value ?? null) };
}

/** Where the values of a payload come from, by the place they go to. */
export function readBindings(step: Fields, payload: JsonObject, self: Referrer): Readonly<Record<string, Binding>> {
  const raw = step.object("bindings");
  const names = Object.keys(raw);
  if (names.length === 0) return {};
  const targets = new Set(names);
  const place = pointerTo(step.path, "bindings");
  const bindings: [string, Binding][] = [];
  for (const [target, source] of Object.entries(raw)) {
    const path = pointerTo(place, target);
    const problem = targetProblem(target, targets, payload);
    if (problem !== null) self.roster.reasons.add(path, problem);
    if (!isObject(source)) self.roster.reasons.add(path, "must be an object with step and path");
    const binding = isObject(source) ? readBinding(new Fields(source, path, self.roster.reasons), self) : null;
    if (binding !== null) bindings.push([target, binding]);
  }
  return Object.fromEntries(bindings);
}

function readBinding(fields: Fields, self: Referrer): Binding | null {
  fields.onlyKnown(["step", "path", "as"]);
  const source = readSource(fields, self);
  const as = fields.choice("as", ["value", "sha256"], "value");
  return source === null ? null : { ...source, as };
}

function targetProblem(target: string, targets: ReadonlySet<string>, payload: JsonObject): string | null {
  const tokens = parsePointer(target);
  if (tokens === null || tokens.length === 0) return "must be a JSON pointer into the payload, such as /body";
  if (tokens.length > planLimits.depth) return `must not be deeper than ${planLimits.depth} levels`;
  const outer = boundAround(tokens, targets);
  if (outer !== null) return `lies inside ${outer}, which is bound, too; bind only one of them`;
  if (hasPlaceFor(payload, tokens)) return null;
  return "is no place in the payload: what is around it must be an object, or a list that has this index";
}

function boundAround(tokens: readonly string[], targets: ReadonlySet<string>): string | null {
  let pointer = "";
  for (const token of tokens.slice(0, -1)) {
    pointer = pointerTo(pointer, token);
    if (targets.has(pointer)) return pointer;
  }
  return null;
}

/** The step and the place in its output that something is read from. */
function readSource(fields: Fields, self: Referrer): { readonly step: StepId; readonly path: string } | null {
  const id = fields.value("step");
  if (id === undefined) fields.fault("step", "is missing; name the step whose output is meant");
  const path = fields.value("path");
  const valid = typeof path === "string" && parsePointer(path) !== null;
  if (!valid) fields.fault("path", `must be a JSON pointer into the output of the step; "" is all of it`);
  const step = id === undefined ? null : refer(id, pointerTo(fields.path, "step"), self);
  if (step === null || !valid) return null;
  return readable(step, path, fields, self.roster) ? { step, path } : null;
}

function readable(step: StepId, path: string, fields: Fields, roster: Roster): boolean {
  const member = roster.members.get(step);
  if (member?.speaks === false) fields.fault("step", `${step} calls no tool and has no output`);
  const hidden = member?.tool?.redact.find((pointer) => overlap(pointer, path));
  if (hidden !== undefined)
    fields.fault("path", `${hidden} of ${step} is redacted: it is stored as a digest and cannot be used`);
  return member?.speaks === true && hidden === undefined;
}

/** Another step of the same plan, now needed; or null, and why is told. */
function refer(id: Json, path: string, { id: self, roster, needs }: Referrer): StepId | null {
  const { reasons, members } = roster;
  if (typeof id !== "string") reasons.add(path, "must be the id of a step");
  else if (id === self) reasons.add(path, `${id} cannot wait for itself`);
  else if (!members.has(id)) reasons.add(path, () => unknownName("step", id, [...members.keys()]));
  else {
    needs.add(id as StepId);
    return id as StepId;
  }
  return null;
}
