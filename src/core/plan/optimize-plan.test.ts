import { describe, expect, it } from "vitest";
import { equivalentPlans, optimizePlan } from "./optimize-plan.ts";

const step = (step_id: string, ...depends_on: readonly string[]) => ({
  step_id,
  name: "look",
  ...(depends_on.length > 0 && { depends_on }),
});

describe("an optimized plan", () => {
  it("has no dependency that another one implies", () => {
    const plan = { steps: [step("a"), step("b", "a"), step("c", "a", "b"), step("d", "a", "c")] };
    expect(optimizePlan(plan).steps).toEqual([step("a"), step("b", "a"), step("c", "b"), step("d", "c")]);
  });

  it("does not repeat what bindings and conditions imply", () => {
    const bound = { ...step("b", "a"), bindings: { "/x": { step: "a", path: "" } } };
    const claim = {
      step_id: "c",
      kind: "assertion" as const,
      depends_on: ["b"],
      payload: { step: "b", path: "", operator: "exists" },
    };
    const [, b, c] = optimizePlan({ steps: [step("a"), bound, claim] }).steps;
    expect([b?.depends_on, c?.depends_on]).toEqual([undefined, undefined]);
  });

  it("is equivalent to the plan that it was made from, and to any order of its list", () => {
    const steps = [step("a"), step("b", "a"), step("c", "a", "b")];
    const optimized = optimizePlan({ steps });
    expect(equivalentPlans({ steps }, optimized)).toBe(true);
    expect(equivalentPlans({ steps }, { steps: [...optimized.steps].reverse() })).toBe(true);
    expect(equivalentPlans({ steps }, { steps: [step("a"), step("b"), step("c", "a", "b")] })).toBe(false);
    expect(
      equivalentPlans({ steps }, { steps: [step("a"), step("b", "a"), { ...step("c", "b"), name: "send" }] }),
    ).toBe(false);
    expect(equivalentPlans({ steps }, { steps, sequential: true })).toBe(false);
    expect(equivalentPlans({ steps, sequential: true }, { steps: [...steps].reverse(), sequential: true })).toBe(false);
  });

  it("is refused for a cycle", () => {
    expect(() => optimizePlan({ steps: [step("a", "b"), step("b", "a")] })).toThrow("form a cycle");
  });
});
