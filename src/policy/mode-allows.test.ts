import { describe, expect, it } from "vitest";
import type { Mode } from "../core/effect.ts";
import type { Policy, Verdict } from "../core/guard.ts";
import type { ToolFacts } from "../core/proposal.ts";
import { admission, lenient, undoing } from "../testing/given/admission.ts";
import { addUp, keepNote, plan, readPage, sendMail, step } from "../testing/given/cast.ts";
import { accepts, starts } from "../testing/given/moves.ts";
import { given } from "../testing/given.ts";
import { modeAllows } from "./mode-allows.ts";

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

  it("holds what is of high risk, though the run may go by itself, unless someone trusts it", () => {
    const risky = { ...sendMail, risk: "high" } as const;
    expect(verdict("auto_exec", risky)).toBe("hold");
    const told = given(accepts(plan(step("do", { tool: risky })), { mode: "auto_exec" }));
    expect(modeAllows.judge(admission(told, "do"))).toEqual({
      kind: "hold",
      rule: "mode",
      reason: "mail.send is of high risk, and nobody has said that it may act by itself",
      demand: { role: null },
    });
    expect(verdict("auto_exec", { ...sendMail, risk: "medium" })).toBe("allow");
    expect(verdict("auto_exec", risky, true)).toBe("allow");
    expect(verdict("auto_exec", { ...addUp, risk: "high" })).toBe("allow");
  });

  it("is the stricter of the run's and the policy's, and a policy may trust", () => {
    const told = given(accepts(plan(step("do", { tool: sendMail })), { mode: "human_gated" }));
    const under = (policy: Partial<Policy>) =>
      modeAllows.judge({ ...admission(told, "do"), policy: { ...lenient, ...policy } }).kind;
    expect(under({})).toBe("hold");
    expect(under({ mode: "auto_exec" })).toBe("hold");
    expect(under({ mode: "draft_only" })).toBe("refuse");
    expect(under({ trusts: ({ name }) => name === "mail.send" })).toBe("allow");
    expect(under({ mode: "draft_only", trusts: () => true })).toBe("refuse");
    const unknown = {
      ...admission(told, "do", { tool: null, effect: "acts" }),
      policy: { ...lenient, trusts: () => true },
    };
    expect(modeAllows.judge(unknown).kind).toBe("hold");
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
