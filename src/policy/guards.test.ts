import { describe, expect, it } from "vitest";
import type { Mode } from "../core/effect.ts";
import type { Expression } from "../core/expression.ts";
import { fault } from "../core/fault.ts";
import type { Json } from "../core/json/json.ts";
import { attenuated, type Capability } from "../core/principal.ts";
import { cel } from "../expression/cel.ts";
import { admission, lenient, undoing } from "../testing/given/admission.ts";
import { claim, later, type noon, plan, robin, sendMail, step, wait } from "../testing/given/cast.ts";
import { accepts, does, starts } from "../testing/given/moves.ts";
import { given, type Told } from "../testing/given.ts";
import { capable } from "./capable.ts";
import { variables } from "./case.ts";
import { deadline } from "./deadline.ts";
import { standingGuards } from "./guards.ts";
import { inputFits } from "./input-fits.ts";
import { planGate } from "./plan-gate.ts";
import { planSize } from "./plan-size.ts";
import { policies } from "./policies.ts";
import { preconditions } from "./preconditions.ts";
import { refusesAll } from "./refuses-all.ts";
import { roleFits } from "./role-fits.ts";
import { toolConditions } from "./tool-conditions.ts";
import { toolKnown } from "./tool-known.ts";

describe("the standing guards", () => {
  it("stand in the order of the road, each under its own name", () => {
    expect(standingGuards.map(({ id }) => id)).toEqual([
      "project_open",
      "tool_known",
      "capability",
      "roles",
      "input_fits",
      "preconditions",
      "tool_conditions",
      "policies",
      "mode",
      "deadline",
      "plan_size",
      "plan_gate",
      "fork_acts",
    ]);
  });
});

describe("a tool that nobody registered", () => {
  it("is refused, and only for steps that call one", () => {
    const told = given(accepts(plan(step("a"), step("w", { kind: "wait", payload: { ms: 1 } }))));
    expect(toolKnown.judge(admission(told, "a", { tool: null }))).toMatchObject({
      kind: "refuse",
      fault: { code: "TOOL_UNKNOWN" },
    });
    expect(toolKnown.judge(admission(told, "a"))).toEqual({ kind: "allow" });
    expect(toolKnown.judge(admission(told, "w", { tool: null }))).toEqual({ kind: "allow" });
  });
});

describe("what a principal was given to do", () => {
  const may = (id: string, ...capabilities: readonly Capability[]) => {
    const principal = { ...robin, capabilities };
    const told = given(accepts(plan(step("a", { tool: sendMail }), step("b"), wait("w", { ms: 1 })), { principal }));
    return capable.judge(admission(told, id));
  };

  it("is anything, where nothing is said", () => {
    expect(may("a")).toEqual({ kind: "allow" });
    expect(may("a", {})).toEqual({ kind: "allow" });
    expect(may("a", { tools: {} })).toEqual({ kind: "allow" });
  });

  it("is what is allowed and not denied", () => {
    expect(may("a", { tools: { allow: ["mail.*"] } }).kind).toBe("allow");
    expect(may("a", { tools: { allow: ["page.*", "sums.add"] } })).toMatchObject({
      kind: "refuse",
      rule: "capability",
      fault: { code: "AUTH_FORBIDDEN", message: "robin may not run a: mail.send is not among what it may call" },
    });
    expect(may("a", { tools: { allow: ["mail.*"], deny: ["*.send"] } })).toMatchObject({
      fault: { message: "robin may not run a: mail.send is denied to it" },
    });
    expect(may("b", { tools: { deny: ["*.send"] } }).kind).toBe("allow");
    expect(may("b", { tools: { allow: [] } }).kind).toBe("refuse");
  });

  it("is the first so many steps of a run", () => {
    expect(may("a", { max_actions: 1 }).kind).toBe("allow");
    expect(may("b", { max_actions: 1 })).toMatchObject({
      fault: { message: "robin may not run b: it may take 1 steps in a run" },
    });
    expect(may("a", { max_actions: 0 }).kind).toBe("refuse");
  });

  it("only becomes less when something is added", () => {
    const all = { ...robin, capabilities: [{ tools: { allow: ["mail.*"] } }] };
    const less = attenuated(attenuated(all, { tools: { allow: ["*"] } }), { max_actions: 5 });
    expect(less.capabilities).toEqual([
      { tools: { allow: ["mail.*"] } },
      { tools: { allow: ["*"] } },
      { max_actions: 5 },
    ]);
    expect(may("a", ...less.capabilities).kind).toBe("allow");
    expect(may("b", ...less.capabilities).kind).toBe("refuse");
    expect(attenuated(robin, { max_actions: 1 }).capabilities).toEqual([{ max_actions: 1 }]);
  });

  it("is about calls, and not about undoing them", () => {
    expect(may("w", { tools: { allow: [] } })).toEqual({ kind: "allow" });
    const told = undoing("auto_exec", { principal: { ...robin, capabilities: [{ max_actions: 1 }] } });
    expect(capable.judge(admission(told, "undo.send.1"))).toEqual({ kind: "allow" });
  });
});

describe("the roles of a tool", () => {
  const judged = (roles: readonly string[] | undefined, wanted: readonly string[], tool = sendMail) => {
    const principal = { ...robin, ...(roles && { roles }) };
    const told = given(accepts(plan(step("a", { tool: { ...tool, roles: wanted } })), { principal }));
    return roleFits.judge(admission(told, "a"));
  };

  it("are needed by whoever calls it, one of them", () => {
    expect(judged(undefined, []).kind).toBe("allow");
    expect(judged(["b"], ["a", "b"]).kind).toBe("allow");
    expect(judged(["c"], ["a", "b"])).toMatchObject({
      kind: "refuse",
      rule: "roles",
      fault: { code: "AUTH_FORBIDDEN", message: "robin has none of the roles that may call mail.send: a, b" },
    });
    expect(judged(undefined, ["a"]).kind).toBe("refuse");
  });

  it("are not needed to undo, nor by what calls nothing", () => {
    const told = undoing("auto_exec");
    const tool = { ...sendMail, roles: ["a"] };
    expect(roleFits.judge(admission(told, "undo.send.1", { tool }))).toEqual({ kind: "allow" });
    expect(roleFits.judge(admission(told, "send", { tool })).kind).toBe("refuse");
    expect(roleFits.judge(admission(told, "send", { tool: null }))).toEqual({ kind: "allow" });
  });
});

describe("an input that does not fit", () => {
  it("is refused with what was found wrong", () => {
    const told = given(accepts(plan(step("a"))));
    const flaw = fault("INVALID_INPUT", "to is missing");
    expect(inputFits.judge(admission(told, "a", { flaw }))).toEqual({
      kind: "refuse",
      rule: "input_fits",
      fault: flaw,
    });
    expect(inputFits.judge(admission(told, "a"))).toEqual({ kind: "allow" });
  });
});

describe("preconditions", () => {
  const needs = step("b", {
    after: ["a"],
    preconditions: [claim("a", "/ok", "eq", true), claim("a", "/n", "gt", 3)],
  });
  const told = (output: object) => given(accepts(plan(step("a"), needs))).when(does("a", output as never));

  it("allow what they all hold for", () => {
    expect(preconditions.judge(admission(told({ ok: true, n: 4 }), "b"))).toEqual({ kind: "allow" });
  });

  it("refuse with the first that does not hold", () => {
    expect(preconditions.judge(admission(told({ ok: true, n: 3 }), "b"))).toMatchObject({
      kind: "refuse",
      rule: "preconditions",
      fault: { code: "PRECONDITION_FAILED", message: "b needs a/n gt 3, which does not hold; it was not run" },
    });
  });

  it("do not hold for what has not succeeded, nor for what is not there", () => {
    const early = given(accepts(plan(step("a"), { ...needs, depends_on: [] })));
    expect(preconditions.judge(admission(early, "b")).kind).toBe("refuse");
    const stray = given(accepts(plan({ ...needs, depends_on: [] })));
    expect(preconditions.judge(admission(stray, "b")).kind).toBe("refuse");
  });
});

describe("what a tool asks of every call", () => {
  const read = (id: string, source: string) => ({ id, expression: cel.read(source, variables) as Expression });
  const tool = { ...sendMail, conditions: [read("small", "input.amount < 10"), read("named", "has(input.to)")] };
  const judged = (input: Json) => {
    const told = given(accepts(plan(step("a", { tool }))));
    return toolConditions.judge(admission(told, "a", { input }));
  };

  it("has to hold, all of it, and what has no answer does not", () => {
    expect(judged({ amount: 9, to: "ana" })).toEqual({ kind: "allow" });
    expect(judged({ amount: 10, to: "ana" })).toMatchObject({
      kind: "refuse",
      rule: "tool_conditions/small",
      fault: {
        code: "PRECONDITION_FAILED",
        message: "a was not run: mail.send needs input.amount < 10, which does not hold",
      },
    });
    expect(judged({ amount: 9 })).toMatchObject({ rule: "tool_conditions/named" });
    expect(judged({ to: "ana" })).toMatchObject({
      fault: {
        message:
          'a was not run: mail.send needs input.amount < 10, which cannot be answered: there is no "amount" in an object',
      },
    });
  });

  it("is nothing where it says nothing, where nothing is called, and where something is undone", () => {
    const told = undoing("auto_exec");
    expect(toolConditions.judge(admission(told, "send"))).toEqual({ kind: "allow" });
    expect(toolConditions.judge(admission(told, "send", { tool: null }))).toEqual({ kind: "allow" });
    expect(toolConditions.judge(admission(told, "undo.send.1", { tool, input: {} }))).toEqual({ kind: "allow" });
    expect(toolConditions.judge(admission(told, "send", { tool, input: {} })).kind).toBe("refuse");
  });
});

describe("the deadline of a run", () => {
  const judged = (told: Told, id: string, now: number) =>
    deadline.judge({ ...admission(told, id), now: now as typeof noon }).kind;

  it("refuses what starts at it or after it", () => {
    const told = given(accepts(plan(step("a")), { deadline_at: later(1000) }));
    expect(judged(told, "a", later(999))).toBe("allow");
    expect(judged(told, "a", later(1000))).toBe("refuse");
    expect(judged(given(accepts(plan(step("a")))), "a", later(1e12))).toBe("allow");
  });

  it("does not keep anything from being undone", () => {
    expect(judged(undoing("auto_exec", { deadline_at: later(1) }), "undo.send.1", later(1000))).toBe("allow");
  });
});

describe("how many steps a run may have", () => {
  const told = given(accepts(plan(step("a"), step("b")), { mode: "auto_exec" }));
  const judged = (id: string, most: Partial<Record<Mode, number>>, mode: Mode | null = null) =>
    planSize.judge({
      ...admission(told, id),
      policy: { ...lenient, mode, stepsMost: (of) => most[of] ?? null },
    });

  it("is said for each mode", () => {
    expect(judged("b", { auto_exec: 2 })).toEqual({ kind: "allow" });
    expect(judged("a", { auto_exec: 1 })).toEqual({ kind: "allow" });
    expect(judged("b", { auto_exec: 1 })).toMatchObject({
      kind: "refuse",
      rule: "plan_size",
      fault: {
        code: "LIMIT_EXCEEDED",
        message: "b is step 2, and a run in mode auto_exec may have 1; take fewer, or ask for another mode",
      },
    });
    expect(judged("b", { human_gated: 1 })).toEqual({ kind: "allow" });
    expect(judged("b", { human_gated: 1 }, "human_gated").kind).toBe("refuse");
    expect(planSize.judge(admission(told, "b"))).toEqual({ kind: "allow" });
  });

  it("keeps nothing from being undone", () => {
    const policy = { ...lenient, stepsMost: () => 1 };
    expect(planSize.judge({ ...admission(undoing("auto_exec"), "undo.send.1"), policy })).toEqual({ kind: "allow" });
  });
});

describe("the policies", () => {
  const told = given(accepts(plan(step("a"))));

  it("are asked where there are any", () => {
    expect(policies.judge(admission(told, "a"))).toEqual({ kind: "allow" });
    const asked = { ...admission(told, "a"), policy: refusesAll("v", "session", "nobody knows it") };
    expect(policies.judge(asked)).toEqual({
      kind: "refuse",
      rule: "session",
      fault: { code: "POLICY_DENIED", message: "nobody knows it" },
      basis: { policy: "v", passed: [], objections: [{ rule: "session", says: "refuse", reason: "nobody knows it" }] },
    });
  });

  it("make nothing easier where nobody knows what is in force", () => {
    const none = refusesAll("v", "session", "nobody knows it");
    expect([none.mode, none.stepsMost("auto_exec"), none.trusts(sendMail, 9), none.checks]).toEqual([
      null,
      null,
      false,
      [],
    ]);
  });
});

describe("a gate in the plan", () => {
  it("holds any step that asks for it, and allows the others", () => {
    const told = given(accepts(plan(step("a", { gate: "human_confirm" }), step("b"))));
    expect(planGate.judge(admission(told, "a"))).toMatchObject({
      kind: "hold",
      rule: "plan_gate",
      demand: { role: null },
    });
    expect(planGate.judge(admission(told, "b"))).toEqual({ kind: "allow" });
  });

  it("adds to what the mode asks for and never takes away", () => {
    const told = given(accepts(plan(step("a", { tool: sendMail, gate: "none" })), { mode: "human_gated" }));
    expect(told.when(starts("a")).types).toEqual(["gate.opened"]);
  });
});
