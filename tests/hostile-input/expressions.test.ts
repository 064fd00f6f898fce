import { describe, expect, it } from "vitest";
import { hostileData, hostileExpressions } from "../../bench/hostile-expressions.ts";
import { expressionLimits } from "../../src/core/ports/expression.ts";
import { cel } from "../../src/expression/cel.ts";

const variables = Object.keys(hostileData);

/** Evaluates an expression. Returns its result and the number of steps. */
function evaluate(source: string): { readonly what: string; readonly spent: number } {
  const read = cel.read(source, variables);
  if ("wrong" in read) return { what: "refusal", spent: 0 };
  const answer = read.test(hostileData);
  if ("wrong" in answer) return { what: "refusal", spent: answer.spent };
  return { what: answer.holds ? "yes" : "no", spent: answer.spent };
}

describe("hostile expressions", () => {
  it("are at least two hundred distinct ones", () => {
    expect(new Set(hostileExpressions.map(({ source }) => source)).size).toBe(hostileExpressions.length);
    expect(hostileExpressions.length).toBeGreaterThanOrEqual(200);
  });

  it.each(hostileExpressions.map((hostile) => [hostile.about, hostile.source.slice(0, 60), hostile] as const))(
    "%s: %s",
    (_about, _source, { source, expected }) => {
      const { what, spent } = evaluate(source);
      expect(what).toBe(expected);
      // When the step limit is reached, the step above it is not taken.
      if (what !== "refusal") expect(spent).toBeLessThanOrEqual(expressionLimits.fuel);
    },
  );

  it("change no global state", () => {
    for (const { source } of hostileExpressions) evaluate(source);
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
    expect(Object.keys(hostileData)).toEqual(variables);
  });
});
