import { describe, expect, it } from "vitest";
import { accepts, does, fails, resumes, starts } from "../../testing/given/commands.ts";
import { noon, plan, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenRun, given } from "../../testing/given/given.ts";
import type { Sighting, Tool } from "../tool/tool.ts";
import type { StepId } from "../values/ids.ts";
import { actsToConfirm } from "./reliance-on-acts.ts";

const strict = { ...sendMail, verifies: true, confirm: "strict" } as const;

/** The step `b` failed after the act `send`, and the run was resumed. */
function resumedRun(confirm: Tool["confirm"], after: readonly string[] = ["send"]): GivenRun {
  const steps = [step("send", { tool: { ...strict, confirm } }), step("b", { tool: readPage, after })];
  return given(accepts(plan(...steps))).when(does("send"), starts("b"), fails("b"), resumes);
}

const verifies =
  (sighting: Sighting | null, by: string | null = null) =>
  ({ now }: GivenRun) =>
    ({ type: "verify", now, by, reason: "", seen: [{ step_id: "send" as StepId, sighting }] }) as const;

const absent = { saw: "absent" } as const;
const there = { saw: "happened", output: null } as const;

describe("a step that relies on a recorded act", () => {
  it("asks for its confirmation after a resume, and starts after it is confirmed", () => {
    const asked = resumedRun("strict").when(starts("b"));
    expect(asked.decision.need).toBe("confirmation");
    expect(actsToConfirm(asked.run, asked.step("b"), 0)).toEqual(["send"]);
    const confirmed = asked.when(verifies(there), starts("b"));
    expect(confirmed.decision).toMatchObject({ need: null, grant: { step_id: "b" } });
  });

  it("asks for nothing without a resume, unless this process did not see the act happen", () => {
    const scenario = given(accepts(plan(step("send", { tool: strict }), step("b", { after: ["send"] })))).when(
      does("send"),
    );
    expect(scenario.when(starts("b")).decision.need).toBeNull();
    const { position } = scenario.run;
    expect(scenario.when(starts("b", { loaded: position })).decision.need).toBe("confirmation");
    const confirmed = scenario.when(verifies(there));
    expect(confirmed.when(starts("b", { loaded: position })).decision.need).toBeNull();
    expect(confirmed.when(starts("b", { loaded: position + 1 })).decision.need).toBe("confirmation");
  });

  it("asks for nothing if it does not depend on the act, or if the tool does not demand it", () => {
    expect(resumedRun("strict", []).when(starts("b")).decision.need).toBeNull();
    expect(resumedRun("none").when(starts("b")).decision.need).toBeNull();
  });

  it("is rejected, held or started if the act is missing, as the tool demands", () => {
    const missing = (confirm: Tool["confirm"]) => resumedRun(confirm).when(verifies(absent), starts("b"));
    expect(missing("strict").newEvent("step.rejected")).toMatchObject({
      rule: "confirm",
      fault: { code: "CONFIRMATION_FAILED" },
    });
    expect(missing("warn").decision).toMatchObject({ need: null, grant: { step_id: "b" } });
    expect(missing("gate").decision.need).toBe("call");
  });
});

describe("a verification", () => {
  it("that a principal requests is recorded, also without acts, and an unknown answer changes no finding", () => {
    const before = resumedRun("strict").when(verifies(there));
    const unknown = before.when(verifies({ saw: "unknown" }, "ana"));
    expect(unknown.newEvent("run.verified")).toEqual({
      type: "run.verified",
      at: noon,
      by: "ana",
      reason: "",
      acts: [{ step_id: "send", tool: "mail.send", found: "unknown", why: null }],
    });
    expect(unknown.step("send").act?.verified).toEqual(before.step("send").act?.verified);
    expect(before.when(verifies(absent, "ana")).step("send").act?.verified?.found).toBe("missing");
  });

  it("leaves out an act that is not recorded as done", () => {
    const ready = given(accepts(plan(step("send", { tool: strict }))));
    expect(ready.when(verifies(there)).decision.events).toEqual([]);
    expect(ready.when(verifies(there, "ana")).newEvent("run.verified").acts).toEqual([]);
  });
});
