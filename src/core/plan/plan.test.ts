import { describe, expect, it } from "vitest";
import type { StepId } from "../values/ids.ts";
import { leanStep, type PlanStep, planStep } from "./plan.ts";

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
      retries: 0,
      payload: { to: "ana" },
      depends_on: ["write" as StepId],
    });
    expect(planStep(leanStep(step))).toEqual(step);
    expect(leanStep(step)).toHaveProperty("retries", 0);
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
