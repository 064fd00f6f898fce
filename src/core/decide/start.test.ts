import { describe, expect, it } from "vitest";
import {
  addUp,
  assertion,
  claim,
  digestOf,
  keyOf,
  later,
  ledgerFact,
  noon,
  order,
  plan,
  readPage,
  sendMail,
  step,
  wait,
} from "../../testing/given/cast.ts";
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
} from "../../testing/given/moves.ts";
import { given, pass } from "../../testing/given.ts";
import { fault } from "../fault.ts";
import type { Guard } from "../guard.ts";

const missing = fault("TOOL_MISSING", "mail.send is not registered here");

describe("starting a step that does not act", () => {
  it("hands out the right to run it and writes nothing", () => {
    const told = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a"));
    expect(told.news).toEqual([]);
    expect(told.decision.grant).toMatchObject({
      step_id: "a",
      attempt: 1,
      started_at: noon,
      generation: 0,
      recorded: false,
    });
    expect(told.states).toEqual({ a: "ready" });
  });

  it("is on record where it stands on an approval", () => {
    const told = given(accepts(plan(step("a", { gate: "human_confirm" })))).when(
      starts("a"),
      approves("a"),
      starts("a"),
    );
    expect(told.said("step.started")).toMatchObject({ attempt: 1, ledger: null, gate: { version: 3 }, boot: "boot 1" });
    expect(told.decision.grant).toMatchObject({ recorded: true, generation: 0 });
    expect(told.standing("a")).toEqual({ state: "running", attempt: 1, started_at: noon });
    expect(told.step("a").act).toBeNull();
  });

  it("asks for the exact call before anyone is asked to approve it", () => {
    const told = given(accepts(plan(step("a", { gate: "human_confirm" })))).when(starts("a", { call: null }));
    expect(told.decision.need).toBe("call");
    expect(told.news).toEqual([]);
  });

  it.each(["pending", "running", "succeeded"])("does nothing for a step that is %s", (state) => {
    const all = given(accepts(plan(step("a", { tool: sendMail }), step("b", { after: ["a"] }))));
    const told = { pending: all, running: all.when(starts("a")), succeeded: all.when(does("a")) }[state];
    const again = told?.when(starts(state === "pending" ? "b" : "a"));
    expect(again?.news).toEqual([]);
    expect(again?.decision.grant).toBeNull();
  });

  it("does nothing before the next try is due", () => {
    const failed = given(accepts(plan(step("a")))).when(starts("a"), fails("a", "NETWORK_TIMEOUT"));
    expect(failed.when(pass(499), starts("a")).decision.grant).toBeNull();
    expect(failed.when(pass(500), starts("a")).decision.grant).toMatchObject({ attempt: 2 });
  });
});

describe("starting an act", () => {
  it("is on record before anything is called, under the key it keeps", () => {
    const told = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"));
    expect(told.said("step.started")).toEqual({
      type: "step.started",
      at: noon,
      step_id: "send",
      attempt: 1,
      call: { input: { to: "send" }, digest: digestOf({ to: "send" }), key: keyOf("send"), keyed_by: "input" },
      ledger: { version: 1, generation: 1 },
      gate: null,
      boot: "boot 1",
    });
    expect(told.decision.grant).toMatchObject({ generation: 1, recorded: true });
  });
});

describe("a reusable outcome", () => {
  const reusable = { output: 7, reused: { run: order, step: "old" as never, at: later(-9), differs: null } };
  const draft = step("a", { tool: readPage, gate: "human_confirm" });

  it("stands in for the call, and no attempt is made", () => {
    const told = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a", { reusable }));
    expect(told.said("step.succeeded")).toMatchObject({
      output: 7,
      reused: reusable.reused,
      attempt: 0,
      world: "pure",
    });
    expect(told.run).toMatchObject({ ended: { status: "completed" }, spent: { attempts: 0 } });
  });

  it("waits for the person that the call would wait for", () => {
    const held = given(accepts(plan(draft))).when(starts("a", { reusable }));
    expect(held.types).toEqual(["gate.opened"]);
    expect(held.when(approves("a"), starts("a", { reusable })).said("step.succeeded").output).toBe(7);
    expect(held.when(rejects("a")).states).toEqual({ a: "rejected" });
  });

  it("is not handed out before the exact call is known that a person is asked about", () => {
    const told = given(accepts(plan(draft))).when(starts("a", { reusable, call: null }));
    expect(told.decision.need).toBe("call");
  });

  it("is refused to whoever may not make the call", () => {
    const flaw = fault("INVALID_INPUT", "it does not fit");
    const told = given(accepts(plan(step("a", { tool: readPage })))).when(starts("a", { reusable, flaw }));
    expect(told.types).toEqual(["step.rejected", "run.ended"]);
  });
});

describe("a tool that is not here", () => {
  const parked = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send", { parked: missing }));

  it("parks the step and fails nothing", () => {
    expect(parked.said("step.parked").on).toEqual({ for: "tool", fault: missing });
    expect(parked.standing("send")).toEqual({ state: "waiting", on: { for: "tool", fault: missing } });
  });

  it("is said once, however often it is asked for", () => {
    expect(parked.when(starts("send", { parked: missing })).news).toEqual([]);
  });

  it("makes the step ready when it is back", () => {
    expect(parked.when(recovers({ id: "send", tool: null })).news).toEqual([]);
    const back = parked.when(recovers({ id: "send" }));
    expect(back.said("step.readied").why).toBe("its tool is here");
    expect(back.when(starts("send")).states).toEqual({ send: "running" });
    expect(parked.when(starts("send")).states).toEqual({ send: "running" });
  });

  it("is no reason to look at the ledger any later, once it is back", () => {
    const told = parked.hearing(ledgerFact({ state: "started" })).when(pass(5000), starts("send"));
    expect(told.standing("send")).toMatchObject({ on: { for: "key", since: later(5000), until: later(6000) } });
  });

  it("counts against no try", () => {
    const failed = given(accepts(plan(step("send", { tool: sendMail })))).when(
      starts("send"),
      saysNotDone("send", "RATE_LIMIT"),
    );
    const told = failed.when(pass(9000), starts("send", { parked: missing }), recovers({ id: "send" }));
    expect(told.step("send")).toMatchObject({ attempts: 1, forgiven: 0 });
  });
});

describe("a wait", () => {
  it("parks until its time has passed, and has then succeeded", () => {
    const told = given(accepts(plan(wait("w", { ms: 5000 }), step("a", { after: ["w"] })))).when(starts("w"));
    expect(told.standing("w")).toEqual({ state: "waiting", on: { for: "time", until: later(5000) } });
    expect(told.when(pass(4999), starts("w")).news).toEqual([]);
    const over = told.when(pass(5000), starts("w"));
    expect(over.said("step.succeeded")).toMatchObject({ output: { waited_until: later(5000) }, world: "pure" });
    expect(over.states).toEqual({ w: "succeeded", a: "ready" });
  });

  it("parks until a moment, and not at all once that is past", () => {
    const until = (at: number) => given(accepts(plan(wait("w", { until: later(at) })))).when(starts("w"));
    expect(until(1).standing("w")).toMatchObject({ on: { until: later(1) } });
    expect(until(0).states).toEqual({ w: "succeeded" });
    expect(until(-1).states).toEqual({ w: "succeeded" });
  });

  it("meets the guards when it begins, and not again when its time has come", () => {
    const doubtful = wait("w", { ms: 5 }, { after: ["a"], preconditions: [claim("a", "/ok", "eq", true)] });
    const told = given(accepts(plan(step("a"), doubtful))).when(does("a", { ok: false }), starts("w"));
    expect(told.said("step.rejected").fault.code).toBe("PRECONDITION_FAILED");
    const late = given(accepts(plan(wait("w", { ms: 5000 })), { deadline_at: later(1000) }));
    expect(late.when(starts("w"), pass(5000), starts("w")).states).toEqual({ w: "succeeded" });
    expect(late.when(pass(5000), starts("w")).states).toEqual({ w: "rejected" });
  });
});

describe("an assertion", () => {
  const asserts = (value: number, more = {}) =>
    given(
      accepts(plan(step("a"), assertion("check", claim("a", "/n", "gt", 3), more), step("b", { tool: readPage }))),
    ).when(starts("b"), does("a", { n: value }), starts("check", { inFlight: ["b"] }));

  it("succeeds when its claim holds", () => {
    expect(asserts(4).said("step.succeeded", "check")).toMatchObject({ output: true, world: "pure", attempt: 1 });
  });

  it("fails for good when it does not, and spares what is under way", () => {
    const told = asserts(3);
    expect(told.said("step.failed")).toMatchObject({
      fault: { code: "ASSERTION_FAILED", message: "check: a/n is not gt 3" },
      retry_at: null,
      world: "permanent_failure",
    });
    expect(told.states).toEqual({ a: "succeeded", check: "failed_final", b: "ready" });
  });

  it("fails when what it speaks of is not there", () => {
    const loose = given(accepts(plan(step("a"), assertion("check", claim("a", "/n", "exists"), { after: [] }))));
    expect(loose.when(starts("check")).said("step.failed").fault.code).toBe("ASSERTION_FAILED");
  });
});

describe("guards", () => {
  const always = (verdict: ReturnType<Guard["judge"]>): Guard => ({ id: "mine", judge: () => verdict });
  const hold = always({ kind: "hold", rule: "mine", reason: "ask first", demand: { role: null } });

  it("refuse on the record, before the ledger is asked", () => {
    const refuse = always({ kind: "refuse", rule: "mine", fault: fault("POLICY_DENIED", "not today") });
    const told = given(accepts(plan(step("send", { tool: sendMail }))))
      .under(refuse)
      .when(starts("send"));
    expect(told.said("step.rejected")).toMatchObject({ rule: "mine", fault: { code: "POLICY_DENIED" } });
    expect(told.step("send")).toMatchObject({
      standing: { state: "rejected" },
      world: "permanent_failure",
      attempts: 0,
    });
    expect(told.ledgerRow(keyOf("send"))).toBeNull();
  });

  it("see an act where the plan or the tool says that it is one", () => {
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
      .under(witness)
      .when(starts("a"), starts("b"), starts("c"), starts("c", { tool: null }));
    expect(effects).toEqual(["acts", "acts", "pure"]);
  });

  it("cannot hold a step that has no call to show, so it is refused", () => {
    const told = given(accepts(plan(wait("w", { ms: 1 }))))
      .under(hold)
      .when(starts("w"));
    expect(told.said("step.rejected")).toMatchObject({ rule: "mine", fault: { code: "POLICY_DENIED" } });
  });
});

describe("a step that comes too late", () => {
  it("is refused once a step has ended the plan, though it was on its way", () => {
    const two = given(accepts(plan(step("a"), step("send", { tool: sendMail })))).when(starts("a"));
    const told = two.when(fails("a", "TOOL_FAILED", { inFlight: ["send"] }), starts("send"));
    expect(told.said("step.rejected")).toMatchObject({ rule: "order", fault: { code: "ABORTED" } });
    expect(told.run.ended?.status).toBe("failed");
    expect(told.when(resumes).states).toEqual({ a: "ready", send: "ready" });
  });

  it("is refused when what it needs was undone meanwhile", () => {
    const tool = { ...sendMail, compensates: true };
    const told = given(accepts(plan(step("send", { tool }), step("thank", { after: ["send"] })))).when(does("send"));
    const after = told.when(undoes("send"), starts("thank"));
    expect(after.said("step.rejected")).toMatchObject({ rule: "order", fault: { code: "DEPENDENCY_FAILED" } });
  });

  it("is not held up by what another step of an agent's run did", () => {
    const open = given(accepts(null), proposes(step("1", { tool: addUp })), starts("1"), fails("1"));
    expect(open.when(proposes(step("2")), does("2")).states).toEqual({ "1": "failed_final", "2": "succeeded" });
    expect(open.run.stopped).toBeNull();
  });

  it("is not what an agent's step is that names another: it waits for nobody", () => {
    const open = given(accepts(null), proposes(step("1")), starts("1"), fails("1"));
    expect(open.when(proposes(step("2", { after: ["1"] })), does("2")).states).toMatchObject({ "2": "succeeded" });
  });

  it("does not keep an undo from starting", () => {
    const tool = { ...sendMail, compensates: true };
    const told = given(accepts(plan(step("send", { tool }), step("a")))).when(does("send"), starts("a"), fails("a"));
    expect(told.run.stopped).toBe("a");
    expect(told.when(undoes("send"), starts("undo.send.1")).types).toContain("step.started");
  });

  it("is nothing to an answer that is there already", () => {
    expect(
      given(accepts(plan(step("a"))))
        .when(starts("a"), answers("a"), starts("a"))
        .news.at(-1)?.type,
    ).toBe("run.ended");
  });
});
