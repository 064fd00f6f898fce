import { describe, expect, it } from "vitest";
import { attenuate, type Capability } from "../../core/approval/principal.ts";
import type { Expression } from "../../core/ports/expression.ts";
import type { Mode } from "../../core/values/effect.ts";
import { fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";
import { cel } from "../../expression/cel.ts";
import { admissionFor, givenUndo, lenientPolicy } from "../../testing/given/admission.ts";
import { accepts, does, starts } from "../../testing/given/commands.ts";
import { conditionOn, later, type noon, plan, planWait, robin, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenRun, given } from "../../testing/given/given.ts";
import { denyAllPolicy } from "../deny-all-policy.ts";
import { ruleVariables } from "../rules/rule-input.ts";
import { capabilityGuard } from "./capability-guard.ts";
import { deadlineGuard } from "./deadline-guard.ts";
import { flawGuard } from "./flaw-guard.ts";
import { planSizeGuard } from "./plan-size-guard.ts";
import { policyGuard } from "./policy-guard.ts";
import { preconditionsGuard } from "./preconditions-guard.ts";
import { requestedGateGuard } from "./requested-gate-guard.ts";
import { rolesGuard } from "./roles-guard.ts";
import { standardGuards } from "./standard-guards.ts";
import { toolConditionsGuard } from "./tool-conditions-guard.ts";
import { toolRegisteredGuard } from "./tool-registered-guard.ts";

describe("the standard guards", () => {
  it("have a fixed order and unique names", () => {
    expect(standardGuards.map(({ id }) => id)).toEqual([
      "project_open",
      "tool_known",
      "capability",
      "roles",
      "input_fits",
      "preconditions",
      "restored_acts",
      "tool_conditions",
      "tool_confirmation",
      "policies",
      "mode",
      "deadline",
      "plan_size",
      "plan_gate",
      "fork_acts",
      "rejected_call",
    ]);
  });
});

describe("a tool that is not registered", () => {
  it("is refused, only for steps that call a tool", () => {
    const givenRun = given(accepts(plan(step("a"), step("w", { kind: "wait", payload: { ms: 1 } }))));
    expect(toolRegisteredGuard.judge(admissionFor(givenRun, "a", { tool: null }))).toMatchObject({
      kind: "refuse",
      fault: { code: "TOOL_UNKNOWN" },
    });
    expect(toolRegisteredGuard.judge(admissionFor(givenRun, "a"))).toEqual({ kind: "allow" });
    expect(toolRegisteredGuard.judge(admissionFor(givenRun, "w", { tool: null }))).toEqual({ kind: "allow" });
  });
});

describe("the capabilities of a principal", () => {
  const may = (id: string, ...capabilities: readonly Capability[]) => {
    const principal = { ...robin, capabilities };
    const givenRun = given(
      accepts(plan(step("a", { tool: sendMail }), step("b"), planWait("w", { ms: 1 })), { principal }),
    );
    return capabilityGuard.judge(admissionFor(givenRun, id));
  };

  it("allow every call by default", () => {
    expect(may("a")).toEqual({ kind: "allow" });
    expect(may("a", {})).toEqual({ kind: "allow" });
    expect(may("a", { tools: {} })).toEqual({ kind: "allow" });
  });

  it("allow tools that are allowed and not denied", () => {
    expect(may("a", { tools: { allow: ["mail.*"] } }).kind).toBe("allow");
    expect(may("a", { tools: { allow: ["page.*", "sums.add"] } })).toMatchObject({
      kind: "refuse",
      rule: "capability",
      fault: { code: "AUTH_FORBIDDEN", message: "robin may not run a: mail.send is not in its list of allowed tools" },
    });
    expect(may("a", { tools: { allow: ["mail.*"], deny: ["*.send"] } })).toMatchObject({
      fault: { message: "robin may not run a: mail.send is denied to it" },
    });
    expect(may("b", { tools: { deny: ["*.send"] } }).kind).toBe("allow");
    expect(may("b", { tools: { allow: [] } }).kind).toBe("refuse");
  });

  it("limit the number of steps of a run, and refuse the first step of a plan that has more", () => {
    expect(may("b", { max_actions: 3 }).kind).toBe("allow");
    expect(may("a", { max_actions: 2 })).toMatchObject({
      fault: { message: "robin may not run a: its plan has 3 steps, and the limit is 2 steps per run" },
    });
    expect(may("a", { max_actions: 0 }).kind).toBe("refuse");
  });

  it("only restrict further when one is added", () => {
    const all = { ...robin, capabilities: [{ tools: { allow: ["mail.*"] } }] };
    const less = attenuate(attenuate(all, { tools: { allow: ["*"] } }), { max_actions: 5 });
    expect(less.capabilities).toEqual([
      { tools: { allow: ["mail.*"] } },
      { tools: { allow: ["*"] } },
      { max_actions: 5 },
    ]);
    expect(may("a", ...less.capabilities).kind).toBe("allow");
    expect(may("b", ...less.capabilities).kind).toBe("refuse");
    expect(attenuate(robin, { max_actions: 1 }).capabilities).toEqual([{ max_actions: 1 }]);
  });

  it("apply to calls and not to undos", () => {
    expect(may("w", { tools: { allow: [] } })).toEqual({ kind: "allow" });
    const givenRun = givenUndo("auto_exec", { principal: { ...robin, capabilities: [{ max_actions: 1 }] } });
    expect(capabilityGuard.judge(admissionFor(givenRun, "undo.send.1"))).toEqual({ kind: "allow" });
  });
});

describe("the roles of a tool", () => {
  const judged = (roles: readonly string[] | undefined, wanted: readonly string[], tool = sendMail) => {
    const principal = { ...robin, ...(roles && { roles }) };
    const givenRun = given(accepts(plan(step("a", { tool: { ...tool, roles: wanted } })), { principal }));
    return rolesGuard.judge(admissionFor(givenRun, "a"));
  };

  it("require that the principal has one of them", () => {
    expect(judged(undefined, []).kind).toBe("allow");
    expect(judged(["b"], ["a", "b"]).kind).toBe("allow");
    expect(judged(["c"], ["a", "b"])).toMatchObject({
      kind: "refuse",
      rule: "roles",
      fault: { code: "AUTH_FORBIDDEN", message: "robin has none of the roles that may call mail.send: a, b" },
    });
    expect(judged(undefined, ["a"]).kind).toBe("refuse");
  });

  it("do not apply to undos and to steps that call no tool", () => {
    const givenRun = givenUndo("auto_exec");
    const tool = { ...sendMail, roles: ["a"] };
    expect(rolesGuard.judge(admissionFor(givenRun, "undo.send.1", { tool }))).toEqual({ kind: "allow" });
    expect(rolesGuard.judge(admissionFor(givenRun, "send", { tool })).kind).toBe("refuse");
    expect(rolesGuard.judge(admissionFor(givenRun, "send", { tool: null }))).toEqual({ kind: "allow" });
  });
});

describe("an invalid input", () => {
  it("is refused with its fault", () => {
    const givenRun = given(accepts(plan(step("a"))));
    const flaw = fault("INVALID_INPUT", "to is missing");
    expect(flawGuard.judge(admissionFor(givenRun, "a", { flaw }))).toEqual({
      kind: "refuse",
      rule: "input_fits",
      fault: flaw,
    });
    expect(flawGuard.judge(admissionFor(givenRun, "a"))).toEqual({ kind: "allow" });
  });
});

describe("preconditions", () => {
  const needs = step("b", {
    after: ["a"],
    preconditions: [conditionOn("a", "/ok", "eq", true), conditionOn("a", "/n", "gt", 3)],
  });
  const givenRun = (output: object) => given(accepts(plan(step("a"), needs))).when(does("a", output as never));

  it("allow a step if all of them hold", () => {
    expect(preconditionsGuard.judge(admissionFor(givenRun({ ok: true, n: 4 }), "b"))).toEqual({ kind: "allow" });
  });

  it("refuse and name the first that does not hold", () => {
    expect(preconditionsGuard.judge(admissionFor(givenRun({ ok: true, n: 3 }), "b"))).toMatchObject({
      kind: "refuse",
      rule: "preconditions",
      fault: { code: "PRECONDITION_FAILED", message: "b needs a/n gt 3, which is false; it was not run" },
    });
  });

  it("do not hold for a step that has not succeeded or does not exist", () => {
    const early = given(accepts(plan(step("a"), { ...needs, depends_on: [] })));
    expect(preconditionsGuard.judge(admissionFor(early, "b")).kind).toBe("refuse");
    const stray = given(accepts(plan({ ...needs, depends_on: [] })));
    expect(preconditionsGuard.judge(admissionFor(stray, "b")).kind).toBe("refuse");
  });
});

describe("the conditions of a tool", () => {
  const read = (id: string, source: string) => ({
    id,
    expression: cel.read(source, ruleVariables) as Expression,
    pointers: null,
  });
  const conditions = [read("small", "input.amount < 10"), read("named", "has(input.to)")];
  const judged = (input: Json) => {
    const givenRun = given(accepts(plan(step("a", { tool: sendMail }))));
    return toolConditionsGuard.judge(admissionFor(givenRun, "a", { input, conditions }));
  };

  it("must all hold, and refuse if one cannot be evaluated", () => {
    expect(judged({ amount: 9, to: "ana" })).toEqual({ kind: "allow" });
    expect(judged({ amount: 10, to: "ana" })).toMatchObject({
      kind: "refuse",
      rule: "tool_conditions/small",
      fault: {
        code: "PRECONDITION_FAILED",
        message: "a was not run: mail.send needs input.amount < 10, which is false",
      },
    });
    expect(judged({ amount: 9 })).toMatchObject({ rule: "tool_conditions/named" });
    expect(judged({ to: "ana" })).toMatchObject({
      fault: {
        message:
          'a was not run: mail.send needs input.amount < 10, which cannot be evaluated: there is no "amount" in an object',
      },
    });
  });

  it("do not apply without a tool and to undos", () => {
    const givenRun = givenUndo("auto_exec");
    expect(toolConditionsGuard.judge(admissionFor(givenRun, "send"))).toEqual({ kind: "allow" });
    expect(toolConditionsGuard.judge(admissionFor(givenRun, "send", { tool: null, conditions }))).toEqual({
      kind: "allow",
    });
    expect(toolConditionsGuard.judge(admissionFor(givenRun, "undo.send.1", { input: {}, conditions }))).toEqual({
      kind: "allow",
    });
    expect(toolConditionsGuard.judge(admissionFor(givenRun, "send", { input: {}, conditions })).kind).toBe("refuse");
  });
});

describe("the deadline of a run", () => {
  const judged = (givenRun: GivenRun, id: string, now: number) =>
    deadlineGuard.judge({ ...admissionFor(givenRun, id), now: now as typeof noon }).kind;

  it("refuses calls at and after it", () => {
    const givenRun = given(accepts(plan(step("a")), { deadline_at: later(1000) }));
    expect(judged(givenRun, "a", later(999))).toBe("allow");
    expect(judged(givenRun, "a", later(1000))).toBe("refuse");
    expect(judged(given(accepts(plan(step("a")))), "a", later(1e12))).toBe("allow");
  });

  it("does not refuse an undo", () => {
    expect(judged(givenUndo("auto_exec", { deadline_at: later(1) }), "undo.send.1", later(1000))).toBe("allow");
  });
});

describe("the maximum number of steps", () => {
  const givenRun = given(accepts(plan(step("a"), step("b")), { mode: "auto_exec" }));
  const judged = (id: string, most: Partial<Record<Mode, number>>, mode: Mode | null = null) =>
    planSizeGuard.judge({
      ...admissionFor(givenRun, id),
      policy: { ...lenientPolicy, mode, maxSteps: (of) => most[of] ?? null },
    });

  it("is set per mode", () => {
    expect(judged("b", { auto_exec: 2 })).toEqual({ kind: "allow" });
    expect(judged("a", { auto_exec: 1 })).toMatchObject({
      kind: "refuse",
      rule: "plan_size",
      fault: {
        code: "LIMIT_EXCEEDED",
        message: "a is in a plan of 2 steps, and a run in mode auto_exec may have 1; use fewer steps or another mode",
      },
    });
    expect(judged("b", { human_gated: 1 })).toEqual({ kind: "allow" });
    expect(judged("b", { human_gated: 1 }, "human_gated").kind).toBe("refuse");
    expect(planSizeGuard.judge(admissionFor(givenRun, "b"))).toEqual({ kind: "allow" });
  });

  it("does not refuse an undo", () => {
    const policy = { ...lenientPolicy, stepsMost: () => 1 };
    expect(planSizeGuard.judge({ ...admissionFor(givenUndo("auto_exec"), "undo.send.1"), policy })).toEqual({
      kind: "allow",
    });
  });
});

describe("the policies", () => {
  const givenRun = given(accepts(plan(step("a"))));

  it("are evaluated if there are any", () => {
    expect(policyGuard.judge(admissionFor(givenRun, "a"))).toEqual({ kind: "allow" });
    const asked = { ...admissionFor(givenRun, "a"), policy: denyAllPolicy("v", "session", "it is unknown") };
    expect(policyGuard.judge(asked)).toEqual({
      kind: "refuse",
      rule: "session",
      fault: { code: "POLICY_DENIED", message: "it is unknown" },
      basis: { policy: "v", passed: [], objections: [{ rule: "session", says: "refuse", reason: "it is unknown" }] },
    });
  });

  it("loosen nothing if the policies in force are unknown", () => {
    const none = denyAllPolicy("v", "session", "it is unknown");
    expect([none.mode, none.maxSteps("auto_exec"), none.trusts(sendMail, 9), none.checks]).toEqual([
      null,
      null,
      false,
      [],
    ]);
  });
});

describe("a gate in the plan", () => {
  it("holds a step that requests it, and allows the others", () => {
    const givenRun = given(accepts(plan(step("a", { gate: "human_confirm" }), step("b"))));
    expect(requestedGateGuard.judge(admissionFor(givenRun, "a"))).toMatchObject({
      kind: "hold",
      rule: "plan_gate",
      demand: { role: null },
    });
    expect(requestedGateGuard.judge(admissionFor(givenRun, "b"))).toEqual({ kind: "allow" });
  });

  it("adds to the mode and removes nothing", () => {
    const givenRun = given(accepts(plan(step("a", { tool: sendMail, gate: "none" })), { mode: "human_gated" }));
    expect(givenRun.when(starts("a")).newEventTypes).toEqual(["gate.opened"]);
  });
});
