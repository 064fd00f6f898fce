import { describe, expect, it } from "vitest";
import { accepts, does, undoes } from "../../testing/given/commands.ts";
import { later, noon, plan, sendMail, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import { fault } from "../values/fault.ts";
import type { GateId, StepId } from "../values/ids.ts";
import { isUndoStep, type NextDoubtAction, type StepPace, type StepStanding, stepPace, undoStepId } from "./step.ts";

const why = fault("TOOL_FAILED", "it failed");
const doubt = (next: NextDoubtAction): StepStanding => ({
  state: "in_doubt",
  fault: why,
  since: noon,
  doubt: { exits: { verify: true, resend_until: null, quiet_at: noon }, alive: false, absent_at: null, next },
});

const paces: readonly (readonly [StepStanding, StepPace])[] = [
  [{ state: "pending" }, "blocked"],
  [{ state: "ready" }, "moving"],
  [{ state: "running", attempt: 1, started_at: noon }, "moving"],
  [doubt({ do: "settle" }), "moving"],
  [doubt({ do: "look_again", at: later(5) }), "waiting"],
  [doubt({ do: "ask" }), "waiting"],
  [{ state: "failed_retryable", fault: why, retry_at: later(5) }, "retrying"],
  [{ state: "waiting_approval", gate_id: "gate_1" as GateId }, "waiting"],
  [{ state: "waiting", on: { for: "time", until: later(5) } }, "waiting"],
  [{ state: "compensating", undo: "undo.a.1" as StepId }, "waiting"],
  [{ state: "succeeded", output: 1, reused: null, outcome: null, at: noon }, "done"],
  [{ state: "failed_final", fault: why }, "done"],
  [{ state: "rejected", fault: why, rule: "mode" }, "done"],
  [{ state: "skipped", fault: why }, "done"],
  [{ state: "cancelled" }, "done"],
  [{ state: "compensated", confirmed: true }, "done"],
  [{ state: "compensation_failed", fault: why }, "done"],
];

describe("the pace of a step", () => {
  it.each(paces)("of %j is %s", (standing, expected) => {
    expect(stepPace(standing)).toBe(expected);
  });
});

describe("an undo", () => {
  const scenario = given(accepts(plan(step("send", { tool: { ...sendMail, compensates: true } })))).when(
    does("send"),
    undoes("send"),
  );

  it("has an id that is derived from the act and its generation", () => {
    expect(undoStepId(scenario.step("send"), 1)).toBe("undo.send.1");
    expect(undoStepId(scenario.step("send"), 2)).toBe("undo.send.2");
  });

  it("is recognised by its cause", () => {
    expect(isUndoStep(scenario.step("send"))).toBe(false);
    expect(isUndoStep(scenario.step("undo.send.1"))).toBe(true);
  });
});
