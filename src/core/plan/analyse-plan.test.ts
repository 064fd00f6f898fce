import { describe, expect, it } from "vitest";
import { planTool, toolsByName } from "../../../tests/core/plan-fixture.ts";
import { keepNote, plan, planWait, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import type { StepId } from "../values/ids.ts";
import { analysePlan, type PlanFinding } from "./analyse-plan.ts";
import type { PlanStep } from "./plan.ts";

const tools = toolsByName([
  planTool("mail.send", { effect: "acts" }),
  planTool("page.read", { cost: () => ({ credits: 2 }) }),
  planTool("note.keep", { effect: "writes" }),
]);
const codes = (findings: readonly PlanFinding[]) => findings.map(({ code }) => code);
const found = (...steps: readonly PlanStep[]) => analysePlan(plan(...steps), tools, {}).findings;
const on = (operator: "eq" | "gt" | "lt" | "gte" | "lte" | "exists" | "not_exists", value: number | string | null) => ({
  step: "a" as StepId,
  path: "/n",
  operator,
  value,
});

describe("the findings of a plan", () => {
  it.each([
    [on("eq", 1), on("eq", 2)],
    [on("eq", 1), on("gt", 1)],
    [on("gt", 5), on("lt", 5)],
    [on("gte", 6), on("lte", 5)],
    [on("gt", "b"), on("lt", "a")],
    [on("gt", 1), on("lt", "z")],
    [on("exists", null), on("not_exists", null)],
    [on("not_exists", null), on("eq", 1)],
  ])("prove that %o and %o contradict each other, and that later steps never start", (one, other) => {
    const findings = found(step("a"), step("b", { preconditions: [one, other] }), step("c", { after: ["b"] }));
    expect(codes(findings)).toEqual(["CONTRADICTION", "NEVER_STARTS"]);
    expect(findings).toMatchObject([
      { severity: "error", proof: "proven", path: "/steps/1/preconditions", steps: ["b"] },
      {
        severity: "error",
        proof: "proven",
        path: "/steps/2",
        steps: ["c"],
        message: "c needs b, which never succeeds",
      },
    ]);
  });

  it.each([
    [on("gte", 5), on("lte", 5)],
    [on("gt", 1), on("lt", 3)],
    [on("eq", 2), on("gt", 1)],
    [on("not_exists", null), on("not_exists", null)],
    [on("eq", 1), { ...on("eq", 2), path: "/m" }],
  ])("accept %o and %o", (one, other) => {
    expect(found(step("a"), step("b", { preconditions: [one, other] }))).toEqual([]);
  });

  it("name a condition that an earlier write of the plan makes false", () => {
    const set = step("set", { payload: { path: "/kv/n", value: 3 } });
    const write = { ...set, name: "state.write", effect: "writes" as const };
    const needs = (value: number) =>
      step("b", { preconditions: [{ state: "/kv/n", operator: "eq", value }], after: ["set"] });
    expect(found(write, needs(4))).toMatchObject([{ code: "UNSATISFIABLE", proof: "heuristic", steps: ["b"] }]);
    expect(found(write, needs(3))).toEqual([]);
  });

  it("bound the time and the depth from below", () => {
    const chain = plan(
      planWait("a", { ms: 100 }),
      planWait("b", { ms: 50 }, { after: ["a"] }),
      planWait("c", { ms: 120 }),
    );
    expect(analysePlan(chain, tools, {}).bounds).toMatchObject({ depth: 2, ms: 150 });
    expect(analysePlan({ ...chain, sequential: true }, tools, {}).bounds).toMatchObject({ depth: 3, ms: 270 });
    expect(analysePlan(chain, tools, { deadlineMs: 149 }).findings).toMatchObject([
      { code: "OVER_DEADLINE", proof: "proven" },
    ]);
    expect(analysePlan(chain, tools, { deadlineMs: 150 }).findings).toEqual([]);
  });

  it("bound the cost from below by the estimates of the tools", () => {
    const reads = plan(step("a", { tool: readPage }), step("b", { tool: readPage }), step("c", { tool: sendMail }));
    const { bounds, findings } = analysePlan(reads, tools, { budget: { credits: 3 } });
    expect(bounds).toMatchObject({ cost: { credits: 4 }, unknown_costs: 1 });
    expect(findings).toMatchObject([{ code: "OVER_BUDGET", severity: "error" }]);
    expect(analysePlan(reads, tools, { budget: { credits: 4 } }).findings).toEqual([]);
  });

  it("name equal calls, and writers that say not where they write", () => {
    const same = (id: string) => step(id, { tool: readPage, payload: { url: "/" } });
    expect(found(same("a"), same("b"))).toEqual([]);
    expect(found(same("a"), same("b"), same("c"))).toMatchObject([{ code: "REPEATED_CALL", proof: "heuristic" }]);
    const writers = [
      step("a", { tool: keepNote, payload: { n: 1 } }),
      step("b", { tool: keepNote, payload: { n: 2 } }),
    ];
    expect(found(...writers)).toMatchObject([{ code: "WRITE_CONFLICT", steps: ["a", "b"] }]);
  });

  it("refuse acts where the mode does", () => {
    const acts = plan(step("a", { tool: sendMail, effect: "acts" }), step("b", { tool: readPage, effect: "reads" }));
    expect(analysePlan(acts, tools, { mode: "draft_only" }).findings).toMatchObject([
      { code: "MODE_FORBIDS", steps: ["a"] },
    ]);
    expect(analysePlan(acts, tools, { mode: "auto_exec" }).findings).toEqual([]);
  });
});
