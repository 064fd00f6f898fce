import { describe, expect, it } from "vitest";
import { keepNote, plan, readPage, robin, sendMail, step } from "../../testing/given/cast.ts";
import {
  accepts,
  answers,
  approves,
  does,
  fails,
  goesUnheard,
  misshapen,
  starts,
  undoes,
} from "../../testing/given/moves.ts";
import { given, type Told } from "../../testing/given.ts";
import type { StateFact } from "../command.ts";
import { fault } from "../fault.ts";
import type { StateChange } from "../state/state-change.ts";
import type { TrustRecord } from "../trust.ts";

const version = (commit: string): StateChange => ({ project: "p", version: 1, commit, upon: null, patch: [] });
const [change, logged] = [version("all of it"), version("what was logged")];
const fact = (more: Partial<StateFact> = {}): { state: StateFact } => ({
  state: { base: 0, change, logged, quarrel: null, flaw: null, written: [], ...more },
});
const begun = (tool = keepNote): Told => given(accepts(plan(step("do", { tool })))).when(starts("do"));

describe("what a call leaves in state", () => {
  it("is all of it if it ends well", () => {
    expect(
      begun()
        .when(answers("do", 1, fact()))
        .said("step.succeeded"),
    ).toMatchObject({ base: 0, state: change });
    const nothing = begun()
      .when(answers("do", 1, fact({ change: null })))
      .said("step.succeeded");
    expect(nothing).toMatchObject({ base: 0 });
    expect(nothing).not.toHaveProperty("state");
    expect(begun(readPage).when(answers("do")).said("step.succeeded")).not.toHaveProperty("base");
  });

  it("is what it said to logs if it fails, whether or not it is tried again", () => {
    for (const code of ["POLICY_DENIED", "RATE_LIMIT"] as const) {
      const failed = begun()
        .when(fails("do", code, fact()))
        .said("step.failed");
      expect(failed).toMatchObject({ base: 0, state: logged, fault: { code } });
    }
    const flaw = fault("STATE_INVALID", "no");
    expect(
      begun()
        .when(answers("do", 1, fact({ flaw })))
        .said("step.failed"),
    ).toMatchObject({ fault: flaw, state: logged });
  });

  it("is nothing if others came first and it is run again", () => {
    const overtaken = begun()
      .when(answers("do", 1, fact({ quarrel: "/beds/north" })))
      .said("step.failed");
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

  it("does not undo an act that state does not take: it was done", () => {
    const flaw = fault("STATE_INVALID", "no room");
    const told = begun(sendMail).when(answers("do", { id: 1 }, fact({ flaw })));
    expect(told.said("step.failed")).toMatchObject({
      fault: {
        code: "STATE_AFTER_ACT",
        message: "do was done, but state does not take what it dispatched: no room",
        detail: { code: "STATE_INVALID" },
      },
      output: { id: 1 },
      state: logged,
    });
    expect(begun(sendMail).when(answers("do", { id: 1 }, fact())).types).toContain("step.succeeded");
  });

  it("is kept of an answer that is of no use, as far as it was logged", () => {
    expect(
      begun(sendMail)
        .when(answers("do", 1, { flaw: misshapen, ...fact() }))
        .said("step.failed"),
    ).toMatchObject({
      fault: misshapen,
      state: logged,
    });
  });
});

describe("what a call leaves besides", () => {
  it("is its last sign of life, for whoever tries next", () => {
    const failed = begun().when(fails("do", "RATE_LIMIT", { heartbeat: { page: 7 } }));
    expect(failed.said("step.failed")).toMatchObject({ heartbeat: { page: 7 } });
    expect(begun().when(fails("do", "RATE_LIMIT")).said("step.failed")).not.toHaveProperty("heartbeat");
    const doubted = begun(sendMail).when(goesUnheard("do", "TOOL_TIMEOUT", { heartbeat: 3 }));
    expect(doubted.step("do").heartbeat).toBe(3);
  });

  it("is how its resources were closed", () => {
    const closings = [{ resource: "files:/srv" }] as never;
    expect(
      begun()
        .when(answers("do", 1, { closings }))
        .said("step.succeeded").closings,
    ).toBe(closings);
    expect(begun().when(answers("do", 1)).said("step.succeeded")).not.toHaveProperty("closings");
  });
});

describe("trust", () => {
  const record: TrustRecord = { tally: "trust/t/robin", earned: 2, lost: { tally: "trust-lost/t/robin", times: 1 } };
  const held = (principal = robin) =>
    given(accepts(plan(step("do", { tool: sendMail, gate: "human_confirm" })), { principal })).when(
      starts("do", { record }),
    );
  const approved = held().when(approves("do"), starts("do", { record }));
  const charged = (told: Told, type: "step.succeeded" | "step.failed") => told.said(type).charges ?? [];

  it("is earned with a call that someone else approved and that ended well", () => {
    expect(charged(approved.when(answers("do")), "step.succeeded")).toEqual([{ tally: "trust/t/robin", amount: 1 }]);
    expect(charged(approved.when(answers("do", 1, { flaw: misshapen })), "step.failed")).toEqual([]);
    const flaw = fault("STATE_INVALID", "no");
    expect(charged(approved.when(answers("do", 1, fact({ flaw }))), "step.failed")).toEqual([]);
    const unknown = held().when(approves("do"), starts("do", { record: null }));
    expect(charged(unknown.when(answers("do")), "step.succeeded")).toEqual([]);
  });

  it("is not earned with a call that nobody had to approve, and that call stands on it", () => {
    const let_go = given(accepts(plan(step("do", { tool: sendMail })))).when(starts("do", { record }));
    expect(let_go.said("step.started").charges).toEqual([{ tally: "trust-lost/t/robin", amount: 0, limit: 1 }]);
    expect(charged(let_go.when(answers("do")), "step.succeeded")).toEqual([]);
    expect(approved.said("step.started")).not.toHaveProperty("charges");
  });

  it("is not earned by undoing", () => {
    const undoable = { ...sendMail, compensates: true };
    const undoing = given(accepts(plan(step("do", { tool: undoable })))).when(does("do"), undoes("do"));
    const begun = undoing.when(starts("undo.do.1", { record }));
    expect(begun.said("step.started")).not.toHaveProperty("charges");
    expect(charged(begun.when(answers("undo.do.1")), "step.succeeded")).toEqual([]);
  });
});

describe("a call that needs its resources captured", () => {
  it("asks for that when all else is settled, and before it begins", () => {
    const told = given(accepts(plan(step("do", { tool: sendMail })))).when(starts("do", { captures: "wanted" }));
    expect([told.news, told.decision.need]).toEqual([[], "captures"]);
    const held = given(accepts(plan(step("do", { tool: sendMail })), { mode: "human_gated" }));
    expect(held.when(starts("do", { captures: "wanted" })).types).toEqual(["gate.opened"]);
  });
});
