import { describe, expect, it } from "vitest";
import type { Effect, Mode } from "../core/effect.ts";
import { fault } from "../core/fault.ts";
import type { Admission, Verdict } from "../core/guard.ts";
import type { Proposal, ToolFacts } from "../core/proposal.ts";
import { addUp, claim, keepNote, later, type noon, plan, readPage, sendMail, step } from "../testing/given/cast.ts";
import { accepts, does, starts, undoes } from "../testing/given/moves.ts";
import { given, type Told } from "../testing/given.ts";
import { deadline } from "./deadline.ts";
import { standingGuards } from "./guards.ts";
import { inputFits } from "./input-fits.ts";
import { modeAllows } from "./mode-allows.ts";
import { planGate } from "./plan-gate.ts";
import { preconditions } from "./preconditions.ts";
import { toolKnown } from "./tool-known.ts";

/** What a guard is shown of a step, with a tool and at a time. */
function admission(told: Told, id: string, wish: Partial<Proposal> & { effect?: Effect } = {}): Admission {
  const { effect = told.step(id).spec.effect, ...rest } = wish;
  const proposal = { tool: told.tool(id), flaw: null, trusted: false, ...rest } as Proposal;
  return { run: told.run, step: told.step(id), proposal, effect, now: told.now };
}

const undoing = (mode: Mode, more = {}): Told => {
  const tool = { ...sendMail, compensates: true };
  return given(accepts(plan(step("send", { tool })), { mode, ...more })).when(does("send"), undoes("send"));
};

describe("the standing guards", () => {
  it("stand in the order of the road, each under its own name", () => {
    expect(standingGuards.map(({ id }) => id)).toEqual([
      "tool_known",
      "input_fits",
      "preconditions",
      "mode",
      "deadline",
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

describe("the mode of a run", () => {
  const verdict = (mode: Mode, tool: ToolFacts, trusted = false): Verdict["kind"] => {
    const told = given(accepts(plan(step("do", { tool })), { mode }));
    return modeAllows.judge(admission(told, "do", { trusted })).kind;
  };

  it.each([
    ["dry_run", "refuse"],
    ["draft_only", "refuse"],
    ["human_gated", "hold"],
    ["auto_exec", "allow"],
  ] as const)("%s: acts are answered with %s, all else is allowed", (mode, answer) => {
    expect(verdict(mode, sendMail)).toBe(answer);
    for (const tool of [addUp, readPage, keepNote]) expect(verdict(mode, tool)).toBe("allow");
  });

  it("lets a policy of the tenant trust a tool, where a person would be asked and nowhere else", () => {
    expect(verdict("human_gated", sendMail, true)).toBe("allow");
    expect(verdict("draft_only", sendMail, true)).toBe("refuse");
    expect(verdict("dry_run", sendMail, true)).toBe("refuse");
  });

  it("goes by the worst that the step does, not by what its tool says", () => {
    const told = given(accepts(plan(step("do", { tool: addUp })), { mode: "draft_only" }));
    expect(modeAllows.judge(admission(told, "do", { effect: "acts" }))).toMatchObject({
      fault: { code: "MODE_FORBIDS" },
    });
  });

  it.each(["dry_run", "draft_only", "human_gated", "auto_exec"] as const)("%s: lets a person's undo pass", (mode) => {
    const told = undoing("auto_exec");
    const other = { ...admission(told, "undo.send.1"), run: { ...told.run, mode } };
    expect(modeAllows.judge(other)).toEqual({ kind: "allow" });
  });

  it("refuses what is no mode", () => {
    const told = given(accepts(plan(step("do", { tool: sendMail })), { mode: "yolo" as Mode }));
    expect(told.when(starts("do")).said("step.rejected")).toMatchObject({
      rule: "mode",
      fault: { code: "POLICY_DENIED" },
    });
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
