import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  does,
  fails,
  settles,
  sightingAbsent,
  starts,
  timesOut,
  undoes,
} from "../../testing/given/commands.ts";
import {
  hireRun,
  later,
  ledgerFact,
  noon,
  orderRun,
  plan,
  planWait,
  readPage,
  sendMail,
  step,
} from "../../testing/given/fixtures.ts";
import { type GivenRun, given, pass } from "../../testing/given/given.ts";
import { fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";
import { findStep, getStep, outcomeId, runStatus } from "./run.ts";
import { runDueAt, stepWakeAt } from "./run-wakeups.ts";

const send = step("send", { tool: sendMail });
const verifiable = step("send", { tool: { ...sendMail, verifies: true } });
const missing = fault("TOOL_MISSING", "it is not here");
const wake = (scenario: GivenRun, id: string) => stepWakeAt(scenario.run, scenario.step(id));

describe("the status of a run", () => {
  it.each([
    ["running", "a step is ready", given(accepts(plan(step("a"))))],
    ["running", "a step runs", given(accepts(plan(send))).when(starts("send"))],
    [
      "running",
      "a failed step is retried",
      given(accepts(plan(step("a")))).when(starts("a"), fails("a", "RATE_LIMIT")),
    ],
    ["running", "a doubt can be settled", given(accepts(plan(verifiable))).when(starts("send"), timesOut("send"))],
    [
      "waiting",
      "a step waits for an approval",
      given(accepts(plan(send), { mode: "human_gated" })).when(starts("send")),
    ],
    ["waiting", "only a person can settle a doubt", given(accepts(plan(send))).when(starts("send"), timesOut("send"))],
    ["waiting", "a step waits for a time", given(accepts(plan(planWait("w", { ms: 5 })))).when(starts("w"))],
    ["open", "an open run has no step to run", given(accepts(null))],
    ["completed", "every step has succeeded", given(accepts(plan(step("a")))).when(does("a"))],
  ])("is %s while %s", (status, _, scenario) => {
    expect(runStatus(scenario.run)).toBe(status);
  });
});

describe("runDueAt", () => {
  it("is the acceptance time while a step can move", () => {
    expect(runDueAt(given(accepts(plan(step("a"), planWait("w", { ms: 5 })))).when(pass(9), starts("w")).run)).toBe(
      noon,
    );
  });

  it("is the earliest timer when all steps wait", () => {
    const scenario = given(
      accepts(plan(planWait("late", { ms: 90 }), planWait("soon", { ms: 20 }), planWait("later", { ms: 50 }))),
    );
    expect(runDueAt(scenario.when(starts("late"), starts("soon"), starts("later")).run)).toBe(later(20));
  });

  it("is null when only a person can continue the run, or when it has ended", () => {
    expect(runDueAt(given(accepts(plan(send))).when(starts("send"), timesOut("send")).run)).toBeNull();
    expect(runDueAt(given(accepts(plan(step("a")))).when(does("a")).run)).toBeNull();
  });

  it("is null while the run needs a worker that meets its requirements", () => {
    const notices = [{ notice_id: "n", topic: "t", payload: null }];
    const scenario = given(accepts(plan(step("a")))).when(starts("a"), answers("a", null, { notices }));
    expect(scenario.run.ended?.status).toBe("completed");
    expect(runDueAt(scenario.run)).toBeNull();
    expect(runDueAt(given(accepts(plan(send))).when(starts("send", { parked: missing })).run)).toBeNull();
  });
});

describe("stepWakeAt", () => {
  it("is the time of the next attempt", () => {
    const scenario = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a"), fails("a", "RATE_LIMIT"));
    expect(wake(scenario, "a")).toBe(later(1000));
  });

  it("is the expiry of the gate", () => {
    const scenario = given(accepts(plan(send), { mode: "human_gated" })).when(starts("send"));
    expect(wake(scenario, "send")).toBe(scenario.gate("send").expires_at);
  });

  it("is the end of a wait, or the next check of a key that another run holds", () => {
    expect(wake(given(accepts(plan(planWait("w", { ms: 5 })))).when(starts("w")), "w")).toBe(later(5));
    const waits = given(accepts(plan(send)))
      .withLedgerFact(ledgerFact({ state: "started" }))
      .when(starts("send"));
    expect(wake(waits, "send")).toBe(later(1000));
  });

  it("is the time of the next verification", () => {
    const scenario = given(accepts(plan(verifiable))).when(starts("send"), timesOut("send"));
    expect(wake(scenario, "send")).toBeNull();
    expect(wake(scenario.when(settles("send", sightingAbsent)), "send")).toBe(later(90_000));
  });

  it("is null for a step that waits for a tool or for an undo, or that is ready", () => {
    expect(wake(given(accepts(plan(send))).when(starts("send", { parked: missing })), "send")).toBeNull();
    const tool = { ...sendMail, compensates: true };
    const scenario = given(accepts(plan(step("send", { tool })))).when(does("send"), undoes("send"));
    expect(wake(scenario, "send")).toBeNull();
    expect(wake(scenario, "undo.send.1")).toBeNull();
  });
});

describe("finding a step", () => {
  const { run } = given(accepts(plan(step("a"), step("b")))).when(starts("a"));

  it("returns the step, or undefined", () => {
    expect(findStep(run, "b" as StepId)?.index).toBe(1);
    expect(findStep(run, "c" as StepId)).toBeUndefined();
  });

  it("asserts that the step of an event exists", () => {
    expect(getStep(run, { step_id: "a" as StepId }).index).toBe(0);
    expect(() => getStep(run, { step_id: "c" as StepId })).toThrow("the run has the step of the event");
  });

  it("derives the id of its outcome from run and step", () => {
    expect(outcomeId(hireRun, "a" as StepId)).toBe("out_hire_a");
    expect(outcomeId(orderRun, "a" as StepId)).not.toBe(outcomeId(hireRun, "a" as StepId));
  });
});

describe("a run after an event", () => {
  it("lists exactly the steps that the last event made ready", () => {
    const scenario = given(accepts(plan(step("a", { gate: "human_confirm" }), step("b", { after: ["a"] }))));
    expect(scenario.run.fresh).toEqual([0]);
    expect(scenario.when(starts("a")).run.fresh).toEqual([]);
    expect(scenario.when(starts("a"), approves("a")).run.fresh).toEqual([0]);
    expect(scenario.when(starts("a"), approves("a"), does("a")).run.fresh).toEqual([1]);
  });
});
