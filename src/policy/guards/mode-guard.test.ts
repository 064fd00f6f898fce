import { describe, expect, it } from "vitest";
import type { Policy, Verdict } from "../../core/call/guard.ts";
import type { ToolFacts } from "../../core/call/proposal.ts";
import type { Mode } from "../../core/values/effect.ts";
import { admissionFor, givenUndo, lenientPolicy } from "../../testing/given/admission.ts";
import { accepts, starts } from "../../testing/given/commands.ts";
import { addUp, keepNote, plan, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import { modeGuard } from "./mode-guard.ts";

describe("the mode of a run", () => {
  const verdict = (mode: Mode, tool: ToolFacts, trusted = false): Verdict["kind"] => {
    const givenRun = given(accepts(plan(step("do", { tool })), { mode }));
    return modeGuard.judge(admissionFor(givenRun, "do", { trusted })).kind;
  };

  it.each([
    ["dry_run", "refuse"],
    ["draft_only", "refuse"],
    ["human_gated", "hold"],
    ["auto_exec", "allow"],
  ] as const)("%s: the verdict on an act is %s, and other calls are allowed", (mode, answer) => {
    expect(verdict(mode, sendMail)).toBe(answer);
    for (const tool of [addUp, readPage, keepNote]) expect(verdict(mode, tool)).toBe("allow");
  });

  it("allows a trusted tool where it would hold the call, and still refuses it in the stricter modes", () => {
    expect(verdict("human_gated", sendMail, true)).toBe("allow");
    expect(verdict("draft_only", sendMail, true)).toBe("refuse");
    expect(verdict("dry_run", sendMail, true)).toBe("refuse");
  });

  it("holds an act of high risk in auto_exec unless the tool is trusted", () => {
    const risky = { ...sendMail, risk: "high" } as const;
    expect(verdict("auto_exec", risky)).toBe("hold");
    const givenRun = given(accepts(plan(step("do", { tool: risky })), { mode: "auto_exec" }));
    expect(modeGuard.judge(admissionFor(givenRun, "do"))).toEqual({
      kind: "hold",
      rule: "mode",
      reason: "mail.send has a high risk, and no policy trusts it",
      demand: { role: null },
    });
    expect(verdict("auto_exec", { ...sendMail, risk: "medium" })).toBe("allow");
    expect(verdict("auto_exec", risky, true)).toBe("allow");
    expect(verdict("auto_exec", { ...addUp, risk: "high" })).toBe("allow");
  });

  it.each([
    ["dry_run", "allow"],
    ["draft_only", "allow"],
    ["human_gated", "hold"],
    ["auto_exec", "hold"],
  ] as const)("%s: the verdict on a write of high risk is %s unless the tool is trusted", (mode, answer) => {
    const risky = { ...keepNote, risk: "high" } as const;
    expect(verdict(mode, risky)).toBe(answer);
    expect(verdict(mode, risky, true)).toBe("allow");
    expect(verdict(mode, { ...readPage, risk: "high" })).toBe("allow");
  });

  it("is the stricter of the modes of run and policy, and a policy may trust a tool", () => {
    const givenRun = given(accepts(plan(step("do", { tool: sendMail })), { mode: "human_gated" }));
    const under = (policy: Partial<Policy>) =>
      modeGuard.judge({ ...admissionFor(givenRun, "do"), policy: { ...lenientPolicy, ...policy } }).kind;
    expect(under({})).toBe("hold");
    expect(under({ mode: "auto_exec" })).toBe("hold");
    expect(under({ mode: "draft_only" })).toBe("refuse");
    expect(under({ trusts: ({ name }) => name === "mail.send" })).toBe("allow");
    expect(under({ mode: "draft_only", trusts: () => true })).toBe("refuse");
    const unknown = {
      ...admissionFor(givenRun, "do", { tool: null, effect: "acts" }),
      policy: { ...lenientPolicy, trusts: () => true },
    };
    expect(modeGuard.judge(unknown).kind).toBe("hold");
  });

  it("uses the effect of the step, not of the tool", () => {
    const givenRun = given(accepts(plan(step("do", { tool: addUp })), { mode: "draft_only" }));
    expect(modeGuard.judge(admissionFor(givenRun, "do", { effect: "acts" }))).toMatchObject({
      fault: { code: "MODE_FORBIDS" },
    });
  });

  it.each(["dry_run", "draft_only", "human_gated", "auto_exec"] as const)(
    "%s: allows an undo that a person requested",
    (mode) => {
      const givenRun = givenUndo("auto_exec");
      const other = { ...admissionFor(givenRun, "undo.send.1"), run: { ...givenRun.run, mode } };
      expect(modeGuard.judge(other)).toEqual({ kind: "allow" });
    },
  );

  it("refuses an unknown mode", () => {
    const givenRun = given(accepts(plan(step("do", { tool: sendMail })), { mode: "yolo" as Mode }));
    expect(givenRun.when(starts("do")).newEvent("step.rejected")).toMatchObject({
      rule: "mode",
      fault: { code: "POLICY_DENIED" },
    });
  });
});
