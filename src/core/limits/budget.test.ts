import { describe, expect, it } from "vitest";
import { COST_AMOUNT_MAX, estimateProblems } from "./budget.ts";

describe("an estimate", () => {
  it.each([
    [{ usd_micros: 0, credits: 1, tokens_in: 2, tokens_out: COST_AMOUNT_MAX, ms: 3 }, 0],
    [{}, 0],
    [{ usd_micros: -1 }, 1],
    [{ usd_micros: 0.5, credits: Number.NaN }, 2],
    [{ usd_micros: COST_AMOUNT_MAX + 1 }, 1],
    [{ usd_micros: "3" }, 1],
    [{ calls: 1 }, 1],
    [{ model: "m" }, 1],
    [null, 1],
    [7, 1],
    [Promise.resolve({}), 1],
  ])("%j has %d problems", (given, count) => {
    expect(estimateProblems(given)).toHaveLength(count);
  });
});

describe("a problem of an estimate", () => {
  it("names the field and what is allowed", () => {
    expect(estimateProblems(7)).toEqual([expect.stringMatching(/^cost must be an object with usd_micros, /)]);
    expect(estimateProblems({ euros: 1 })).toEqual([expect.stringMatching(/^cost has no euros, only usd_micros, /)]);
    expect(estimateProblems({ credits: -1 })).toEqual(["a cost of -1 credits is not a whole number from 0"]);
  });
});
