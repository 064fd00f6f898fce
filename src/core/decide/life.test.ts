import { describe, expect, it } from "vitest";
import {
  acme,
  cost,
  hire,
  keyOf,
  later,
  noon,
  plan,
  readPage,
  robin,
  sendMail,
  step,
  wait,
} from "../../testing/given/cast.ts";
import {
  accepts,
  answers,
  approves,
  cancels,
  closes,
  delivers,
  does,
  fails,
  goesUnheard,
  misshapen,
  proposes,
  resolves,
  resumes,
  saysNotDone,
  starts,
  undoes,
  wakes,
} from "../../testing/given/moves.ts";
import { given, pass } from "../../testing/given.ts";
import type { Ask } from "../command.ts";
import { fault } from "../fault.ts";
import type { StepId } from "../id.ts";
import { statusOf } from "../run.ts";

type Inherited = NonNullable<Ask<"accept">["inherited"]>[number];

const undoable = { ...sendMail, compensates: true };

describe("going back", () => {
  const back = (wish: object) =>
    given(accepts(null)).when({
      type: "restore",
      now: noon,
      principal: robin,
      reason: "mistaken",
      to: 3,
      state: { flaw: null, change: null },
      files: null,
      ...wish,
    });
  const change = { project: "p", version: 1, commit: "c", upon: null, patch: [] };
  const files = { captures: [], closings: [] };

  it("is a fact with all that was gone back with", () => {
    const said = { by: "robin", reason: "mistaken", to: 3, at: noon };
    expect(back({ state: { flaw: null, change } }).said("state.restored")).toEqual({
      type: "state.restored",
      ...said,
      state: change,
    });
    expect(back({ files }).said("state.restored")).toEqual({ type: "state.restored", ...said, ...files });
  });

  it("is nothing where all is as it was, and is refused where it cannot be", () => {
    expect(back({}).news).toEqual([]);
    const flaw = fault("SLICE_CHANGED", "no");
    const refused = back({ state: { flaw, change } });
    expect([refused.news, refused.decision.refusal]).toEqual([[], flaw]);
  });
});

describe("accepting", () => {
  it("is the first fact of a run and holds all that it was asked with", () => {
    const told = given(accepts(plan(step("a")), { context: { case: 7 }, deadline_at: later(5) }));
    expect(told.said("run.accepted")).toMatchObject({
      run_id: hire,
      tenant: acme,
      principal: robin,
      context: { case: 7 },
    });
    expect(told.run).toMatchObject({ id: hire, position: 1, accepted_at: noon, deadline_at: later(5), open: false });
  });

  it("takes over what a fork has behind it, as done", () => {
    const done = { step_id: "a" as StepId, output: { n: 1 } };
    const told = given(
      accepts(plan(step("a"), step("b", { after: ["a"] })), { inherited: [done as unknown as Inherited] }),
    );
    expect(told.types).toEqual(["run.accepted", "step.succeeded"]);
    expect(told.said("step.succeeded")).toMatchObject({ ...done, attempt: 0, started_at: noon, at: noon });
    expect(told.states).toEqual({ a: "succeeded", b: "ready" });
  });

  it("may be of a run that is not wanted any more, which begins nothing", () => {
    const told = given(accepts(plan(step("a")), { cancelled: "never mind" }));
    expect(told.said("cancel.requested")).toMatchObject({ by: "robin", reason: "never mind", at: noon });
    expect(statusOf(told.run)).toBe("cancelled");
  });

  it("is said once, however often it is asked for", () => {
    expect(given(accepts(plan(step("a")))).when(accepts(plan(step("b")))).news).toEqual([]);
  });

  it("makes ready what needs nobody, and lets the rest wait", () => {
    const told = given(accepts(plan(step("b", { after: ["a"] }), step("a"), step("c", { after: ["a", "b"] }))));
    expect(told.states).toEqual({ b: "pending", a: "ready", c: "pending" });
    expect(told.decision.fresh).toEqual([1]);
    expect(told.run.paces).toEqual({ moving: 1, retrying: 0, waiting: 0, blocked: 2, done: 0 });
  });
});

describe("going on", () => {
  it("makes a step ready when the last one that it needs has succeeded", () => {
    const told = given(accepts(plan(step("a"), step("b"), step("c", { after: ["a", "b"] }))));
    expect(told.when(does("a")).states).toMatchObject({ c: "pending" });
    const both = told.when(does("a"), does("b"));
    expect(both.states).toMatchObject({ c: "ready" });
    expect(both.decision.fresh).toEqual([2]);
  });
});

describe("proposing steps to an open run", () => {
  const open = given(accepts(null));

  it("takes them one by one until it is closed", () => {
    expect(open.run).toMatchObject({ open: true, ended: null });
    const told = open.when(proposes(step("1.0")), does("1.0"), proposes(step("1.1")));
    expect(told.said("step.proposed", "1.1")).toMatchObject({ cause: { by: "agent" } });
    expect(told.states).toEqual({ "1.0": "succeeded", "1.1": "ready" });
    expect(statusOf(told.when(does("1.1")).run)).toBe("waiting");
    expect(told.when(does("1.1"), closes).run.ended?.status).toBe("completed");
  });

  it("meets a step that is there already, so that a loop that was killed finds its own", () => {
    const told = open.when(proposes(step("1.0")));
    expect(told.when(proposes(step("1.0", { tool: sendMail }))).news).toEqual([]);
    expect(told.when(closes, proposes(step("1.0"))).decision.refusal).toBeNull();
  });

  it("refuses more once it is closed, cancelled or was never open", () => {
    for (const told of [open.when(closes), open.when(cancels), given(accepts(plan(step("a"))))])
      expect(told.when(proposes(step("b"))).decision.refusal?.code).toBe("NOT_POSSIBLE");
  });

  it("closes once, and ends when nothing is left to do", () => {
    expect(open.when(closes).types).toEqual(["run.closed", "run.ended"]);
    expect(open.when(closes).when(closes).news).toEqual([]);
    expect(open.when(proposes(step("1.0")), closes).run).toMatchObject({ open: false, ended: null });
  });
});

describe("a step that ends without success", () => {
  const three = (wish: object) =>
    given(accepts(plan(step("a", wish), step("b", { after: ["a"] }), step("c", { after: ["b"] }), step("d"))));

  it("ends the plan: nothing new starts", () => {
    for (const on_failure of ["abort", "retry"] as const) {
      const told = three({ on_failure }).when(starts("a"), fails("a", "INVALID_INPUT"));
      expect(told.states).toEqual({ a: "failed_final", b: "skipped", c: "skipped", d: "skipped" });
      expect(told.standing("d")).toMatchObject({ fault: { code: "ABORTED" } });
      expect(told.run).toMatchObject({ stopped: "a", ended: { status: "failed" } });
    }
  });

  it("only skips what needs it, where the plan says so", () => {
    const told = three({ on_failure: "skip" }).when(starts("a"), fails("a"));
    expect(told.states).toEqual({ a: "failed_final", b: "skipped", c: "skipped", d: "ready" });
    expect(told.standing("b")).toMatchObject({ fault: { message: "needs a, which is failed_final" } });
    expect(told.standing("c")).toMatchObject({ fault: { message: "needs b, which is skipped" } });
    expect(told.when(does("d")).run.ended?.status).toBe("partial");
  });

  it.each([
    ["stop", "skipped"],
    ["continue", "ready"],
  ] as const)("when it was refused follows on_rejected: %s leaves the others %s", (on_rejected, d) => {
    const told = three({ on_rejected }).when(starts("a", { flaw: misshapen }));
    expect(told.states).toEqual({ a: "rejected", b: "skipped", c: "skipped", d });
  });

  it("waits for nobody: one that needs two is skipped with the first, and stays so", () => {
    const both = plan(step("a", { on_failure: "skip" }), step("b"), step("c", { after: ["a", "b"] }));
    const told = given(accepts(both)).when(starts("a"), fails("a"), does("b"));
    expect(told.states).toEqual({ a: "failed_final", b: "succeeded", c: "skipped" });
  });

  it("skips those between two tries and those that wait, and leaves alone what has ended", () => {
    const many = plan(step("done"), step("retry"), wait("wait", { ms: 9 }), step("a"));
    const told = given(accepts(many)).when(does("done"), starts("retry"), fails("retry", "RATE_LIMIT"), starts("wait"));
    const over = told.when(starts("a"), fails("a"));
    expect(over.states).toEqual({ done: "succeeded", retry: "skipped", wait: "skipped", a: "failed_final" });
  });
});

describe("cancelling", () => {
  const send = step("send", { tool: sendMail });

  it("cancels what has not begun, on the record, and ends a run without acts at once", () => {
    const told = given(accepts(plan(step("a"), step("b", { after: ["a"] })))).when(does("a"), cancels);
    expect(told.said("cancel.requested")).toMatchObject({ by: "ana", reason: "never mind" });
    expect(told.states).toEqual({ a: "succeeded", b: "cancelled" });
    expect(told.run).toMatchObject({ cancel: { by: "ana" }, ended: { status: "cancelled" } });
  });

  it("drops a handler that does not act; what it cost is kept", () => {
    const told = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a"), cancels);
    expect(told.when(answers("a")).news).toEqual([]);
    const late = told.when(goesUnheard("a", "CANCELLED", { cost: cost(7) }));
    expect(late.types).toEqual(["step.cancelled"]);
    expect(late.run.spent).toMatchObject({ usd_micros: 7, attempts: 1 });
    expect(late.run.ended).toEqual(told.run.ended);
    expect(late.when(goesUnheard("a", "CANCELLED", { cost: cost(7) })).news).toEqual([]);
  });

  it("aborts a handler that is on record, and drops it when it ends", () => {
    const told = given(accepts(plan(step("a", { gate: "human_confirm" })))).when(
      starts("a"),
      approves("a"),
      starts("a"),
    );
    const over = told.when(cancels, goesUnheard("a", "CANCELLED"));
    expect(over.said("step.cancelled")).toMatchObject({ attempt: 1, started_at: noon });
    expect(over.states).toEqual({ a: "cancelled" });
    expect(told.when(cancels, answers("a")).states).toEqual({ a: "succeeded" });
    expect(told.when(cancels, answers("a")).run.ended?.status).toBe("cancelled");
  });

  it("lets an act in flight end as it ends", () => {
    const told = given(accepts(plan(send, step("b", { after: ["send"] })))).when(starts("send"), cancels);
    expect(told.states).toEqual({ send: "running", b: "cancelled" });
    expect(told.run.ended).toBeNull();
    expect(told.when(answers("send")).states).toEqual({ send: "succeeded", b: "cancelled" });
    expect(told.when(saysNotDone("send")).states).toEqual({ send: "failed_final", b: "cancelled" });
    expect(told.when(goesUnheard("send")).states).toEqual({ send: "in_doubt", b: "cancelled" });
    for (const over of [answers("send"), saysNotDone("send")])
      expect(told.when(over).run.ended?.status).toBe("cancelled");
  });

  it("leaves an act in doubt in doubt", () => {
    const told = given(accepts(plan(send))).when(starts("send"), goesUnheard("send"), cancels);
    expect(told.states).toEqual({ send: "in_doubt" });
    expect(told.when(resolves("send", { as: "absent" })).states).toEqual({ send: "cancelled" });
    expect(told.when(resolves("send", { as: "give_up" })).run.ended?.status).toBe("cancelled");
  });

  it("does not touch an undo", () => {
    const told = given(accepts(plan(step("send", { tool: undoable }), step("b")))).when(
      does("send"),
      undoes("send"),
      cancels,
    );
    expect(told.states).toEqual({ send: "compensating", b: "cancelled", "undo.send.1": "ready" });
    expect(told.when(does("undo.send.1")).run.ended?.status).toBe("cancelled");
  });

  it("happens once, and not after the end", () => {
    const told = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"), cancels);
    expect(told.when(cancels).news).toEqual([]);
    expect(told.when(answers("send"), cancels).decision.refusal).toBeNull();
    const done = given(accepts(plan(step("a")))).when(does("a"), cancels);
    expect(done.decision.refusal?.message).toContain("has ended (completed)");
  });
});

describe("resuming", () => {
  it("takes back what failed, what was refused and what was skipped, and nothing that succeeded", () => {
    const steps = plan(step("a"), step("b", { on_rejected: "continue" }), step("c"), step("d", { after: ["c"] }));
    const told = given(accepts(steps)).when(does("a"), starts("b", { flaw: misshapen }), starts("c"), fails("c"));
    expect(told.states).toEqual({ a: "succeeded", b: "rejected", c: "failed_final", d: "skipped" });
    const resumed = told.when(pass(5), resumes);
    expect(resumed.said("run.resumed")).toMatchObject({ by: "ana", reason: "mended" });
    expect(resumed.states).toEqual({ a: "succeeded", b: "ready", c: "ready", d: "pending" });
    expect(resumed.run).toMatchObject({ ended: null, stopped: null });
    expect(resumed.decision.fresh).toEqual([1, 2]);
    expect(resumed.when(does("b"), does("c"), does("d")).run.ended?.status).toBe("completed");
  });

  it("keeps the key of an act that is known not to have happened", () => {
    const told = given(accepts(plan(step("send", { tool: sendMail })))).when(
      starts("send"),
      saysNotDone("send"),
      resumes,
    );
    expect(told.step("send").call?.key).toBe(keyOf("send"));
    expect(told.when(starts("send")).said("step.started")).toMatchObject({
      attempt: 2,
      ledger: { version: 3, generation: 1 },
    });
  });

  it("puts together anew what never acted", () => {
    const gated = step("a", { gate: "human_confirm" });
    const told = given(accepts(plan(gated))).when(starts("a"), approves("a"), starts("a"), fails("a"), resumes);
    expect(told.step("a").call).toBeNull();
  });

  it.each([
    ["was given up", [starts("send"), goesUnheard("send"), resolves("send", { as: "give_up" })], "failed_final"],
    ["happened, but answered badly", [starts("send"), answers("send", 1, { flaw: misshapen })], "failed_final"],
    ["was undone", [does("send"), undoes("send"), does("undo.send.1"), starts("b")], "compensated"],
    [
      "could not be undone",
      [does("send"), undoes("send"), starts("undo.send.1"), saysNotDone("undo.send.1"), starts("b")],
      "compensation_failed",
    ],
  ] as const)("leaves an act that %s, and all that needs it", (_, moves, state) => {
    const steps = plan(step("send", { tool: undoable }), step("b", { after: ["send"] }), step("c", { after: ["b"] }));
    const told = given(accepts(steps)).when(...moves);
    const before = told.states;
    const resumed = told.when(resumes);
    expect(resumed.types).toEqual(["run.resumed", "run.ended"]);
    expect(resumed.states).toEqual(before);
    expect(resumed.states).toMatchObject({ send: state });
  });

  it("brings back what needs a step that stands, whatever that one needed", () => {
    const steps = plan(step("send", { tool: undoable }), step("b", { after: ["send"] }), step("c", { after: ["b"] }));
    const told = given(accepts(steps)).when(
      does("send"),
      does("b"),
      starts("c"),
      fails("c"),
      undoes("send"),
      does("undo.send.1"),
    );
    expect(told.when(resumes).states).toMatchObject({ send: "compensated", b: "succeeded", c: "ready" });
  });

  it.each(["completed", "cancelled"])("is not possible for a run that is %s", (status) => {
    const run = given(accepts(plan(step("a"))));
    const told = (status === "completed" ? run.when(does("a")) : run.when(cancels)).when(resumes);
    expect(told.decision.refusal?.message).toContain(`is ${status}; only a partial or failed run is resumed`);
  });

  it("does nothing to a run that is under way or waits for someone", () => {
    expect(given(accepts(plan(step("a")))).when(resumes).news).toEqual([]);
    const held = given(accepts(plan(step("a", { gate: "human_confirm" })))).when(starts("a"));
    expect(held.when(resumes).news).toEqual([]);
  });
});

describe("delivering a message", () => {
  const notices = [{ notice_id: "n1", topic: "t", payload: null }];
  const told = given(accepts(plan(step("a")))).when(starts("a"), answers("a", null, { notices }));

  it("takes it off the list, and does not reopen the run", () => {
    const delivered = told.when(delivers("n1"));
    expect(delivered.types).toEqual(["notice.delivered"]);
    expect(delivered.run.notices.size).toBe(0);
    expect(delivered.run.ended).toEqual(told.run.ended);
  });

  it("is a fact once, and none about a message that nobody left", () => {
    expect(told.when(delivers("n1")).when(delivers("n1")).news).toEqual([]);
    expect(told.when(delivers("n2")).news).toEqual([]);
  });
});

describe("telling what undoing a run came to", () => {
  it("is a fact of the run, with who asked for it", () => {
    const acts = [{ step_id: "a" as StepId, tool: "t", undone: "confirmed", why: null }] as const;
    const told = given(accepts(null)).when({
      type: "tell_undone",
      now: noon,
      principal: robin,
      reason: "mistaken",
      acts,
    });
    expect(told.said("run.undone")).toEqual({ type: "run.undone", at: noon, by: "robin", reason: "mistaken", acts });
  });
});

describe("waking a run", () => {
  it("makes ready what a halt kept waiting, and nothing else that waits", () => {
    const halt = { over: "tenant", by: "ana", reason: "look", at: noon } as const;
    const told = given(accepts(plan(step("a"), wait("w", { ms: 50 })))).when(
      starts("a", { halts: { halt, closure: null, checks: [] } }),
      starts("w"),
    );
    expect(told.states).toEqual({ a: "waiting", w: "waiting" });
    const woken = told.when(wakes);
    expect(woken.news).toEqual([{ type: "step.readied", at: noon, step_id: "a", why: "a halt was lifted" }]);
    expect(woken.states).toEqual({ a: "ready", w: "waiting" });
  });
});
