import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StepId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import { isConditionMet } from "./condition.ts";
import type { OutputCondition } from "./plan.ts";

const output = { n: 5, s: "hello", list: [1, { a: 1 }], none: null, deep: { flag: false } };
const operators = ["eq", "neq", "gt", "lt", "gte", "lte", "exists", "not_exists", "contains"] as const;

function condition(path: string, operator: OutputCondition["operator"], value: Json = null): OutputCondition {
  return { step: "s1" as StepId, path, operator, value };
}

const given = (value: Json | undefined) => (step: string) => (step === "s1" ? value : undefined);

describe("a condition", () => {
  it.each([
    ["/n", "eq", 5],
    ["/list/1", "eq", { a: 1 }],
    ["/none", "eq", null],
    ["/n", "neq", "5"],
    ["/n", "gt", 4],
    ["/n", "lt", 6],
    ["/n", "gte", 5],
    ["/n", "lte", 5],
    ["/s", "gt", "hell"],
    ["/s", "lt", "help"],
    ["/s", "gte", "hello"],
    ["/s", "contains", "ell"],
    ["/list", "contains", { a: 1 }],
    ["/none", "exists", null],
    ["/deep/flag", "exists", null],
    ["/deep/other", "not_exists", null],
  ] as const)("%s %s %j holds", (path, operator, value) => {
    expect(isConditionMet(condition(path, operator, value), given(output))).toBe(true);
  });

  it.each([
    ["/n", "eq", "5"],
    ["/n", "neq", 5],
    ["/n", "gt", 5],
    ["/n", "lt", 5],
    ["/n", "gte", 6],
    ["/n", "lte", 4],
    ["/none", "not_exists", null],
    ["/missing", "exists", null],
    ["/s", "contains", "z"],
    ["/list", "contains", 2],
  ] as const)("%s %s %j does not hold", (path, operator, value) => {
    expect(isConditionMet(condition(path, operator, value), given(output))).toBe(false);
  });

  it.each([
    ["/n", "gt", "4"],
    ["/s", "lte", 9],
    ["/none", "lt", 1],
    ["/list", "gte", []],
    ["/n", "contains", 5],
    ["/s", "contains", 1],
    ["/deep", "contains", "flag"],
    ["/missing", "neq", 1],
    ["/missing", "lt", 1],
  ] as const)("%s %s %j cannot be compared and so does not hold", (path, operator, value) => {
    expect(isConditionMet(condition(path, operator, value), given(output))).toBe(false);
  });

  it.each(operators)("about a step without output does not hold by %s", (operator) => {
    expect(isConditionMet(condition("", operator), given(undefined))).toBe(false);
  });

  it("is true or false for any values", () => {
    const values = fc.jsonValue() as fc.Arbitrary<Json>;
    fc.assert(
      fc.property(
        values,
        values,
        fc.constantFrom(...operators),
        fc.constantFrom("", "/0", "/a"),
        (one, other, operator, path) => {
          expect(typeof isConditionMet(condition(path, operator, other), given(one))).toBe("boolean");
        },
      ),
    );
  });

  it("with an unknown operator throws", () => {
    expect(() => isConditionMet(condition("/n", "like" as "eq"), given(output))).toThrow("unhandled variant");
  });
});
