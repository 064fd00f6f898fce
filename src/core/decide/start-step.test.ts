import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  does,
  fails,
  proposes,
  recovers,
  rejects,
  resumes,
  saysNotDone,
  starts,
  undoes,
} from "../../testing/given/commands.ts";
import {
  addUp,
  conditionOn,
  fakeDigest,
  fakeKey,
  later,
  ledgerFact,
  noon,
  orderRun,
  plan,
  planAssertion,
  planWait,
  readPage,
  sendMail,
  step,
} from "../../testing/given/fixtures.ts";
import { given, pass } from "../../testing/given/given.ts";
import type { Guard } from "../call/guard.ts";
import { fault } from "../values/fault.ts";

const missing = fault("TOOL_MISSING", "mail.send is not registered here");

describe("the start of a step that does not act", () => {
  it("grants the attempt and records nothing", () => {
    const scenario = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a"));
    expect(scenario.newEvents).toEqual([]);
    expect(scenario.decision.grant).toMatchObject({
      step_id: "a",
      attempt: 1,
      started_at: noon,
      generation: 0,
      recorded: false,
    });
    expect(scenario.states).toEqual({ a: "ready" });
  });

  it("is recorded if it uses an approval", () => {
    const scenario = given(accepts(plan(step("a", { gate: "human_confirm" })))).when(
      starts("a"),
      approves("a"),
      starts("a"),
    );
    expect(scenario.newEvent("step.started")).toMatchObject({
      attempt: 1,
      ledger: null,
      gate: { version: 3 },
      boot: "boot 1",
    });
    expect(scenario.decision.grant).toMatchObject({ recorded: true, generation: 0 });
    expect(scenario.standing("a")).toEqual({ state: "running", attempt: 1, started_at: noon });
    expect(scenario.step("a").act).toBeNull();
  });

  it("needs the exact call before a gate opens", () => {
    const scenario = given(accepts(plan(step("a", { gate: "human_confirm" })))).when(starts("a", { call: null }));
    expect(scenario.decision.need).toBe("call");
    expect(scenario.newEvents).toEqual([]);
  });

  it.each(["pending", "running", "succeeded"])("does nothing for a step that is %s", (state) => {
    const all = given(accepts(plan(step("a", { tool: sendMail }), step("b", { after: ["a"] }))));
    const scenario = { pending: all, running: all.when(starts("a")), succeeded: all.when(does("a")) }[state];
    const again = scenario?.when(starts(state === "pending" ? "b" : "a"));
    expect(again?.newEvents).toEqual([]);
    expect(again?.decision.grant).toBeNull();
  });

  it("does nothing before the next attempt is due", () => {
    const failed = given(accepts(plan(step("a")))).when(starts("a"), fails("a", "NETWORK_TIMEOUT"));
    expect(failed.when(pass(499), starts("a")).decision.grant).toBeNull();
    expect(failed.when(pass(500), starts("a")).decision.grant).toMatchObject({ attempt: 2 });
  });
});

describe("the start of an act", () => {
  it("is recorded with its key before the tool is called", () => {
    const scenario = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"));
    expect(scenario.newEvent("step.started")).toEqual({
      type: "step.started",
      at: noon,
      step_id: "send",
      attempt: 1,
      call: { input: { to: "send" }, digest: fakeDigest({ to: "send" }), key: fakeKey("send"), keyed_by: "input" },
      ledger: { version: 1, generation: 1 },
      gate: null,
      boot: "boot 1",
      worker: "wrk_1",
    });
    expect(scenario.decision.grant).toMatchObject({ generation: 1, recorded: true });
  });
});

describe("a reusable outcome", () => {
  const reusable = { output: 7, reused: { run: orderRun, step: "old" as never, at: later(-9), differs: null } };
  const draft = step("a", { tool: readPage, gate: "human_confirm" });

  it("replaces the call without an attempt", () => {
    const scenario = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a", { reusable }));
    expect(scenario.newEvent("step.succeeded")).toMatchObject({
      output: 7,
      reused: reusable.reused,
      attempt: 0,
      world: "pure",
    });
    expect(scenario.run).toMatchObject({ ended: { status: "completed" }, spent: { attempts: 0 } });
  });

  it("needs the approval that the call would need", () => {
    const held = given(accepts(plan(draft))).when(starts("a", { reusable }));
    expect(held.newEventTypes).toEqual(["gate.opened"]);
    expect(held.when(approves("a"), starts("a", { reusable })).newEvent("step.succeeded").output).toBe(7);
    expect(held.when(rejects("a")).states).toEqual({ a: "rejected" });
  });

  it("is not used before the exact call for the gate is known", () => {
    const scenario = given(accepts(plan(draft))).when(starts("a", { reusable, call: null }));
    expect(scenario.decision.need).toBe("call");
  });

  it("is refused to a principal who may not make the call", () => {
    const flaw = fault("INVALID_INPUT", "it does not fit");
    const scenario = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a", { reusable, flaw }));
    expect(scenario.newEventTypes).toEqual(["step.rejected", "run.ended"]);
  });
});

describe("a call whose caller has not given its function", () => {
  const away = fault("TOOL_AWAY", "its caller runs it");
  const act = given(accepts(plan(step("send", { tool: sendMail }))));

  it.each([
    ["that acts", sendMail],
    ["that reads", readPage],
  ])("%s is parked when it may start, and starts with the function", (_, tool) => {
    const parked = given(accepts(plan(step("call", { tool })))).when(starts("call", { away }));
    expect(parked.newEvent("step.parked").on).toEqual({ for: "tool", fault: away });
    expect(parked.when(starts("call")).newEvents.some(({ type }) => type === "step.parked")).toBe(false);
  });

  it("is judged before that: it is held, or refused", () => {
    const held = given(accepts(plan(step("send", { tool: sendMail })), { mode: "human_gated" }));
    expect(held.when(starts("send", { away })).states).toEqual({ send: "waiting_approval" });
    const flaw = fault("INVALID_INPUT", "it does not fit");
    expect(act.when(starts("send", { away, flaw })).states).toEqual({ send: "rejected" });
  });
});

describe("a missing tool", () => {
  const parked = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send", { parked: missing }));

  it("parks the step without a failure", () => {
    expect(parked.newEvent("step.parked").on).toEqual({ for: "tool", fault: missing });
    expect(parked.standing("send")).toEqual({ state: "waiting", on: { for: "tool", fault: missing } });
  });

  it("is recorded once", () => {
    expect(parked.when(starts("send", { parked: missing })).newEvents).toEqual([]);
  });

  it("makes the step ready when it is available again", () => {
    expect(parked.when(recovers({ id: "send", tool: null })).newEvents).toEqual([]);
    const back = parked.when(recovers({ id: "send" }));
    expect(back.newEvent("step.readied").why).toBe("its tool is available");
    expect(back.when(starts("send")).states).toEqual({ send: "running" });
    expect(parked.when(starts("send")).states).toEqual({ send: "running" });
  });

  it("does not delay the ledger decision once it is available again", () => {
    const scenario = parked.withLedgerFact(ledgerFact({ state: "started" })).when(pass(5000), starts("send"));
    expect(scenario.standing("send")).toMatchObject({ on: { for: "key", since: later(5000), until: later(6000) } });
  });

  it("does not count as an attempt", () => {
    const failed = given(accepts(plan(step("send", { tool: sendMail })))).when(
      starts("send"),
      saysNotDone("send", "RATE_LIMIT"),
    );
    const scenario = failed.when(pass(9000), starts("send", { parked: missing }), recovers({ id: "send" }));
    expect(scenario.step("send")).toMatchObject({ attempts: 1, forgiven: 0 });
  });
});

describe("a wait", () => {
  it("parks until its time is over, and then succeeds", () => {
    const scenario = given(accepts(plan(planWait("w", { ms: 5000 }), step("a", { after: ["w"] })))).when(starts("w"));
    expect(scenario.standing("w")).toEqual({ state: "waiting", on: { for: "time", until: later(5000) } });
    expect(scenario.when(pass(4999), starts("w")).newEvents).toEqual([]);
    const over = scenario.when(pass(5000), starts("w"));
    expect(over.newEvent("step.succeeded")).toMatchObject({ output: { waited_until: later(5000) }, world: "pure" });
    expect(over.states).toEqual({ w: "succeeded", a: "ready" });
  });

  it("parks until a given time, and succeeds at once if that time has passed", () => {
    const until = (at: number) => given(accepts(plan(planWait("w", { until: later(at) })))).when(starts("w"));
    expect(until(1).standing("w")).toMatchObject({ on: { until: later(1) } });
    expect(until(0).states).toEqual({ w: "succeeded" });
    expect(until(-1).states).toEqual({ w: "succeeded" });
  });

  it("is judged by the guards when it starts, and not again when its time is over", () => {
    const doubtful = planWait("w", { ms: 5 }, { after: ["a"], preconditions: [conditionOn("a", "/ok", "eq", true)] });
    const scenario = given(accepts(plan(step("a"), doubtful))).when(does("a", { ok: false }), starts("w"));
    expect(scenario.newEvent("step.rejected").fault.code).toBe("PRECONDITION_FAILED");
    const late = given(accepts(plan(planWait("w", { ms: 5000 })), { deadline_at: later(1000) }));
    expect(late.when(starts("w"), pass(5000), starts("w")).states).toEqual({ w: "succeeded" });
    expect(late.when(pass(5000), starts("w")).states).toEqual({ w: "rejected" });
  });
});

describe("an assertion", () => {
  const asserts = (value: number, more = {}) =>
    given(
      accepts(
        plan(step("a"), planAssertion("check", conditionOn("a", "/n", "gt", 3), more), step("b", { tool: readPage })),
      ),
    ).when(starts("b"), does("a", { n: value }), starts("check", { inFlight: ["b"] }));

  it("succeeds if its condition is met", () => {
    expect(asserts(4).newEvent("step.succeeded", "check")).toMatchObject({ output: true, world: "pure", attempt: 1 });
  });

  it("fails finally if its condition is not met, and does not skip steps in flight", () => {
    const scenario = asserts(3);
    expect(scenario.newEvent("step.failed")).toMatchObject({
      fault: { code: "ASSERTION_FAILED", message: "check: a/n is not gt 3" },
      retry_at: null,
      world: "permanent_failure",
    });
    expect(scenario.states).toEqual({ a: "succeeded", check: "failed_final", b: "ready" });
  });

  it("fails if its path does not exist", () => {
    const loose = given(
      accepts(plan(step("a"), planAssertion("check", conditionOn("a", "/n", "exists"), { after: [] }))),
    );
    expect(loose.when(starts("check")).newEvent("step.failed").fault.code).toBe("ASSERTION_FAILED");
  });
});

describe("guards", () => {
  const always = (verdict: ReturnType<Guard["judge"]>): Guard => ({ id: "mine", judge: () => verdict });
  const hold = always({ kind: "hold", rule: "mine", reason: "ask first", demand: { role: null } });

  it("record a refusal before the ledger decides", () => {
    const refuse = always({ kind: "refuse", rule: "mine", fault: fault("POLICY_DENIED", "not today") });
    const scenario = given(accepts(plan(step("send", { tool: sendMail }))))
      .withGuards(refuse)
      .when(starts("send"));
    expect(scenario.newEvent("step.rejected")).toMatchObject({ rule: "mine", fault: { code: "POLICY_DENIED" } });
    expect(scenario.step("send")).toMatchObject({
      standing: { state: "rejected" },
      world: "permanent_failure",
      attempts: 0,
    });
    expect(scenario.ledgerRow(fakeKey("send"))).toBeNull();
  });

  it("judge a call as an act if the plan or the tool declares it", () => {
    const effects: string[] = [];
    const witness: Guard = {
      id: "witness",
      judge({ effect }) {
        effects.push(effect);
        return { kind: "allow" };
      },
    };
    const steps = plan(step("a", { effect: "acts" }), step("b", { tool: sendMail, effect: "pure" }), step("c"));
    given(accepts(steps))
      .withGuards(witness)
      .when(starts("a"), starts("b"), starts("c"), starts("c", { tool: null }));
    expect(effects).toEqual(["acts", "acts", "pure"]);
  });

  it("reject a held step that calls no tool", () => {
    const scenario = given(accepts(plan(planWait("w", { ms: 1 }))))
      .withGuards(hold)
      .when(starts("w"));
    expect(scenario.newEvent("step.rejected")).toMatchObject({ rule: "mine", fault: { code: "POLICY_DENIED" } });
  });
});

describe("a step that starts too late", () => {
  it("is rejected after a step has ended the plan", () => {
    const two = given(accepts(plan(step("a"), step("send", { tool: sendMail })))).when(starts("a"));
    const scenario = two.when(fails("a", "TOOL_FAILED", { inFlight: ["send"] }), starts("send"));
    expect(scenario.newEvent("step.rejected")).toMatchObject({ rule: "order", fault: { code: "ABORTED" } });
    expect(scenario.run.ended?.status).toBe("failed");
    expect(scenario.when(resumes).states).toEqual({ a: "ready", send: "ready" });
  });

  it("is rejected if a dependency was undone meanwhile", () => {
    const tool = { ...sendMail, compensates: true };
    const scenario = given(accepts(plan(step("send", { tool }), step("thank", { after: ["send"] })))).when(
      does("send"),
    );
    const after = scenario.when(undoes("send"), starts("thank"));
    expect(after.newEvent("step.rejected")).toMatchObject({ rule: "order", fault: { code: "DEPENDENCY_FAILED" } });
  });

  it("is not rejected in an open run after another step failed", () => {
    const open = given(accepts(null), proposes(step("1", { tool: addUp })), starts("1"), fails("1"));
    expect(open.when(proposes(step("2")), does("2")).states).toEqual({ "1": "failed_final", "2": "succeeded" });
    expect(open.run.stopped).toBeNull();
  });

  it("is not rejected for the dependencies of a proposed step, which are ignored", () => {
    const open = given(accepts(null), proposes(step("1")), starts("1"), fails("1"));
    expect(open.when(proposes(step("2", { after: ["1"] })), does("2")).states).toMatchObject({ "2": "succeeded" });
  });

  it("is not rejected if it is an undo", () => {
    const tool = { ...sendMail, compensates: true };
    const scenario = given(accepts(plan(step("send", { tool }), step("a")))).when(
      does("send"),
      starts("a"),
      fails("a"),
    );
    expect(scenario.run.stopped).toBe("a");
    expect(scenario.when(undoes("send"), starts("undo.send.1")).newEventTypes).toContain("step.started");
  });

  it("changes nothing if it has already succeeded", () => {
    expect(
      given(accepts(plan(step("a"))))
        .when(starts("a"), answers("a"), starts("a"))
        .newEvents.at(-1)?.type,
    ).toBe("run.ended");
  });
});
