import { describe, expect, it } from "vitest";
import type { StepId } from "../id.ts";
import { full, lean, type PlanStep } from "./plan.ts";

describe("keeping a step in the journal", () => {
  const said = { step_id: "send" as StepId, name: "mail.send", effect: "acts" } as const;

  it("leaves out what the step does not say", () => {
    expect(lean(full(said))).toEqual(said);
  });

  it("leaves out a payload that has nothing of its own", () => {
    const payload = Object.create(Object.assign(Object.create(null), { to: "ana" }));
    expect(lean({ ...full(said), payload })).toEqual(said);
  });

  it("keeps what it says, and gives it back whole", () => {
    const step = full({
      ...said,
      gate: "human_confirm",
      retries: 0,
      payload: { to: "ana" },
      depends_on: ["write" as StepId],
    });
    expect(full(lean(step))).toEqual(step);
    expect(lean(step)).toHaveProperty("retries", 0);
  });
});

describe("a step that says everything", () => {
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

  it("is kept whole, and every part of it by itself", () => {
    expect(lean(everything)).toEqual(everything);
    expect(full(lean(everything))).toEqual(everything);
    const least = full({ step_id: everything.step_id, name: "mail.send", effect: "acts" });
    for (const name of Object.keys(everything) as (keyof PlanStep)[]) {
      const one = { ...least, [name]: everything[name] } as PlanStep;
      expect(full(lean(one)), name).toEqual(one);
      expect(Object.keys(lean(one)).sort(), name).toEqual([...new Set(["step_id", "name", "effect", name])].sort());
    }
  });
});
