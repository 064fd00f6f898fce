import { describe, expect, it } from "vitest";
import { fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";
import { leanStep, type PlanStep, planStep, requestedPlan } from "./plan.ts";

describe("a step in the journal", () => {
  const minimal = { step_id: "send" as StepId, name: "mail.send", effect: "acts" } as const;

  it("has no defaults", () => {
    expect(leanStep(planStep(minimal))).toEqual(minimal);
  });

  it("has no payload without own members", () => {
    const payload = Object.create(Object.assign(Object.create(null), { to: "ana" }));
    expect(leanStep({ ...planStep(minimal), payload })).toEqual(minimal);
  });

  it("keeps given values and can be read back completely", () => {
    const step = planStep({
      ...minimal,
      gate: "human_confirm",
      asks_for: { "/to": "the address" },
      retries: 0,
      payload: { to: "ana" },
      depends_on: ["write" as StepId],
    });
    expect(planStep(leanStep(step))).toEqual(step);
    expect(leanStep(step)).toHaveProperty("retries", 0);
  });
});

describe("the plan in the digest of a request", () => {
  it("has no later field with its default, so that requests of older versions keep their digest", () => {
    const step = planStep({ step_id: "a" as StepId, name: "ask", effect: "reads" });
    const plan = { plan_id: null, schema_version: "1.0", intent_id: null, steps: [step] } as const;
    const [asked] = requestedPlan(plan).steps as [object];
    expect(Object.keys(asked).sort().join(" ")).toBe(
      "bindings cache_policy depends_on effect gate idempotency_template kind name on_failure on_rejected outcome payload policy_tags preconditions retries state_reads state_writes step_id timeout_ms",
    );
    const expecting = { ...step, expected_effects: [{ state: "/kv/a", value: 1 }] };
    expect(requestedPlan({ ...plan, steps: [expecting] })).not.toEqual(requestedPlan(plan));
    const asking = { ...step, asks_for: { "/to": "the address" } };
    expect(requestedPlan({ ...plan, steps: [asking] })).not.toEqual(requestedPlan(plan));
  });
});

describe("a step with all fields", () => {
  const everything: PlanStep = {
    step_id: "send" as StepId,
    name: "mail.send",
    effect: "acts",
    kind: "wait",
    payload: { to: "ana" },
    policy_tags: ["outside"],
    gate: "human_confirm",
    asks_for: { "/to": "the address" },
    cache_policy: "use_if_safe",
    idempotency_template: "a:{a}",
    depends_on: ["write" as StepId],
    bindings: { "/a": { step: "write" as StepId, path: "", as: "value" } },
    on_failure: "skip",
    on_rejected: "continue",
    retries: 0,
    timeout_ms: 5,
    preconditions: [{ step: "write" as StepId, path: "", operator: "exists", value: null }],
    outcome: { type: "mail", status: "draft" },
    state_reads: [],
    state_writes: ["/beds"],
    expected_effects: [{ state: "/beds/north", value: 0 }],
    invalid: fault("PLAN_INVALID", "no"),
  };

  it("is stored completely, and so is each field alone", () => {
    expect(leanStep(everything)).toEqual(everything);
    expect(planStep(leanStep(everything))).toEqual(everything);
    const least = planStep({ step_id: everything.step_id, name: "mail.send", effect: "acts" });
    for (const name of Object.keys(everything) as (keyof PlanStep)[]) {
      const one = { ...least, [name]: everything[name] } as PlanStep;
      expect(planStep(leanStep(one)), name).toEqual(one);
      expect(Object.keys(leanStep(one)).sort(), name).toEqual([...new Set(["step_id", "name", "effect", name])].sort());
    }
  });
});
