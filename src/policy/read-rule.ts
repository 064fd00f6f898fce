import type { Expression } from "../core/expression.ts";
import type { Fields } from "../core/json/fields.ts";
import type { Json } from "../core/json/json.ts";
import { parsePointer } from "../core/json/pointer.ts";
import type { Allowance, LimitRule } from "../core/limits/budget.ts";
import type { Invariant } from "./invariant.ts";
import { demandFields, readDemand } from "./read-demand.ts";
import { budgetFields, rateFields, readBudget, readRate, readZone } from "./read-limit.ts";
import { readInvariant, readPlaces, stateFields, stateVariables } from "./read-state.ts";
import type { Reader } from "./reader.ts";
import type { Clause, Rule, Said } from "./rule.ts";
import { approval } from "./rules/approval.ts";
import { condition } from "./rules/condition.ts";
import { deny } from "./rules/deny.ts";
import { flow } from "./rules/flow.ts";
import { type Demanded, parameter } from "./rules/parameter.ts";
import { state } from "./rules/state.ts";
import { weekdays, window } from "./rules/window.ts";
import { Selector } from "./selector.ts";

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
const common = ["id", "kind", "on", "when", "reason"];

/** What a rule of its kind says: what it has against a call, what it limits, and where it has to look for that. */
type Says = Pick<Rule, "clause"> & Partial<Pick<Rule, "limit" | "places">>;

/** What a kind of rule has to say beside what all have, and how that is read; null: something is wrong with it. */
type Kind = (fields: Fields, reader: Reader, rule: LimitRule) => Clause | Says | null;

const kinds: Readonly<
  Record<Exclude<(typeof ruleKinds)[number], "invariant">, { readonly fields: readonly string[]; readonly read: Kind }>
> = {
  allow: { fields: [], read: () => NOTHING },
  deny: { fields: [], read: (_fields, _reader, { reason }) => deny(reason) },
  parameter: { fields: ["path", "must", "must_not"], read: readParameter },
  require: { fields: ["expression"], read: readCondition },
  state: { fields: stateFields, read: readState },
  approval: {
    fields: demandFields,
    read: (fields, reader, { reason }) => approval(readDemand(fields, reader), reason),
  },
  confirmation: {
    fields: [],
    read: (_fields, _reader, { reason }) => approval({ role: null, kind: "confirmation" }, reason),
  },
  window: { fields: ["days", "from", "to", "zone", "outside", ...demandFields], read: readWindow },
  flow: { fields: ["after", "answer", ...demandFields], read: readFlow },
  rate: { fields: rateFields, read: (fields, _reader, rule) => limited(readRate(fields, rule)) },
  budget: { fields: budgetFields, read: (fields, _reader, rule) => limited(readBudget(fields, rule)) },
};

const NOTHING: Clause = () => null;

/** It has nothing against a call before it starts. */
function limited(limit: Allowance | null): Says | null {
  return limit && { clause: NOTHING, limit };
}

/** Where a rule stands. */
export interface RuleHome {
  /** Layer and document: what the record calls them. */
  readonly prefix: string;
  /** The same, and whose it is. */
  readonly place: string;
}

/** Reads one rule of a document. Null: something is wrong, and the reasons say what. */
export function readRule(fields: Fields, reader: Reader, home: RuleHome): Rule | Invariant | null {
  const kind = fields.choice("kind", ruleKinds, null);
  const name = fields.text("id", ID, null);
  const reason = fields.text("reason", REASON, null);
  if (kind === null) fields.fault("kind", `is what the rule does: ${ruleKinds.join(", ")}`);
  if (name === null) fields.fault("id", "is what the record calls the rule");
  const id = `${home.prefix}/${name}`;
  if (kind === "invariant") return readInvariant(fields, reader, id, reason);
  const on = new Selector(reader.inner(fields, "on") ?? reader.empty, reader);
  const when = reader.expression(fields, "when");
  if (kind === null || name === null) return null;
  const { fields: own, read } = kinds[kind];
  fields.onlyKnown([...common, ...own]);
  const said = read(fields, reader, { id, reason, place: `${home.place}/${name}` });
  if (said === null) return null;
  const { clause, limit = null, places = null } = typeof said === "function" ? { clause: said } : said;
  return { id, role: kind === "allow" ? "permits" : "objects", on, when, clause, limit, places };
}

function readState(fields: Fields, reader: Reader, { reason }: LimitRule): Says | null {
  const places = readPlaces(fields, reader, "from input");
  const source = fields.value("expression");
  if (typeof source !== "string") fields.fault("expression", "is what has to hold, as text");
  const expression = typeof source === "string" ? reader.read(fields, "expression", source, stateVariables) : null;
  return places && expression && { clause: state(places, expression, reason), places };
}

function readCondition(fields: Fields, reader: Reader, { reason }: LimitRule): Clause | null {
  const expression = reader.expression(fields, "expression");
  if (fields.value("expression") === undefined) fields.fault("expression", "is what has to hold");
  return expression && condition(expression, reason);
}

function readParameter(fields: Fields, reader: Reader, { reason }: LimitRule): Clause | null {
  const path = fields.value("path");
  const isPath = typeof path === "string" && parsePointer(path) !== null;
  if (!isPath) fields.fault("path", "must be a JSON pointer into the input, such as /amount");
  const [must, mustNot] = [reader.inner(fields, "must"), reader.inner(fields, "must_not")];
  if ((must === null) === (mustNot === null))
    fields.fault("must", "say either what must be or, in must_not, what must not");
  const said = must ?? mustNot;
  const demanded = said && readDemanded(said, reader);
  return isPath && demanded ? parameter(path, demanded, must !== null, reason) : null;
}

const demands = ["equals", "in", "contains", "matches", "at_most", "at_least", "exists"] as const;

function readDemanded(fields: Fields, reader: Reader): Demanded | null {
  fields.onlyKnown(demands);
  const said = demands.filter((name) => fields.value(name) !== undefined);
  const [name] = said;
  if (name === undefined || said.length > 1) {
    fields.fault("", `must be one of ${demands.join(", ")}`);
    return null;
  }
  return readOneDemand(name, fields.value(name) as Json, fields, reader);
}

function readOneDemand(name: (typeof demands)[number], value: Json, fields: Fields, reader: Reader): Demanded | null {
  const wrong = (must: string): null => {
    fields.fault(name, must);
    return null;
  };
  switch (name) {
    case "equals":
      return { is: name, value };
    case "contains": {
      const text = typeof value === "string" ? about(fields, reader, name, value) : null;
      return { is: name, value, text };
    }
    case "exists":
      return value === true ? { is: name } : wrong("must be true; write must_not for what must not be there");
    case "in":
      return Array.isArray(value) ? { is: name, values: value } : wrong("must be a list of values");
    case "matches": {
      if (typeof value !== "string") return wrong("must be a pattern, as text");
      const text = about(fields, reader, name, value);
      return text && { is: name, pattern: value, text };
    }
    case "at_most":
    case "at_least":
      return typeof value === "number" ? { is: name, value } : wrong("must be a number");
  }
}

/** What is asked of a text is asked in the language of expressions, where it cannot take long. */
function about(fields: Fields, reader: Reader, name: "contains" | "matches", text: string): Expression | null {
  return reader.read(fields, name, `value.${name}(${JSON.stringify(text)})`, ["value"]);
}

function readWindow(fields: Fields, reader: Reader, { reason }: LimitRule): Clause | null {
  const days = reader.choices(fields, "days", weekdays) ?? weekdays;
  const [from, to] = [fields.text("from", CLOCK, null), fields.text("to", CLOCK, null)];
  for (const [name, value] of Object.entries({ from, to }))
    if (value === null) fields.fault(name, "is when it opens or closes, such as 09:00");
  if (from !== null && from === to) fields.fault("to", "must be another time than from");
  const zone = readZone(fields);
  const outside = fields.choice("outside", ["refuse", "hold"], "refuse");
  const demand = readDemand(fields, reader);
  if (from === null || to === null || from === to || zone === null) return null;
  return window(
    { days, from: minutesOf(from), to: minutesOf(to), zone },
    outside === "hold" ? demand : outside,
    reason,
  );
}

function minutesOf(clock: string): number {
  const [hours, minutes] = clock.split(":").map(Number) as [number, number];
  return hours * 60 + minutes;
}

function readFlow(fields: Fields, reader: Reader, { reason }: LimitRule): Clause | null {
  const answer = fields.choice("answer", ["refuse", "hold"], "hold");
  const demand = readDemand(fields, reader);
  const after = reader.inner(fields, "after");
  after?.onlyKnown(["tags", "tools"]);
  const tags = after && reader.words(after, "tags");
  const tools = after && reader.globs(after, "tools");
  if (tags === null && tools === null) {
    fields.fault("after", "is what the run has touched before: tags, tools or both");
    return null;
  }
  const why = reason ?? "the run has touched what this must not follow without a person's yes";
  const said: Said = answer === "refuse" ? { says: "refuse", reason: why } : { says: "hold", demand, reason: why };
  return flow({ tags: tags ?? [], tools }, said);
}
