import { type Effect, effects, effectTags, worst } from "../effect.ts";
import type { StepId } from "../id.ts";
import { Fields } from "../json/fields.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { pointerTo } from "../json/pointer.ts";
import { isPlaceOfState, isWithin, placesMax } from "../state/state-order.ts";
import type { CachePolicy, Tool } from "../tool.ts";
import { type PlanStep, planLimits, type StepKind, signalKey } from "./plan.ts";
import { type Referrer, readBindings, readCondition, readDependencies, readPreconditions } from "./plan-references.ts";
import { type Roster, stateTools, stepId, toolNameIn, unknownName } from "./plan-roster.ts";
import { boundNames, isTemplate, placeholders, sourceOf } from "./template.ts";

const fields = [
  ..."step_id kind name payload effects policy_tags gate cache_policy idempotency_template depends_on bindings".split(
    " ",
  ),
  ..."on_failure on_rejected retries timeout_ms preconditions outcome state_reads state_writes".split(" "),
];
const kinds: readonly StepKind[] = ["operator", "assertion", "wait", "run"];
const ofState = Object.keys(stateTools);
/** What K9 wants said literally. */
const declarations = ["effects", "policy_tags", "cache_policy", "idempotency_template"];
const tagsMax = 32;
/** The end of the year 9999. */
const untilMax = 253_402_300_799_999;
const tag = /^[\w.:-]{1,64}$/;
const idRule = {
  pattern: stepId,
  form: `1 to ${planLimits.idLength} letters, digits, dashes or underscores, a letter or digit first`,
};
const signalName = {
  pattern: signalKey,
  form: "a name of 1 to 200 printable characters that does not begin with run:",
};
const outcomeType = { pattern: /^[A-Za-z][\w.:-]{0,63}$/, form: "a word of letters, digits, dots, colons, dashes" };

/** What a step that calls nothing declares. */
const nothing = { effect: "pure", tags: [], cache: "never", cacheTtlMs: null } as const;

/** Reads one step of a plan and fills in what its tool says. Only worth something if no reason was found. */
export function checkStep(raw: JsonObject, at: number, roster: Roster): PlanStep {
  const step = new Fields(raw, pointerTo("/steps", at), roster.reasons);
  step.onlyKnown(fields);
  const step_id = readId(step, at, roster);
  const kind = readKind(step);
  const tool = kind === "operator" ? readTool(step, roster) : null;
  const self: Referrer = { id: step_id, roster, needs: new Set() };
  readDependencies(step, self);
  const preconditions = readPreconditions(step, self);
  const payload = readPayload(step, kind, self);
  const bindings = readBindings(step, payload, self);
  const effect = readEffect(step, tool);
  const normal: PlanStep = {
    step_id,
    kind: kind ?? "operator",
    name: tool?.name ?? kind ?? "",
    payload,
    effect,
    policy_tags: readTags(step, tool),
    gate: step.choice("gate", ["none", "human_confirm"], "none"),
    cache_policy: readCache(step, effect, tool),
    idempotency_template: readTemplate(step, payload, roster),
    depends_on: [...self.needs],
    bindings,
    on_failure: step.choice("on_failure", ["abort", "skip", "retry"], "abort"),
    on_rejected: step.choice("on_rejected", ["stop", "continue"], "stop"),
    retries: step.whole("retries", { min: 0, max: planLimits.retries }),
    timeout_ms: step.whole("timeout_ms", { min: 1, max: planLimits.timeoutMs }),
    preconditions,
    outcome: readOutcome(step, roster),
    state_reads: readPlaces(step, "state_reads", tool),
    state_writes: readPlaces(step, "state_writes", tool),
  };
  if (kind !== "operator" && kind !== null) refuseToolTalk(step, normal);
  if (kind === "operator" && roster.strict) requireDeclarations(step);
  if (tool !== null) judgeWithTool(step, normal, tool, roster);
  return normal;
}

function readId(step: Fields, at: number, { members, reasons }: Roster): StepId {
  const id = step.text("step_id", idRule, "");
  if (step.value("step_id") === undefined) step.fault("step_id", `is missing; give the step ${idRule.form}`);
  const holder = members.get(id)?.at ?? at;
  if (holder !== at)
    reasons.add(pointerTo(step.path, "step_id"), `${id} is already the id of step ${holder}; choose another`);
  return id as StepId;
}

/** Null: a kind that cannot be judged any further. */
function readKind(step: Fields): StepKind | null {
  const kind = step.value("kind");
  if (typeof kind === "string" && ofState.includes(kind)) return "operator";
  return kind === undefined ? "operator" : step.choice("kind", kinds, null);
}

function readTool(step: Fields, { tools }: Roster): Tool | null {
  const kind = String(step.value("kind") ?? "operator");
  const name = toolNameIn({ kind, name: step.value("name") ?? null });
  if (ofState.includes(kind) && tools.get(String(name)) === undefined) {
    step.fault("kind", `${kind} needs an engine that has slices; give them to createEngine`);
    return null;
  }
  if (typeof name !== "string") {
    step.fault("name", "is missing; an operator needs the name of a tool");
    return null;
  }
  const tool = tools.get(name);
  if (tool === undefined)
    step.fault("name", () =>
      unknownName(
        "tool",
        name,
        tools.all().map((known) => known.name),
      ),
    );
  return tool ?? null;
}

function readPayload(step: Fields, kind: StepKind | null, self: Referrer): JsonObject {
  const payload = step.object("payload");
  if (kind === "operator" || kind === null) return payload;
  const inner = new Fields(payload, pointerTo(step.path, "payload"), self.roster.reasons);
  if (kind === "run") return readRun(inner, payload);
  return kind === "wait"
    ? readWait(inner, payload, "/signal" in rawBindings(step))
    : { ...(readCondition(inner, self) ?? {}) };
}

function readWait(wait: Fields, payload: JsonObject, bound: boolean): JsonObject {
  wait.onlyKnown(["ms", "until", "signal"]);
  wait.text("signal", signalName, null);
  wait.whole("ms", { min: 1, max: planLimits.waitMs });
  wait.whole("until", { min: 0, max: untilMax });
  const given = ["ms", "until"].filter((name) => typeof wait.value(name) === "number");
  const ends = given.length === 1 || (given.length === 0 && (bound || wait.value("signal") !== undefined));
  if (!ends) wait.fault("ms", "a wait has a signal, or either ms, or until in milliseconds since 1970");
  return payload;
}

/** The plan of a run to be asked for is read when it is: what is bound into it is not known before. */
function readRun(run: Fields, payload: JsonObject): JsonObject {
  run.onlyKnown(["plan", "context"]);
  run.object("context");
  if (run.value("plan") === undefined) run.fault("plan", "is missing; give the plan of the run to be started");
  else run.object("plan");
  return payload;
}

/** The worst of what the plan and the tool say; a plan cannot talk an effect down. */
function readEffect(step: Fields, tool: Tool | null): Effect {
  const own = (tool ?? nothing).effect;
  if (step.value("effects") === undefined) return own;
  const tags = step.list("effects");
  if (tags.length === 0) step.fault("effects", "is empty; name what the step does, or leave it out");
  const said = tags.map((name, index) => {
    if (typeof name === "string" && Object.hasOwn(effectTags, name)) return effectTags[name] as Effect;
    step.fault(
      "effects",
      () => `${JSON.stringify(name)} (${index}) is no effect; use ${Object.keys(effectTags).join(", ")}`,
    );
    return own;
  });
  const declared = said.reduce(worst, "pure");
  if (tool !== null && effects.indexOf(declared) < effects.indexOf(own) && tags.length > 0) {
    step.fault("effects", `the plan says ${declared}, but ${tool.name} ${own}; say ${own} or worse`);
  }
  return worst(declared, own);
}

/** The plan may add tags; those of the tool stay, or a policy about them could be dodged. */
function readTags(step: Fields, tool: Tool | null): readonly string[] {
  const tags = step.list("policy_tags");
  const valid = tags.filter((name): name is string => typeof name === "string" && tag.test(name));
  if (valid.length < tags.length || tags.length > tagsMax) {
    step.fault(
      "policy_tags",
      `must be at most ${tagsMax} words of letters, digits, dots, colons, dashes or underscores`,
    );
  }
  const own = (tool ?? nothing).tags;
  return valid.length === 0 ? own : [...new Set([...own, ...valid])];
}

function readCache(step: Fields, effect: Effect, tool: Tool | null): CachePolicy {
  const { cache, cacheTtlMs } = tool ?? nothing;
  const said = step.choice("cache_policy", ["never", "use_if_safe", "ttl_only"], null);
  if (effect === "acts" && (said ?? "never") !== "never") {
    step.fault("cache_policy", "an act is never answered from a cache; say never");
  }
  if (said === "ttl_only" && tool !== null && cacheTtlMs === null) {
    step.fault("cache_policy", `${tool.name} has no cacheTtlMs; say never or use_if_safe`);
  }
  return said ?? (effect === "acts" ? "never" : cache);
}

function readTemplate(step: Fields, payload: JsonObject, { context }: Roster): string | null {
  const template = step.value("idempotency_template") ?? null;
  if (template === null) return null;
  if (typeof template !== "string" || template === "" || template.length > planLimits.templateLength) {
    step.fault("idempotency_template", `must be a text of 1 to ${planLimits.templateLength} characters`);
    return null;
  }
  if (!isTemplate(template)) {
    step.fault("idempotency_template", "has a brace that is no placeholder; placeholders look like {request_id}");
    return null;
  }
  const sources = { payload, bound: boundNames(rawBindings(step)), context };
  const missing = placeholders(template).filter((name) => sourceOf(name, sources) === null);
  if (missing.length > 0) {
    const names = missing.join(", ");
    step.fault(
      "idempotency_template",
      `nothing gives ${names} a value; add to the payload, bind, or give in the context`,
    );
  }
  return template;
}

function readOutcome(step: Fields, { reasons }: Roster): PlanStep["outcome"] {
  const value = step.value("outcome") ?? null;
  if (value === null) return null;
  if (!isObject(value)) {
    step.fault("outcome", "must be an object with type and status");
    return null;
  }
  const outcome = new Fields(value, pointerTo(step.path, "outcome"), reasons);
  outcome.onlyKnown(["type", "status"]);
  const type = outcome.text("type", outcomeType, null);
  if (outcome.value("type") === undefined) outcome.fault("type", `is missing; it is ${outcomeType.form}`);
  const status = outcome.choice("status", ["draft", "final"], "draft");
  return type === null ? null : { type, status };
}

/** Where in state the step goes; a plan may say less than its tool, never more. */
function readPlaces(step: Fields, name: "state_reads" | "state_writes", tool: Tool | null): readonly string[] | null {
  if ((step.value(name) ?? null) === null) return null;
  const places = step.list(name);
  const declared = (name === "state_reads" ? tool?.stateReads : tool?.stateWrites) ?? null;
  const known = places.filter((place): place is string => typeof place === "string" && isPlaceOfState(place));
  if (known.length < places.length || places.length > placesMax)
    step.fault(name, `must be at most ${placesMax} JSON pointers whose first part is a slice, such as /beds/north`);
  const beyond = known.find((place) => !isWithin(declared, place));
  if (beyond !== undefined)
    step.fault(name, `${beyond} is not among what ${tool?.name} declares: ${declared?.join(", ") || "nothing"}`);
  return known;
}

/** Assertions, waits and runs do nothing to the world, so what would steer a tool has no meaning for them. */
function refuseToolTalk(step: Fields, normal: PlanStep): void {
  const meaningless = {
    effects: normal.effect !== "pure",
    gate: normal.gate !== "none",
    cache_policy: normal.cache_policy !== "never",
    idempotency_template: normal.idempotency_template !== null,
    bindings: Object.keys(normal.bindings).some((place) => !isBindable(normal.kind, place)),
    retries: normal.retries !== null,
    timeout_ms: normal.timeout_ms !== null,
    outcome: normal.outcome !== null,
    state_reads: normal.state_reads !== null,
    state_writes: normal.state_writes !== null,
  };
  for (const [name, wrong] of Object.entries(meaningless)) {
    if (wrong) step.fault(name, `is for operators; ${normal.kind} calls no tool`);
  }
}

function isBindable(kind: StepKind, place: string): boolean {
  return kind === "run" || (kind === "wait" && place === "/signal");
}

function judgeWithTool(step: Fields, { payload, idempotency_template }: PlanStep, tool: Tool, roster: Roster): void {
  if (tool.identity !== null && idempotency_template !== null) {
    const message = `${tool.name} says itself what makes two calls the same; the template is recorded but not used`;
    roster.warnings.add(pointerTo(step.path, "idempotency_template"), message);
  }
  const whole = Object.keys(rawBindings(step)).length === 0;
  if (whole && isObject(step.value("payload") ?? {})) fitPayload(step, payload, tool, roster);
}

function requireDeclarations(step: Fields): void {
  for (const name of declarations) {
    if ((step.value(name) ?? null) === null) step.fault(name, "is missing; strict plans say it for every step");
  }
}

/** Only what is whole can be judged now; a payload with bindings is judged when they have been filled in. */
function fitPayload(step: Fields, payload: JsonObject, tool: Tool, { reasons }: Roster): void {
  const parsed = tool.input.parse(payload);
  if (parsed.ok) return;
  const path = pointerTo(step.path, "payload");
  const { detail, message } = parsed.fault;
  const issues = isObject(detail) && Array.isArray(detail.issues) ? (detail.issues as readonly Json[]) : [];
  for (const issue of issues.filter((item) => isObject(item))) {
    reasons.add(`${path}${String(issue.path)}`, `does not fit ${tool.name}: ${String(issue.message)}`);
  }
  if (issues.length === 0) reasons.add(path, `does not fit ${tool.name}: ${message}`);
}

/** As they were given, so that one bad binding is told once and not as a missing value, too. */
function rawBindings(step: Fields): JsonObject {
  const bindings = step.value("bindings");
  return isObject(bindings) ? bindings : {};
}
