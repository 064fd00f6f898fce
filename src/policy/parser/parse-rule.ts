import type { FieldReader } from "../../core/json/field-reader.ts";
import { parsePointer } from "../../core/json/json-pointer.ts";
import type { LimitRule, LimitSet } from "../../core/limits/budget.ts";
import type { Expression } from "../../core/ports/expression.ts";
import type { Json } from "../../core/values/json.ts";
import { approvalRule } from "../rules/approval-rule.ts";
import { CallSelector } from "../rules/call-selector.ts";
import { denyRule } from "../rules/deny-rule.ts";
import { earlierCallsRule } from "../rules/earlier-calls-rule.ts";
import { type ParameterTest, parameterRule } from "../rules/parameter-rule.ts";
import { requireRule } from "../rules/require-rule.ts";
import type { Rule, RuleAnswer, RuleCheck } from "../rules/rule.ts";
import type { RuleFieldReader } from "../rules/rule-field-reader.ts";
import type { StateInvariant } from "../rules/state-invariant.ts";
import { stateRule } from "../rules/state-rule.ts";
import { weekdays, windowRule } from "../rules/window-rule.ts";
import { demandFields, parseDemand } from "./parse-demand.ts";
import { budgetFields, parseBudget, parseRate, parseZone, rateFields } from "./parse-limit.ts";
import { parseInvariant, parseStatePointers, stateFields, stateVariables } from "./parse-state-pointers.ts";

const ruleKinds = [
  "allow",
  "deny",
  "parameter",
  "require",
  "state",
  "approval",
  "confirmation",
  "window",
  "flow",
  "rate",
  "budget",
  "invariant",
] as const;

const ID = { pattern: /^[A-Za-z0-9][\w.-]{0,63}$/, form: "1 to 64 letters, digits, dots, dashes or underscores" };
const REASON = { pattern: /^[^\p{Cc}\p{Cs}]{1,500}$/u, form: "one line of at most 500 characters" };
const CLOCK = { pattern: /^([01]\d|2[0-3]):[0-5]\d$|^24:00$/, form: "a time of the day, such as 09:00" };
const commonFields = ["id", "kind", "on", "when", "reason"];

/** The parts of a rule that depend on its kind. */
type RuleParts = Pick<Rule, "check"> & Partial<Pick<Rule, "limit" | "pointers">>;

/** Parses the fields of one kind of rule. Returns null, and adds reasons, if one is invalid. */
type ParseRuleKind = (fields: FieldReader, reader: RuleFieldReader, rule: LimitRule) => RuleCheck | RuleParts | null;

const kinds: Readonly<
  Record<
    Exclude<(typeof ruleKinds)[number], "invariant">,
    { readonly fields: readonly string[]; readonly read: ParseRuleKind }
  >
> = {
  allow: { fields: [], read: () => NO_CHECK },
  deny: { fields: [], read: (_fields, _reader, { reason }) => denyRule(reason) },
  parameter: { fields: ["path", "must", "must_not"], read: parseParameterRule },
  require: { fields: ["expression"], read: parseConditionRule },
  state: { fields: stateFields, read: parseStateRule },
  approval: {
    fields: demandFields,
    read: (fields, reader, { reason }) => approvalRule(parseDemand(fields, reader), reason),
  },
  confirmation: {
    fields: [],
    read: (_fields, _reader, { reason }) => approvalRule({ role: null, kind: "confirmation" }, reason),
  },
  window: { fields: ["days", "from", "to", "zone", "outside", ...demandFields], read: parseWindowRule },
  flow: { fields: ["after", "answer", ...demandFields], read: parseFlowRule },
  rate: { fields: rateFields, read: (fields, _reader, rule) => limitOnly(parseRate(fields, rule)) },
  budget: { fields: budgetFields, read: (fields, _reader, rule) => limitOnly(parseBudget(fields, rule)) },
};

/** The kinds of rules that judge the moment of a call. */
const momentaryKinds: readonly string[] = ["state", "window", "flow"];

const NO_CHECK: RuleCheck = () => null;

/** Makes a rule that never objects before the start of a call, where limits are charged. */
function limitOnly(limit: LimitSet | null): RuleParts | null {
  return limit && { check: NO_CHECK, limit };
}

/** The layer and document of a rule. */
export interface RuleLocation {
  /** Layer and document, as in the record. */
  readonly prefix: string;
  /** Layer with its project and session, and document. */
  readonly place: string;
}

/** Parses one rule of a document. Returns null, and adds reasons, if it is invalid. */
export function parseRule(
  fields: FieldReader,
  reader: RuleFieldReader,
  location: RuleLocation,
): Rule | StateInvariant | null {
  const kind = fields.choice("kind", ruleKinds, null);
  const name = fields.text("id", ID, null);
  const reason = fields.text("reason", REASON, null);
  if (fields.value("kind") === undefined) fields.addReason("kind", `is required: one of ${ruleKinds.join(", ")}`);
  if (fields.value("id") === undefined) fields.addReason("id", "is required: the name of the rule in the record");
  const id = `${location.prefix}/${name}`;
  if (kind === "invariant") return parseInvariant(fields, reader, id, reason);
  const on = new CallSelector(reader.object(fields, "on") ?? reader.empty, reader);
  const when = reader.expression(fields, "when");
  if (kind === null || name === null) return null;
  const { fields: ownFields, read } = kinds[kind];
  fields.refuseUnknown([...commonFields, ...ownFields]);
  const parsed = read(fields, reader, { id, reason, place: `${location.place}/${name}` });
  if (parsed === null) return null;
  const { check, limit = null, pointers = null } = typeof parsed === "function" ? { check: parsed } : parsed;
  return {
    id,
    role: kind === "allow" ? "permits" : "objects",
    on,
    when,
    check,
    limit,
    pointers,
    momentary: momentaryKinds.includes(kind),
  };
}

function parseStateRule(fields: FieldReader, reader: RuleFieldReader, { reason }: LimitRule): RuleParts | null {
  const pointers = parseStatePointers(fields, reader, "from input");
  const source = fields.value("expression");
  if (typeof source !== "string") fields.addReason("expression", "is required: the condition, as text");
  const expression =
    typeof source === "string" ? reader.parseExpression(fields, "expression", source, stateVariables) : null;
  return pointers && expression && { check: stateRule(pointers, expression, reason), pointers };
}

function parseConditionRule(fields: FieldReader, reader: RuleFieldReader, { reason }: LimitRule): RuleCheck | null {
  const expression = reader.expression(fields, "expression");
  if (fields.value("expression") === undefined) fields.addReason("expression", "is required: the condition");
  return expression && requireRule(expression, reason);
}

function parseParameterRule(fields: FieldReader, reader: RuleFieldReader, { reason }: LimitRule): RuleCheck | null {
  const path = fields.value("path");
  const isPath = typeof path === "string" && parsePointer(path) !== null;
  if (!isPath) fields.addReason("path", "must be a JSON pointer into the input, such as /amount");
  const [must, mustNot] = [reader.object(fields, "must"), reader.object(fields, "must_not")];
  if ((must === null) === (mustNot === null)) fields.addReason("must", "or must_not is required, not both");
  const testFields = must ?? mustNot;
  const test = testFields && parseParameterTest(testFields, reader);
  return isPath && test ? parameterRule(path, test, must !== null, reason) : null;
}

const parameterTests = ["equals", "in", "contains", "matches", "at_most", "at_least", "exists"] as const;

function parseParameterTest(fields: FieldReader, reader: RuleFieldReader): ParameterTest | null {
  fields.refuseUnknown(parameterTests);
  const present = parameterTests.filter((name) => fields.value(name) !== undefined);
  const [name] = present;
  if (name === undefined || present.length > 1) {
    fields.addReason("", `must be one of ${parameterTests.join(", ")}`);
    return null;
  }
  return parseNamedTest(name, fields.value(name) as Json, fields, reader);
}

function parseNamedTest(
  name: (typeof parameterTests)[number],
  value: Json,
  fields: FieldReader,
  reader: RuleFieldReader,
): ParameterTest | null {
  const reject = (reason: string): null => {
    fields.addReason(name, reason);
    return null;
  };
  switch (name) {
    case "equals":
      return { is: name, value };
    case "contains": {
      const text = typeof value === "string" ? textTest(fields, reader, name, value) : null;
      return { is: name, value, text };
    }
    case "exists":
      return value === true ? { is: name } : reject("must be true; use must_not for a value that must be absent");
    case "in":
      return Array.isArray(value) ? { is: name, values: value } : reject("must be a list of values");
    case "matches": {
      if (typeof value !== "string") return reject("must be a pattern, as text");
      const text = textTest(fields, reader, name, value);
      return text && { is: name, pattern: value, text };
    }
    case "at_most":
    case "at_least":
      return typeof value === "number" ? { is: name, value } : reject("must be a number");
  }
}

/** Makes an expression that tests a text: expressions have a step limit, so the test cannot take long. */
function textTest(
  fields: FieldReader,
  reader: RuleFieldReader,
  name: "contains" | "matches",
  text: string,
): Expression | null {
  return reader.parseExpression(fields, name, `value.${name}(${JSON.stringify(text)})`, ["value"]);
}

function parseWindowRule(fields: FieldReader, reader: RuleFieldReader, { reason }: LimitRule): RuleCheck | null {
  const days = reader.choices(fields, "days", weekdays) ?? weekdays;
  const [from, to] = [fields.text("from", CLOCK, null), fields.text("to", CLOCK, null)];
  for (const [name, value] of Object.entries({ from, to }))
    if (value === null) fields.addReason(name, "is required: a time such as 09:00");
  if (from !== null && from === to) fields.addReason("to", "must differ from from");
  const zone = parseZone(fields);
  const outside = fields.choice("outside", ["refuse", "hold"], "refuse");
  const demand = parseDemand(fields, reader);
  if (from === null || to === null || from === to || zone === null) return null;
  return windowRule(
    { days, from: minutesOf(from), to: minutesOf(to), zone },
    outside === "hold" ? demand : outside,
    reason,
  );
}

function minutesOf(clock: string): number {
  const [hours, minutes] = clock.split(":").map(Number) as [number, number];
  return hours * 60 + minutes;
}

function parseFlowRule(fields: FieldReader, reader: RuleFieldReader, { reason }: LimitRule): RuleCheck | null {
  const answer = fields.choice("answer", ["refuse", "hold"], "hold");
  const demand = parseDemand(fields, reader);
  const after = reader.object(fields, "after");
  after?.refuseUnknown(["tags", "tools"]);
  const tags = after && reader.words(after, "tags");
  const tools = after && reader.namePatterns(after, "tools");
  if (tags === null && tools === null) {
    fields.addReason("after", "is required: tags, tools or both of earlier calls");
    return null;
  }
  const why = reason ?? "earlier calls of the run require an approval of this one";
  const objection: RuleAnswer =
    answer === "refuse" ? { says: "refuse", reason: why } : { says: "hold", demand, reason: why };
  return earlierCallsRule({ tags: tags ?? [], tools }, objection);
}
