import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  does,
  fails,
  invalidOutput,
  starts,
  timesOut,
  undoes,
} from "../../testing/given/commands.ts";
import { keepNote, plan, readPage, robin, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenRun, given } from "../../testing/given/given.ts";
import type { EarnedTrust } from "../approval/earned-trust.ts";
import type { StateChange } from "../state/state-change.ts";
import { fault } from "../values/fault.ts";
import type { StateFact } from "./command.ts";

const version = (commit: string): StateChange => ({ project: "p", version: 1, commit, upon: null, patch: [] });
const [change, logged] = [version("all of it"), version("what was logged")];
const fact = (more: Partial<StateFact> = {}): { state: StateFact } => ({
  state: { base: 0, change, logged, conflict: null, fault: null, written: [], ...more },
});
const begun = (tool = keepNote): GivenRun => given(accepts(plan(step("do", { tool })))).when(starts("do"));

describe("the state change of a call", () => {
  it("is published whole on success", () => {
    expect(
      begun()
        .when(answers("do", 1, fact()))
        .newEvent("step.succeeded"),
    ).toMatchObject({ base: 0, state: change });
    const nothing = begun()
      .when(answers("do", 1, fact({ change: null })))
      .newEvent("step.succeeded");
    expect(nothing).toMatchObject({ base: 0 });
    expect(nothing).not.toHaveProperty("state");
    expect(begun(readPage).when(answers("do")).newEvent("step.succeeded")).not.toHaveProperty("base");
  });

  it("consists of its log entries on failure, with or without a retry", () => {
    for (const code of ["POLICY_DENIED", "RATE_LIMIT"] as const) {
      const failed = begun()
        .when(fails("do", code, fact()))
        .newEvent("step.failed");
      expect(failed).toMatchObject({ base: 0, state: logged, fault: { code } });
    }
    const flaw = fault("STATE_INVALID", "no");
    expect(
      begun()
        .when(answers("do", 1, fact({ fault: flaw })))
        .newEvent("step.failed"),
    ).toMatchObject({ fault: flaw, state: logged });
  });

  it("is empty after a state conflict with a retry", () => {
    const overtaken = begun()
      .when(answers("do", 1, fact({ conflict: "/beds/north" })))
      .newEvent("step.failed");
    expect(overtaken).toMatchObject({
      base: 0,
      fault: {
        code: "STATE_CONFLICT",
        message: "/beds/north was changed by others while do worked with it; it is run again",
      },
    });
    expect(overtaken.retry_at).not.toBeNull();
    expect(overtaken).not.toHaveProperty("state");
  });

  it("does not undo an act if it is invalid: the act happened", () => {
    const flaw = fault("STATE_INVALID", "no room");
    const scenario = begun(sendMail).when(answers("do", { id: 1 }, fact({ fault: flaw })));
    expect(scenario.newEvent("step.failed")).toMatchObject({
      fault: {
        code: "STATE_AFTER_ACT",
        message: "do was done, but its state change is invalid: no room",
        detail: { code: "STATE_INVALID" },
      },
      output: { id: 1 },
      state: logged,
    });
    expect(begun(sendMail).when(answers("do", { id: 1 }, fact())).newEventTypes).toContain("step.succeeded");
  });

  it("consists of its log entries if the output is invalid", () => {
    expect(
      begun(sendMail)
        .when(answers("do", 1, { flaw: invalidOutput, ...fact() }))
        .newEvent("step.failed"),
    ).toMatchObject({
      fault: invalidOutput,
      state: logged,
    });
  });
});

describe("the end of a call", () => {
  it("records the last heartbeat for the next attempt", () => {
    const failed = begun().when(fails("do", "RATE_LIMIT", { heartbeat: { page: 7 } }));
    expect(failed.newEvent("step.failed")).toMatchObject({ heartbeat: { page: 7 } });
    expect(begun().when(fails("do", "RATE_LIMIT")).newEvent("step.failed")).not.toHaveProperty("heartbeat");
    const doubted = begun(sendMail).when(timesOut("do", "TOOL_TIMEOUT", { heartbeat: 3 }));
    expect(doubted.step("do").heartbeat).toBe(3);
  });

  it("records the closings of its resources", () => {
    const closings = [{ resource: "files:/srv" }] as never;
    expect(
      begun()
        .when(answers("do", 1, { closings }))
        .newEvent("step.succeeded").closings,
    ).toBe(closings);
    expect(begun().when(answers("do", 1)).newEvent("step.succeeded")).not.toHaveProperty("closings");
  });
});

describe("trust", () => {
  const record: EarnedTrust = { tally: "trust/t/robin", earned: 2, lost: { tally: "trust-lost/t/robin", times: 1 } };
  const held = (principal = robin) =>
    given(accepts(plan(step("do", { tool: sendMail, gate: "human_confirm" })), { principal })).when(
      starts("do", { record }),
    );
  const approved = held().when(approves("do"), starts("do", { record }));
  const charged = (scenario: GivenRun, type: "step.succeeded" | "step.failed") => scenario.newEvent(type).charges ?? [];

  it("is earned with a successful call that another person approved", () => {
    expect(charged(approved.when(answers("do")), "step.succeeded")).toEqual([{ tally: "trust/t/robin", amount: 1 }]);
    expect(charged(approved.when(answers("do", 1, { flaw: invalidOutput })), "step.failed")).toEqual([]);
    const flaw = fault("STATE_INVALID", "no");
    expect(charged(approved.when(answers("do", 1, fact({ fault: flaw }))), "step.failed")).toEqual([]);
    const unknown = held().when(approves("do"), starts("do", { record: null }));
    expect(charged(unknown.when(answers("do")), "step.succeeded")).toEqual([]);
  });

  it("is not earned with a call that ran without approval on earned trust", () => {
    const let_go = given(accepts(plan(step("do", { tool: sendMail })))).when(starts("do", { record }));
    expect(let_go.newEvent("step.started").charges).toEqual([{ tally: "trust-lost/t/robin", amount: 0, limit: 1 }]);
    expect(charged(let_go.when(answers("do")), "step.succeeded")).toEqual([]);
    expect(approved.newEvent("step.started")).not.toHaveProperty("charges");
  });

  it("is not earned with an undo", () => {
    const undoable = { ...sendMail, compensates: true };
    const undoing = given(accepts(plan(step("do", { tool: undoable })))).when(does("do"), undoes("do"));
    const begun = undoing.when(starts("undo.do.1", { record }));
    expect(begun.newEvent("step.started")).not.toHaveProperty("charges");
    expect(charged(begun.when(answers("undo.do.1")), "step.succeeded")).toEqual([]);
  });
});

describe("a call that needs its resources captured", () => {
  it("asks for the captures last, before it starts", () => {
    const scenario = given(accepts(plan(step("do", { tool: sendMail })))).when(starts("do", { captures: "wanted" }));
    expect([scenario.newEvents, scenario.decision.need]).toEqual([[], "captures"]);
    const held = given(accepts(plan(step("do", { tool: sendMail })), { mode: "human_gated" }));
    expect(held.when(starts("do", { captures: "wanted" })).newEventTypes).toEqual(["gate.opened"]);
  });
});
