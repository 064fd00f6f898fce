import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Instant } from "../values/ids.ts";
import type { PlanFinding } from "./analyse-plan.ts";
import { type PlanCandidate, rankPlans, type ToolHistory } from "./rank-plans.ts";

const DAY = 24 * 60 * 60 * 1000;

function candidate(
  tools: readonly string[],
  more: Partial<PlanCandidate> & { depth?: number; usd?: number } = {},
): PlanCandidate {
  const { depth = 1, usd = 0, ...rest } = more;
  const steps = tools.map((name, at) => ({ step_id: `s${at}`, name }));
  const bounds = { depth, ms: 0, cost: { usd_micros: usd }, unknown_costs: 0 };
  return { plan: { steps }, ok: true, findings: [], bounds, ...rest };
}

const finding = (severity: PlanFinding["severity"], proof: PlanFinding["proof"]): PlanFinding => ({
  code: "WRITE_CONFLICT",
  severity,
  proof,
  path: "/steps",
  steps: [],
  message: "they conflict",
});

const calls = (tool: string, succeeded: number, all: number, last_at = 0): ToolHistory => ({
  tool,
  calls: all,
  succeeded,
  last_at: last_at as Instant,
});

const order = (candidates: readonly PlanCandidate[], terms = {}) =>
  rankPlans(candidates, terms).map((ranked) => ranked.candidate);

describe("the rank of plans", () => {
  it("is by cost, depth, conflicts and the history of their tools, other things being equal", () => {
    expect(order([candidate(["a"], { usd: 9000 }), candidate(["a"], { usd: 1000 })])).toEqual([1, 0]);
    expect(order([candidate(["a", "a"]), candidate(["a"])])).toEqual([1, 0]);
    expect(order([candidate(["a", "b"], { depth: 2 }), candidate(["a", "b"])])).toEqual([1, 0]);
    expect(order([candidate(["a"], { findings: [finding("warning", "heuristic")] }), candidate(["a"])])).toEqual([
      1, 0,
    ]);
    const history = [calls("good", 9, 10), calls("bad", 1, 10)];
    expect(order([candidate(["bad"]), candidate(["new"]), candidate(["good"])], { history })).toEqual([2, 1, 0]);
  });

  it("puts a plan last that would be refused or cannot complete, and says why each other has its score", () => {
    const impossible = candidate(["a"], { findings: [finding("error", "proven")] });
    const ranked = rankPlans([candidate(["a"], { ok: false, bounds: null }), impossible, candidate(["a"])]);
    expect(ranked.map(({ candidate: at, score }) => [at, score > 0])).toEqual([
      [2, true],
      [0, false],
      [1, false],
    ]);
    expect(ranked[0]?.parts.map(({ part, weight }) => [part, weight])).toEqual([
      ["cost", 0.3],
      ["depth", 0.1],
      ["conflicts", 0.2],
      ["history", 0.4],
    ]);
    expect(ranked[0]?.parts[3]?.why).toBe("a 0.5");
  });

  it("counts an old call half as much after the half-life", () => {
    const of = (age: number) =>
      rankPlans([candidate(["a"])], { history: [calls("a", 100, 100)], at: age as Instant, halfLifeMs: DAY })[0]
        ?.parts[3];
    expect(of(0)?.value).toBeCloseTo(101 / 102);
    expect(of(DAY)?.value).toBeCloseTo(51 / 52);
    expect(of(1000 * DAY)?.value).toBe(0.5);
  });

  it("is a permutation of the candidates, the same for equal arguments, whatever the weights", () => {
    const tools = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 });
    const any = fc.record({ tools, ok: fc.boolean(), depth: fc.integer({ min: 1, max: 4 }), usd: fc.nat(9999) });
    const weights = fc.record({ cost: fc.nat(9), depth: fc.nat(9), conflicts: fc.nat(9), history: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 8 }), weights, (given, weighed) => {
        const candidates = given.map(({ tools: named, ...more }) => candidate(named, more));
        const ranked = rankPlans(candidates, { weights: weighed, history: [calls("a", 3, 4, 5)] });
        expect(ranked).toEqual(rankPlans(candidates, { weights: weighed, history: [calls("a", 3, 4, 5)] }));
        expect(ranked.map(({ candidate: at }) => at).sort()).toEqual(candidates.map((_, at) => at));
        for (const { score } of ranked) expect(score >= 0 && score <= 1).toBe(true);
      }),
    );
  });
});
