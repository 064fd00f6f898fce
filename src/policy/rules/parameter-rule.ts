import { valueAt } from "../../core/json/json-pointer.ts";
import type { Expression } from "../../core/ports/expression.ts";
import { type Json, sameJson } from "../../core/values/json.ts";
import type { RuleCheck } from "./rule.ts";

/** A test of a value of the input. */
export type ParameterTest =
  | { readonly is: "equals"; readonly value: Json }
  | { readonly is: "in"; readonly values: readonly Json[] }
  /** `text` tests a text; null: a text cannot contain the value. */
  | { readonly is: "contains"; readonly value: Json; readonly text: Expression | null }
  | { readonly is: "matches"; readonly pattern: string; readonly text: Expression }
  | { readonly is: "at_most" | "at_least"; readonly value: number }
  | { readonly is: "exists" };

/**
 * Refuses calls whose input fails a test, or passes it if `must` is false. A value that cannot be tested is refused
 * too.
 */
export function parameterRule(path: string, test: ParameterTest, must: boolean, reason: string | null): RuleCheck {
  return ({ input }) => {
    const found = valueAt(input, path);
    const passes = testValue(test, found);
    if (passes === must) return null;
    const what = `${path || "the input"} ${must ? "must" : "must not"} ${describeTest(test)}`;
    const why = typeof passes === "boolean" ? what : `${what}, which cannot be tested: ${passes.wrong}`;
    return { says: "refuse", reason: reason === null ? why : `${reason} (${why})` };
  };
}

type TestResult = boolean | { readonly wrong: string };

function testValue(test: ParameterTest, found: Json | undefined): TestResult {
  if (test.is === "exists") return found !== undefined;
  if (found === undefined) return { wrong: "it is absent" };
  switch (test.is) {
    case "equals":
      return sameJson(found, test.value);
    case "in":
      return test.values.some((value) => sameJson(found, value));
    case "contains":
      return testContains(found, test);
    case "matches":
      return testExpression(test.text, found);
    case "at_most":
    case "at_least":
      if (typeof found !== "number") return { wrong: "it is not a number" };
      return test.is === "at_most" ? found <= test.value : found >= test.value;
  }
}

function testContains(whole: Json, { value, text }: Extract<ParameterTest, { is: "contains" }>): TestResult {
  if (Array.isArray(whole)) return whole.some((item) => sameJson(item, value));
  if (typeof whole !== "string" || text === null) return { wrong: "it is neither a text nor a list" };
  return testExpression(text, whole);
}

function testExpression(expression: Expression, value: Json): TestResult {
  const answer = expression.test({ value });
  return "wrong" in answer ? { wrong: answer.wrong } : answer.holds;
}

function describeTest(test: ParameterTest): string {
  switch (test.is) {
    case "exists":
      return "be present";
    case "in":
      return `be one of ${JSON.stringify(test.values)}`;
    case "matches":
      return `match ${test.pattern}`;
    case "at_most":
      return `be at most ${test.value}`;
    case "at_least":
      return `be at least ${test.value}`;
    default:
      return `${test.is === "equals" ? "equal" : "contain"} ${JSON.stringify(test.value)}`;
  }
}
