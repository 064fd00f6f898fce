import { nearestName } from "../../core/json/nearest-name.ts";
import { isPlainObject } from "../../core/json/plain-object.ts";
import { budgetScopes, COST_AMOUNT_MAX, isCostAmount, limitUnits, rateScopes } from "../../core/limits/budget.ts";
import { TimeZone } from "../../core/time/time-zone.ts";

/** Returns the problems of budgets, rates and zone in settings. Each message starts with `whose`. */
export function limitSettingProblems(given: object, whose: string): readonly string[] {
  const { budgets = [], rates = [], zone = "UTC" } = given as AllowanceInput;
  return [
    ...(typeof zone === "string" && TimeZone.of(zone) !== null
      ? []
      : [`${whose}zone must be a time zone by its IANA name, such as Europe/Berlin`]),
    ...listProblems(budgets, `${whose}budgets`, budgetProblems),
    ...listProblems(rates, `${whose}rates`, rateProblems),
  ];
}

type AllowanceInput = Readonly<Record<string, unknown>>;

function listProblems(
  list: unknown,
  what: string,
  problems: (given: AllowanceInput) => readonly string[],
): readonly string[] {
  if (!Array.isArray(list)) return [`${what} must be a list`];
  return list.flatMap((item: unknown, index) => {
    const wrong = isPlainObject(item) ? problems(item) : ["must be an object"];
    return wrong.map((problem) => `${what}[${index}] ${problem}`);
  });
}

/** Returns the problems of the budgets of a submission. */
export function runBudgetProblems(budgets: unknown): readonly string[] {
  if (Array.isArray(budgets) && budgets.length > RUN_BUDGETS_MAX)
    return [`budgets must be a list of at most ${RUN_BUDGETS_MAX}`];
  return listProblems(budgets, "budgets", (given) => [
    ...unknownFields(given, ["unit", "limit", "tool"]),
    ...amountProblems(given),
  ]);
}

const RUN_BUDGETS_MAX = 16;

function budgetProblems(given: AllowanceInput): readonly string[] {
  return [
    ...unknownFields(given, ["unit", "limit", "per", "tool"]),
    ...choiceProblems("per", given.per, budgetScopes),
    ...amountProblems(given),
  ];
}

function amountProblems(given: AllowanceInput): readonly string[] {
  const { unit, limit } = given;
  return [
    ...choiceProblems("unit", unit, limitUnits),
    ...(isCostAmount(limit) ? [] : [`needs a limit, a whole number from 0 to ${COST_AMOUNT_MAX}`]),
    ...toolProblems(given),
  ];
}

function rateProblems(given: AllowanceInput): readonly string[] {
  const { calls, per, burst } = given;
  return [
    ...unknownFields(given, ["calls", "per", "burst", "tool"]),
    ...choiceProblems("per", per, rateScopes),
    // With a rate of 0, calls would wait forever.
    ...(isCostAmount(calls) && calls > 0 ? [] : [`needs calls, a whole number from 1 to ${COST_AMOUNT_MAX}`]),
    ...(burst === undefined || (isCostAmount(burst) && burst > 0 && burst <= Number(calls))
      ? []
      : ["needs a burst from 1 to its calls"]),
    ...toolProblems(given),
  ];
}

function unknownFields(given: AllowanceInput, known: readonly string[]): readonly string[] {
  return Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = nearestName(name, known);
      return meant === null ? `has no ${name}` : `has no ${name}; did you mean ${meant}?`;
    });
}

function choiceProblems(name: string, value: unknown, values: readonly string[]): readonly string[] {
  return values.includes(value as string) ? [] : [`needs ${name}, one of ${values.join(", ")}`];
}

/** The tool need not be registered here, because other workers may have other tools. */
function toolProblems({ tool }: AllowanceInput): readonly string[] {
  return tool === undefined || (typeof tool === "string" && tool !== "") ? [] : ["tool must be the name of a tool"];
}
