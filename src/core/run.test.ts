import { describe, expect, it } from "vitest";
import { hire, later, ledgerFact, noon, order, plan, readPage, sendMail, step, wait } from "../testing/given/cast.ts";
import {
  absent,
  accepts,
  answers,
  approves,
  does,
  fails,
  goesUnheard,
  settles,
  starts,
  undoes,
} from "../testing/given/moves.ts";
import { given, pass, type Told } from "../testing/given.ts";
import { fault } from "./fault.ts";
import type { StepId } from "./id.ts";
import { dueAt, findStep, outcomeId, statusOf, stepOf, wakeAt } from "./run.ts";

const send = step("send", { tool: sendMail });
const looks = step("send", { tool: { ...sendMail, verifies: true } });
const missing = fault("TOOL_MISSING", "it is not here");
const wake = (told: Told, id: string) => wakeAt(told.run, told.step(id));

describe("the status of a run", () => {
  it.each([
    ["running", "a step is ready", given(accepts(plan(step("a"))))],
    ["running", "a step runs", given(accepts(plan(send))).when(starts("send"))],
    ["running", "a step is tried again", given(accepts(plan(step("a")))).when(starts("a"), fails("a", "RATE_LIMIT"))],
    ["running", "a doubt can be settled", given(accepts(plan(looks))).when(starts("send"), goesUnheard("send"))],
    ["waiting", "a person decides", given(accepts(plan(send), { mode: "human_gated" })).when(starts("send"))],
    ["waiting", "only a person can tell", given(accepts(plan(send))).when(starts("send"), goesUnheard("send"))],
    ["waiting", "time must pass", given(accepts(plan(wait("w", { ms: 5 })))).when(starts("w"))],
    ["waiting", "an agent thinks", given(accepts(null))],
    ["completed", "it has ended so", given(accepts(plan(step("a")))).when(does("a"))],
  ])("is %s while %s", (status, _, told) => {
    expect(statusOf(told.run)).toBe(status);
  });
});

describe("when a run can move by itself", () => {
  it("is since its acceptance, while something moves", () => {
    expect(dueAt(given(accepts(plan(step("a"), wait("w", { ms: 5 })))).when(pass(9), starts("w")).run)).toBe(noon);
  });

  it("is at the earliest of its timers, when all else waits", () => {
    const told = given(accepts(plan(wait("late", { ms: 90 }), wait("soon", { ms: 20 }), wait("later", { ms: 50 }))));
    expect(dueAt(told.when(starts("late"), starts("soon"), starts("later")).run)).toBe(later(20));
  });

  it("is never, when only a person can move it, or when it has ended", () => {
    expect(dueAt(given(accepts(plan(send))).when(starts("send"), goesUnheard("send")).run)).toBeNull();
    expect(dueAt(given(accepts(plan(step("a")))).when(does("a")).run)).toBeNull();
  });

  it("is never, while it takes a worker that has what it needs", () => {
    const notices = [{ notice_id: "n", topic: "t", payload: null }];
    const told = given(accepts(plan(step("a")))).when(starts("a"), answers("a", null, { notices }));
    expect(told.run.ended?.status).toBe("completed");
    expect(dueAt(told.run)).toBeNull();
    expect(dueAt(given(accepts(plan(send))).when(starts("send", { parked: missing })).run)).toBeNull();
  });
});

describe("when a waiting step has something to do", () => {
  it("is when its next try is due", () => {
    const told = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a"), fails("a", "RATE_LIMIT"));
    expect(wake(told, "a")).toBe(later(1000));
  });

  it("is when its gate expires", () => {
    const told = given(accepts(plan(send), { mode: "human_gated" })).when(starts("send"));
    expect(wake(told, "send")).toBe(told.gate("send").expires_at);
  });

  it("is when its time has come, or the key of another is looked at again", () => {
    expect(wake(given(accepts(plan(wait("w", { ms: 5 })))).when(starts("w")), "w")).toBe(later(5));
    const waits = given(accepts(plan(send)))
      .hearing(ledgerFact({ state: "started" }))
      .when(starts("send"));
    expect(wake(waits, "send")).toBe(later(1000));
  });

  it("is when the world is looked at again", () => {
    const told = given(accepts(plan(looks))).when(starts("send"), goesUnheard("send"));
    expect(wake(told, "send")).toBeNull();
    expect(wake(told.when(settles("send", absent)), "send")).toBe(later(90_000));
  });

  it("is not known for what waits for a tool, for an undo or for nothing", () => {
    expect(wake(given(accepts(plan(send))).when(starts("send", { parked: missing })), "send")).toBeNull();
    const tool = { ...sendMail, compensates: true };
    const told = given(accepts(plan(step("send", { tool })))).when(does("send"), undoes("send"));
    expect(wake(told, "send")).toBeNull();
    expect(wake(told, "undo.send.1")).toBeNull();
  });
});

describe("finding a step", () => {
  const { run } = given(accepts(plan(step("a"), step("b")))).when(starts("a"));

  it("answers with it, or with nothing", () => {
    expect(findStep(run, "b" as StepId)?.index).toBe(1);
    expect(findStep(run, "c" as StepId)).toBeUndefined();
  });

  it("asserts that it is there, where a fact is about it", () => {
    expect(stepOf(run, { step_id: "a" as StepId }).index).toBe(0);
    expect(() => stepOf(run, { step_id: "c" as StepId })).toThrow("one of its steps");
  });

  it("names its outcome after run and step", () => {
    expect(outcomeId(hire, "a" as StepId)).toBe("out_hire_a");
    expect(outcomeId(order, "a" as StepId)).not.toBe(outcomeId(hire, "a" as StepId));
  });
});

describe("a run as events leave it", () => {
  it("names the steps that the last event made ready, and no others", () => {
    const told = given(accepts(plan(step("a", { gate: "human_confirm" }), step("b", { after: ["a"] }))));
    expect(told.run.fresh).toEqual([0]);
    expect(told.when(starts("a")).run.fresh).toEqual([]);
    expect(told.when(starts("a"), approves("a")).run.fresh).toEqual([0]);
    expect(told.when(starts("a"), approves("a"), does("a")).run.fresh).toEqual([1]);
  });
});
