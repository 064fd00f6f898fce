import { describe, expect, it } from "vitest";
import { plan, step } from "../../testing/given/fixtures.ts";
import { planOrder } from "./plan-order.ts";

describe("the sequence of a plan", () => {
  it("is none unless the plan is sequential", () => {
    expect(planOrder(plan(step("a"), step("b"))).sequence).toBeNull();
  });

  it("is the order of the plan, with each step after its dependencies", () => {
    const steps = plan(step("a", { after: ["c"] }), step("b"), step("c"), step("d"));
    expect(planOrder({ ...steps, sequential: true }).sequence?.order).toEqual([2, 0, 1, 3]);
  });

  it("makes no step wait twice for the step before it", () => {
    const steps = plan(step("a"), step("b", { after: ["a"] }), step("c"));
    expect(planOrder({ ...steps, sequential: true }).sequence).toMatchObject({
      next: [null, 2, null],
      previous: [null, null, 1],
    });
  });
});
