import { nearest } from "../../core/json/nearest.ts";
import { isPlainObject } from "../../core/json/plain-object.ts";
import { AMOUNT_MOST, budgetScopes, isAmount, rateScopes, units } from "../../core/limits/budget.ts";
import { Zone } from "../../core/time/zone.ts";

/** A limit that nobody could reach or keep must not pass for one. `whose` begins each sentence. */
export function allowanceProblems(given: object, whose: string): readonly string[] {
  const { budgets = [], rates = [], zone = "UTC" } = given as Given;
  return [
    ...(typeof zone === "string" && Zone.of(zone) !== null
      ? []
      : [`${whose}zone must be a time zone by its IANA name, such as Europe/Berlin`]),
    ...listProblems(budgets, `${whose}budgets`, budgetProblems),
    ...listProblems(rates, `${whose}rates`, rateProblems),
  ];
}

type Given = Readonly<Record<string, unknown>>;

function listProblems(list: unknown, what: string, problems: (given: Given) => readonly string[]): readonly string[] {
  if (!Array.isArray(list)) return [`${what} must be a list`];
  return list.flatMap((item: unknown, index) => {
    const wrong = isPlainObject(item) ? problems(item) : ["must be an object"];
    return wrong.map((problem) => `${what}[${index}] ${problem}`);
  });
}

function budgetProblems(given: Given): readonly string[] {
  const { unit, limit, per } = given;
  return [
    ...unknownFields(given, ["unit", "limit", "per", "tool"]),
    ...choice("unit", unit, units),
    ...choice("per", per, budgetScopes),
    ...(isAmount(limit) ? [] : [`needs a limit, a whole number from 0 to ${AMOUNT_MOST}`]),
    ...toolProblems(given),
  ];
}

function rateProblems(given: Given): readonly string[] {
  const { calls, per } = given;
  return [
    ...unknownFields(given, ["calls", "per", "tool"]),
    ...choice("per", per, rateScopes),
    // A call that may never be made would wait for ever.
    ...(isAmount(calls) && calls > 0 ? [] : [`needs calls, a whole number from 1 to ${AMOUNT_MOST}`]),
    ...toolProblems(given),
  ];
}

function unknownFields(given: Given, known: readonly string[]): readonly string[] {
  return Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known);
      return meant === null ? `has no ${name}` : `has no ${name}; did you mean ${meant}?`;
    });
}

function choice(name: string, value: unknown, values: readonly string[]): readonly string[] {
  return values.includes(value as string) ? [] : [`needs ${name}, one of ${values.join(", ")}`];
}

/** It need not be registered here: other workers have other tools. */
function toolProblems({ tool }: Given): readonly string[] {
  return tool === undefined || (typeof tool === "string" && tool !== "") ? [] : ["tool must be the name of a tool"];
}
