import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  cancels,
  closes,
  delivers,
  does,
  fails,
  invalidOutput,
  proposes,
  resolves,
  resumes,
  saysNotDone,
  starts,
  timesOut,
  undoes,
  wakes,
} from "../../testing/given/commands.ts";
import {
  acme,
  cost,
  fakeKey,
  hireRun,
  later,
  noon,
  plan,
  planWait,
  readPage,
  robin,
  sendMail,
  step,
} from "../../testing/given/fixtures.ts";
import { given, pass } from "../../testing/given/given.ts";
import type { Event } from "../event/event.ts";
import { evolve } from "../evolve/evolve.ts";
import { runStatus } from "../run/run.ts";
import { fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";
import type { CommandOf } from "./command.ts";

type Inherited = NonNullable<CommandOf<"accept">["inherited"]>[number];

const undoable = { ...sendMail, compensates: true };

describe("a restore of state", () => {
  const back = (wish: object) =>
    given(accepts(null)).when({
      type: "restore",
      now: noon,
      principal: robin,
      reason: "mistaken",
      to: 3,
      state: { fault: null, change: null },
      files: null,
      ...wish,
    });
  const change = { project: "p", version: 1, commit: "c", upon: null, patch: [] };
  const files = { captures: [], closings: [] };

  it("is recorded with the restored state and resources", () => {
    const fields = { by: "robin", reason: "mistaken", to: 3, at: noon };
    expect(back({ state: { fault: null, change } }).newEvent("state.restored")).toEqual({
      type: "state.restored",
      ...fields,
      state: change,
    });
    expect(back({ files }).newEvent("state.restored")).toEqual({ type: "state.restored", ...fields, ...files });
  });

  it("records nothing if nothing differs, and is refused if it is not possible", () => {
    expect(back({}).newEvents).toEqual([]);
    const flaw = fault("SLICE_CHANGED", "no");
    const refused = back({ state: { fault: flaw, change } });
    expect([refused.newEvents, refused.decision.refusal]).toEqual([[], flaw]);
  });
});

describe("the acceptance of a run", () => {
  it("is the first event and contains the whole request", () => {
    const scenario = given(accepts(plan(step("a")), { context: { case: 7 }, deadline_at: later(5) }));
    expect(scenario.newEvent("run.accepted")).toMatchObject({
      run_id: hireRun,
      tenant: acme,
      principal: robin,
      context: { case: 7 },
    });
    expect(scenario.run).toMatchObject({
      id: hireRun,
      position: 1,
      accepted_at: noon,
      deadline_at: later(5),
      open: false,
    });
  });

  it("of a fork records the inherited steps as succeeded", () => {
    const done = { step_id: "a" as StepId, output: { n: 1 } };
    const scenario = given(
      accepts(plan(step("a"), step("b", { after: ["a"] })), { inherited: [done as unknown as Inherited] }),
    );
    expect(scenario.newEventTypes).toEqual(["run.accepted", "step.succeeded"]);
    expect(scenario.newEvent("step.succeeded")).toMatchObject({ ...done, attempt: 0, started_at: noon, at: noon });
    expect(scenario.states).toEqual({ a: "succeeded", b: "ready" });
  });

  it("of a cancelled run starts nothing", () => {
    const scenario = given(accepts(plan(step("a")), { cancelled: "never mind" }));
    expect(scenario.newEvent("cancel.requested")).toMatchObject({ by: "robin", reason: "never mind", at: noon });
    expect(runStatus(scenario.run)).toBe("cancelled");
  });

  it("is recorded once, also if it is requested again", () => {
    expect(given(accepts(plan(step("a")))).when(accepts(plan(step("b")))).newEvents).toEqual([]);
  });

  it("makes the steps without dependencies ready", () => {
    const scenario = given(accepts(plan(step("b", { after: ["a"] }), step("a"), step("c", { after: ["a", "b"] }))));
    expect(scenario.states).toEqual({ b: "pending", a: "ready", c: "pending" });
    expect(scenario.decision.fresh).toEqual([1]);
    expect(scenario.run.paces).toEqual({ moving: 1, retrying: 0, waiting: 0, blocked: 2, done: 0 });
  });
});

describe("the success of a step", () => {
  it("makes a dependent ready if it was the last missing dependency", () => {
    const scenario = given(accepts(plan(step("a"), step("b"), step("c", { after: ["a", "b"] }))));
    expect(scenario.when(does("a")).states).toMatchObject({ c: "pending" });
    const both = scenario.when(does("a"), does("b"));
    expect(both.states).toMatchObject({ c: "ready" });
    expect(both.decision.fresh).toEqual([2]);
  });
});

describe("an open run", () => {
  const open = given(accepts(null));

  it("accepts proposed steps one by one until it is closed", () => {
    expect(open.run).toMatchObject({ open: true, ended: null });
    const scenario = open.when(proposes(step("1.0")), does("1.0"), proposes(step("1.1")));
    expect(scenario.newEvent("step.proposed", "1.1")).toMatchObject({ cause: { by: "agent" } });
    expect(scenario.states).toEqual({ "1.0": "succeeded", "1.1": "ready" });
    expect(runStatus(scenario.when(does("1.1")).run)).toBe("open");
    expect(scenario.when(does("1.1"), closes).run.ended?.status).toBe("completed");
  });

  it("ignores a call that it already has, so that a killed loop can propose again", () => {
    const call = { id: "call_0" };
    const scenario = open.when(proposes(step("c1"), { call }));
    expect(scenario.when(proposes(step("c2", { tool: sendMail }), { call })).newEvents).toEqual([]);
    expect(scenario.when(closes, proposes(step("c2"), { call })).decision.refusal).toBeNull();
    const other = scenario.when(proposes(step("c2"), { call: { ...call, turn: "2" } }));
    expect(other.states).toEqual({ c1: "ready", c2: "ready" });
  });

  it("refuses steps once it is closed or cancelled, as does a run with a plan", () => {
    for (const scenario of [open.when(closes), open.when(cancels), given(accepts(plan(step("a"))))])
      expect(scenario.when(proposes(step("b"))).decision.refusal?.code).toBe("RUN_CLOSED");
  });

  it("closes once, and ends when no step can run", () => {
    expect(open.when(closes).newEventTypes).toEqual(["run.closed", "run.ended"]);
    expect(open.when(closes).when(closes).newEvents).toEqual([]);
    const acting = open.when(proposes(step("1.0", { tool: sendMail })), starts("1.0"), proposes(step("1.1")), closes);
    expect(acting.run).toMatchObject({ open: false, ended: null });
    expect(acting.states).toEqual({ "1.0": "running", "1.1": "cancelled" });
    expect(runStatus(acting.run)).toBe("closing");
    expect(acting.when(answers("1.0")).run.ended?.status).toBe("completed");
  });
});

describe("a step that ends without success", () => {
  const three = (wish: object) =>
    given(accepts(plan(step("a", wish), step("b", { after: ["a"] }), step("c", { after: ["b"] }), step("d"))));

  it("ends the plan, and no new step starts", () => {
    for (const on_failure of ["abort", "retry"] as const) {
      const scenario = three({ on_failure }).when(starts("a"), fails("a", "INVALID_INPUT"));
      expect(scenario.states).toEqual({ a: "failed_final", b: "skipped", c: "skipped", d: "skipped" });
      expect(scenario.standing("d")).toMatchObject({ fault: { code: "ABORTED" } });
      expect(scenario.run).toMatchObject({ stopped: "a", ended: { status: "failed" } });
    }
  });

  it("skips only its dependents if the plan says so", () => {
    const scenario = three({ on_failure: "skip" }).when(starts("a"), fails("a"));
    expect(scenario.states).toEqual({ a: "skipped", b: "skipped", c: "skipped", d: "ready" });
    expect(scenario.standing("a")).toMatchObject({ fault: { code: "TOOL_FAILED" } });
    expect(scenario.standing("b")).toMatchObject({ fault: { message: "needs a, which is skipped" } });
    expect(scenario.standing("c")).toMatchObject({ fault: { message: "needs b, which is skipped" } });
    expect(scenario.when(does("d")).run.ended?.status).toBe("partial");
  });

  it.each([
    ["stop", "skipped"],
    ["continue", "ready"],
  ] as const)("after a rejection follows on_rejected: with %s the others are %s", (on_rejected, d) => {
    const scenario = three({ on_rejected }).when(starts("a", { flaw: invalidOutput }));
    expect(scenario.states).toEqual({ a: "rejected", b: "skipped", c: "skipped", d });
  });

  it("skips a dependent at once, which stays skipped when its other dependency succeeds", () => {
    const both = plan(step("a", { on_failure: "skip" }), step("b"), step("c", { after: ["a", "b"] }));
    const scenario = given(accepts(both)).when(starts("a"), fails("a"), does("b"));
    expect(scenario.states).toEqual({ a: "skipped", b: "succeeded", c: "skipped" });
  });

  it("does not make the run partial if the plan permits it to fail", () => {
    const mayFail = plan(step("a", { on_failure: "skip" }), step("b"));
    const scenario = given(accepts(mayFail)).when(starts("a"), fails("a"), does("b"));
    expect(scenario.run.ended?.status).toBe("completed");
    const needed = plan(step("a", { on_failure: "skip" }), step("b"), step("c", { after: ["a"] }));
    expect(given(accepts(needed)).when(starts("a"), fails("a"), does("b")).run.ended?.status).toBe("partial");
  });

  it("of an older journal stays failed, because its event does not say that it is skipped", () => {
    const scenario = given(accepts(plan(step("a", { on_failure: "skip" }), step("b")))).when(starts("a"), fails("a"));
    const { skips: _skips, ...event } = scenario.newEvent("step.failed") as Extract<Event, { type: "step.failed" }>;
    const before = given(accepts(plan(step("a", { on_failure: "skip" }), step("b")))).run;
    expect(evolve(before, event).steps.get(0).standing.state).toBe("failed_final");
  });

  it("skips retrying and waiting steps, and does not change ended ones", () => {
    const many = plan(step("done"), step("retry"), planWait("wait", { ms: 9 }), step("a"));
    const scenario = given(accepts(many)).when(
      does("done"),
      starts("retry"),
      fails("retry", "RATE_LIMIT"),
      starts("wait"),
    );
    const over = scenario.when(starts("a"), fails("a"));
    expect(over.states).toEqual({ done: "succeeded", retry: "skipped", wait: "skipped", a: "failed_final" });
  });
});

describe("a cancellation", () => {
  const send = step("send", { tool: sendMail });

  it("cancels idle steps, and ends a run without running acts at once", () => {
    const scenario = given(accepts(plan(step("a"), step("b", { after: ["a"] })))).when(does("a"), cancels);
    expect(scenario.newEvent("cancel.requested")).toMatchObject({ by: "ana", reason: "never mind" });
    expect(scenario.states).toEqual({ a: "succeeded", b: "cancelled" });
    expect(scenario.run).toMatchObject({ cancel: { by: "ana" }, ended: { status: "cancelled" } });
  });

  it("discards the result of a handler that does not act, and records its cost", () => {
    const scenario = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a"), cancels);
    expect(scenario.when(answers("a")).newEvents).toEqual([]);
    const late = scenario.when(timesOut("a", "CANCELLED", { cost: cost(7) }));
    expect(late.newEventTypes).toEqual(["step.cancelled"]);
    expect(late.run.spent).toMatchObject({ usd_micros: 7, attempts: 1 });
    expect(late.run.ended).toEqual(scenario.run.ended);
    expect(late.when(timesOut("a", "CANCELLED", { cost: cost(7) })).newEvents).toEqual([]);
  });

  it("cancels a recorded attempt without an act when it ends", () => {
    const scenario = given(accepts(plan(step("a", { gate: "human_confirm" })))).when(
      starts("a"),
      approves("a"),
      starts("a"),
    );
    const over = scenario.when(cancels, timesOut("a", "CANCELLED"));
    expect(over.newEvent("step.cancelled")).toMatchObject({ attempt: 1, started_at: noon });
    expect(over.states).toEqual({ a: "cancelled" });
    expect(scenario.when(cancels, answers("a")).states).toEqual({ a: "succeeded" });
    expect(scenario.when(cancels, answers("a")).run.ended?.status).toBe("cancelled");
  });

  it("does not change how a running act ends", () => {
    const scenario = given(accepts(plan(send, step("b", { after: ["send"] })))).when(starts("send"), cancels);
    expect(scenario.states).toEqual({ send: "running", b: "cancelled" });
    expect(scenario.run.ended).toBeNull();
    expect(scenario.when(answers("send")).states).toEqual({ send: "succeeded", b: "cancelled" });
    expect(scenario.when(saysNotDone("send")).states).toEqual({ send: "failed_final", b: "cancelled" });
    expect(scenario.when(timesOut("send")).states).toEqual({ send: "in_doubt", b: "cancelled" });
    for (const over of [answers("send"), saysNotDone("send")])
      expect(scenario.when(over).run.ended?.status).toBe("cancelled");
  });

  it("does not change an act in doubt", () => {
    const scenario = given(accepts(plan(send))).when(starts("send"), timesOut("send"), cancels);
    expect(scenario.states).toEqual({ send: "in_doubt" });
    expect(scenario.when(resolves("send", { as: "absent" })).states).toEqual({ send: "cancelled" });
    expect(scenario.when(resolves("send", { as: "give_up" })).run.ended?.status).toBe("cancelled");
  });

  it("does not change an undo", () => {
    const scenario = given(accepts(plan(step("send", { tool: undoable }), step("b")))).when(
      does("send"),
      undoes("send"),
      cancels,
    );
    expect(scenario.states).toEqual({ send: "compensating", b: "cancelled", "undo.send.1": "ready" });
    expect(scenario.when(does("undo.send.1")).run.ended?.status).toBe("cancelled");
  });

  it("is recorded once, and not after the end of the run", () => {
    const scenario = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"), cancels);
    expect(scenario.when(cancels).newEvents).toEqual([]);
    expect(scenario.when(answers("send"), cancels).decision.refusal).toBeNull();
    const done = given(accepts(plan(step("a")))).when(does("a"), cancels);
    expect(done.decision.refusal?.message).toContain("has ended (completed)");
  });
});

describe("a resume", () => {
  it("resets failed, rejected and skipped steps, but not succeeded ones", () => {
    const steps = plan(step("a"), step("b", { on_rejected: "continue" }), step("c"), step("d", { after: ["c"] }));
    const scenario = given(accepts(steps)).when(
      does("a"),
      starts("b", { flaw: invalidOutput }),
      starts("c"),
      fails("c"),
    );
    expect(scenario.states).toEqual({ a: "succeeded", b: "rejected", c: "failed_final", d: "skipped" });
    const resumed = scenario.when(pass(5), resumes);
    expect(resumed.newEvent("run.resumed")).toMatchObject({ by: "ana", reason: "repaired" });
    expect(resumed.states).toEqual({ a: "succeeded", b: "ready", c: "ready", d: "pending" });
    expect(resumed.run).toMatchObject({ ended: null, stopped: null });
    expect(resumed.decision.fresh).toEqual([1, 2]);
    expect(resumed.when(does("b"), does("c"), does("d")).run.ended?.status).toBe("completed");
  });

  it("keeps the key of an act that certainly did not happen", () => {
    const scenario = given(accepts(plan(step("send", { tool: sendMail })))).when(
      starts("send"),
      saysNotDone("send"),
      resumes,
    );
    expect(scenario.step("send").call?.key).toBe(fakeKey("send"));
    expect(scenario.when(starts("send")).newEvent("step.started")).toMatchObject({
      attempt: 2,
      ledger: { version: 3, generation: 1 },
    });
  });

  it("derives the call of a step that never acted again", () => {
    const gated = step("a", { gate: "human_confirm" });
    const scenario = given(accepts(plan(gated))).when(starts("a"), approves("a"), starts("a"), fails("a"), resumes);
    expect(scenario.step("a").call).toBeNull();
  });

  it.each([
    ["was given up", [starts("send"), timesOut("send"), resolves("send", { as: "give_up" })], "failed_final"],
    ["happened with an invalid output", [starts("send"), answers("send", 1, { flaw: invalidOutput })], "failed_final"],
    ["was undone", [does("send"), undoes("send"), does("undo.send.1"), starts("b")], "compensated"],
    [
      "could not be undone",
      [does("send"), undoes("send"), starts("undo.send.1"), saysNotDone("undo.send.1"), starts("b")],
      "compensation_failed",
    ],
  ] as const)("does not reset an act that %s, nor its dependents", (_, moves, state) => {
    const steps = plan(step("send", { tool: undoable }), step("b", { after: ["send"] }), step("c", { after: ["b"] }));
    const scenario = given(accepts(steps)).when(...moves);
    const before = scenario.states;
    const resumed = scenario.when(resumes);
    expect(resumed.newEventTypes).toEqual(["run.resumed", "run.ended"]);
    expect(resumed.states).toEqual(before);
    expect(resumed.states).toMatchObject({ send: state });
  });

  it("resets a step whose dependencies have succeeded, independent of their own dependencies", () => {
    const steps = plan(step("send", { tool: undoable }), step("b", { after: ["send"] }), step("c", { after: ["b"] }));
    const scenario = given(accepts(steps)).when(
      does("send"),
      does("b"),
      starts("c"),
      fails("c"),
      undoes("send"),
      does("undo.send.1"),
    );
    expect(scenario.when(resumes).states).toMatchObject({ send: "compensated", b: "succeeded", c: "ready" });
  });

  it.each(["completed", "cancelled"])("is not possible for a run that is %s", (status) => {
    const run = given(accepts(plan(step("a"))));
    const scenario = (status === "completed" ? run.when(does("a")) : run.when(cancels)).when(resumes);
    expect(scenario.decision.refusal?.message).toContain(`is ${status}; only a partial or failed run is resumed`);
  });

  it("does not change a run that is running or waits", () => {
    expect(given(accepts(plan(step("a")))).when(resumes).newEvents).toEqual([]);
    const held = given(accepts(plan(step("a", { gate: "human_confirm" })))).when(starts("a"));
    expect(held.when(resumes).newEvents).toEqual([]);
  });
});

describe("the delivery of a notice", () => {
  const notices = [{ notice_id: "n1", topic: "t", payload: null }];
  const scenario = given(accepts(plan(step("a")))).when(starts("a"), answers("a", null, { notices }));

  it("removes the notice, and does not reopen the run", () => {
    const delivered = scenario.when(delivers("n1"));
    expect(delivered.newEventTypes).toEqual(["notice.delivered"]);
    expect(delivered.run.notices.size).toBe(0);
    expect(delivered.run.ended).toEqual(scenario.run.ended);
  });

  it("is recorded once, and not for an unknown notice", () => {
    expect(scenario.when(delivers("n1")).when(delivers("n1")).newEvents).toEqual([]);
    expect(scenario.when(delivers("n2")).newEvents).toEqual([]);
  });
});

describe("the result of an undo of a run", () => {
  it("is recorded in the run with its requester", () => {
    const acts = [{ step_id: "a" as StepId, tool: "t", undone: "confirmed", why: null }] as const;
    const scenario = given(accepts(null)).when({
      type: "tell_undone",
      now: noon,
      principal: robin,
      reason: "mistaken",
      acts,
    });
    expect(scenario.newEvent("run.undone")).toEqual({
      type: "run.undone",
      at: noon,
      by: "robin",
      reason: "mistaken",
      acts,
    });
  });
});

describe("the lift of a halt", () => {
  it("makes only halted steps ready", () => {
    const halt = { over: "tenant", by: "ana", reason: "look", at: noon } as const;
    const scenario = given(accepts(plan(step("a"), planWait("w", { ms: 50 })))).when(
      starts("a", { halts: { halt, closure: null, checks: [] } }),
      starts("w"),
    );
    expect(scenario.states).toEqual({ a: "waiting", w: "waiting" });
    const woken = scenario.when(wakes);
    expect(woken.newEvents).toEqual([{ type: "step.readied", at: noon, step_id: "a", why: "a halt was lifted" }]);
    expect(woken.states).toEqual({ a: "ready", w: "waiting" });
  });
});
