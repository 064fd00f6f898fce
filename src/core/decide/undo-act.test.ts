import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  cancels,
  does,
  invalidOutput,
  recovers,
  rejects,
  resolvedHappened,
  resolves,
  resumes,
  saysNotDone,
  settles,
  sightingAbsent,
  sightingHappened,
  starts,
  timesOut,
  undoes,
} from "../../testing/given/commands.ts";
import { ana, bob, cron, fakeKey, later, plan, robin, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenAction, type GivenRun, given, pass } from "../../testing/given/given.ts";
import type { Guard } from "../call/guard.ts";
import type { ToolFacts } from "../call/proposal.ts";
import { requesterOf } from "../run/step-principal.ts";
import { fault } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";

const undoable: ToolFacts = { ...sendMail, compensates: true };
const undo = "undo.send.1";

const accepted = (tool: ToolFacts = undoable): GivenRun =>
  given(accepts(plan(step("send", { tool, timeout_ms: 5000 }), step("thank", { after: ["send"] }))));
const done = (...moves: readonly GivenAction[]): GivenRun => accepted().when(does("send", { id: "m1" }), ...moves);
const undoing = (...moves: readonly GivenAction[]): GivenRun => done(undoes("send"), ...moves);
const row = (scenario: GivenRun, key = "send") => scenario.ledgerRow(fakeKey(key));

describe("a request to undo an act", () => {
  it("adds a step that acts under its own key", () => {
    const scenario = undoing();
    expect(scenario.newEventTypes.slice(-2)).toEqual(["step.compensating", "step.proposed"]);
    expect(scenario.newEvent("step.compensating")).toMatchObject({
      by: "ana",
      reason: "I looked",
      ledger: { version: 3 },
    });
    expect(scenario.standing("send")).toEqual({ state: "compensating", undo });
    expect(scenario.step(undo)).toMatchObject({
      standing: { state: "ready" },
      cause: { by: "undo", of: "send", asked_by: "ana" },
      spec: { effect: "acts", gate: "none", on_failure: "skip", timeout_ms: 5000, payload: {}, depends_on: [] },
    });
    expect(row(scenario)).toMatchObject({ state: "compensating" });
    const started = scenario.when(starts(undo));
    expect(row(started, "undo send 1")).toMatchObject({ state: "started", step_id: undo });
    expect(started.step(undo).call?.input).toEqual({
      input: { to: "send" },
      output: { id: "m1" },
      key: fakeKey("send"),
    });
  });

  it.each([robin, cron])("is refused for $kind: only a person can", (principal) => {
    expect(done(undoes("send", undoable, principal)).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
  });

  it.each([
    ["a tool without a compensation", done(undoes("send", sendMail)), "declares no compensation"],
    ["a missing tool", done(undoes("send", null)), "declares no compensation"],
    ["a step that has not acted", done(undoes("thank", undoable)), "there is no act to undo"],
    [
      "an act that did nothing",
      accepted().when(starts("send"), saysNotDone("send"), undoes("send")),
      "there is no act to undo",
    ],
    ["an act that is being undone", undoing(undoes("send")), "there is no act to undo"],
    ["an undone act", undoing(does(undo), undoes("send")), "there is no act to undo"],
    ["an undo", undoing(does(undo), undoes(undo)), "cannot itself be undone"],
    ["an act in doubt", accepted().when(starts("send"), timesOut("send"), undoes("send")), "settle the doubt"],
  ])("is not possible for %s", (_, scenario, why) => {
    expect(scenario.decision.refusal?.code).toBe("NOT_POSSIBLE");
    expect(scenario.decision.refusal?.message).toContain(why);
    expect(scenario.decision.events).toEqual([]);
  });

  it("is not possible if another step has the id of the undo", () => {
    const errand = { step: step(undo), pin: null, cause: { by: "errand", of: "send" as StepId } } as const;
    const scenario = accepted().when(starts("send"), answers("send", 1, { errands: [errand] }), undoes("send"));
    expect(scenario.decision.refusal?.message).toContain(`the run has another step ${undo}`);
  });

  it("is possible for an act with an invalid output", () => {
    const scenario = accepted().when(
      starts("send"),
      answers("send", "what?", { flaw: invalidOutput }),
      undoes("send"),
      does(undo),
    );
    expect(scenario.states).toEqual({ send: "compensated", thank: "skipped", [undo]: "succeeded" });
  });

  it("is possible in an ended or cancelled run and after the deadline, without another approval", () => {
    const gated = given(
      accepts(plan(step("send", { tool: undoable })), { mode: "human_gated", deadline_at: later(10) }),
    );
    const over = gated.when(starts("send"), approves("send"), starts("send"), cancels, answers("send"));
    expect(over.run.ended?.status).toBe("cancelled");
    const scenario = over.when(pass(1000), undoes("send"), starts(undo));
    expect(scenario.states).toEqual({ send: "compensating", [undo]: "running" });
    expect(scenario.run.ended).toBeNull();
    expect(scenario.when(answers(undo)).run.ended?.status).toBe("cancelled");
  });
});

describe("a successful undo", () => {
  it("marks its act as undone, and shows whether a verifier confirmed it", () => {
    for (const confirmed of [true, false]) {
      const scenario = undoing(starts(undo), answers(undo, null, { confirmed }));
      expect(scenario.newEvent("step.compensated")).toMatchObject({
        step_id: "send",
        confirmed,
        ledger: { version: 4 },
      });
      expect(scenario.step("send")).toMatchObject({
        standing: { state: "compensated", confirmed },
        world: "compensated",
      });
      expect(row(scenario)).toMatchObject({ state: "compensated" });
      expect(row(scenario, "undo send 1")).toMatchObject({ state: "committed" });
    }
  });

  it("prevents the start of the dependents of its act", () => {
    expect(undoing(does(undo)).states).toEqual({ send: "compensated", thank: "ready", [undo]: "succeeded" });
    expect(undoing(does(undo), starts("thank")).states).toMatchObject({ thank: "rejected" });
  });

  it("can undo an errand like any act", () => {
    const errand = {
      step: step("send.1", { tool: undoable }),
      pin: null,
      cause: { by: "errand", of: "send" as StepId },
    } as const;
    const scenario = accepted().when(starts("send"), answers("send", 1, { errands: [errand] }), does("send.1"));
    expect(scenario.when(undoes("send.1", undoable), does("undo.send.1.1")).states).toMatchObject({
      "send.1": "compensated",
    });
  });

  it("makes pending dependents wait for its act again", () => {
    const both = plan(step("send", { tool: undoable }), step("b"), step("last", { after: ["send", "b"] }));
    const scenario = given(accepts(both)).when(does("send"), undoes("send"));
    expect(scenario.step("last").missing).toBe(2);
    expect(scenario.when(does("b")).states).toMatchObject({ last: "pending" });
    expect(scenario.when(does("b"), does(undo)).states).toMatchObject({ send: "compensated", last: "skipped" });
  });

  it("may return any output, because no step uses it", () => {
    expect(undoing(starts(undo), answers(undo, "?", { flaw: invalidOutput })).states).toMatchObject({
      send: "compensated",
    });
  });

  it("is not reverted by a resume", () => {
    const scenario = given(accepts(plan(step("send", { tool: undoable }), step("b", { after: ["send"] })))).when(
      does("send"),
    );
    const undone = scenario.when(undoes("send"), does(undo), starts("b"));
    expect(undone.run.ended?.status).toBe("failed");
    expect(undone.when(resumes).states).toEqual({ send: "compensated", b: "rejected", [undo]: "succeeded" });
  });
});

/** Holds every undo. */
const careful: Guard = {
  id: "careful",
  judge: ({ step: { cause } }) =>
    cause?.by === "undo"
      ? { kind: "hold", rule: "careful", reason: "undoing is an act, too", demand: { role: null } }
      : { kind: "allow" },
};

describe("a failed undo", () => {
  const failed = undoing(starts(undo), saysNotDone(undo, "AUTH_FORBIDDEN"));

  it("leaves its act in effect, with the reason", () => {
    expect(failed.standing("send")).toMatchObject({ state: "compensation_failed", fault: { code: "AUTH_FORBIDDEN" } });
    expect(row(failed)).toMatchObject({ state: "compensation_failed" });
  });

  it("can be requested again as the same step with the same key", () => {
    const again = failed.when(undoes("send"));
    expect(again.newEventTypes).toEqual(["step.compensating", "step.readied"]);
    expect(again.states).toMatchObject({ send: "compensating", [undo]: "ready" });
    const scenario = again.when(starts(undo), answers(undo));
    expect(scenario.newEvent("step.started")).toMatchObject({ attempt: 2, ledger: { version: 3, generation: 1 } });
    expect(scenario.states).toMatchObject({ send: "compensated", [undo]: "succeeded" });
  });

  it.each([
    ["a guard refuses it", undoing(starts(undo, { flaw: fault("INVALID_INPUT", "no") }))],
    ["its tool is unknown", undoing(starts(undo, { tool: null }))],
  ])("leaves its act in effect when %s", (_, scenario) => {
    expect(scenario.states).toMatchObject({ send: "compensation_failed", [undo]: "rejected" });
    expect(scenario.when(undoes("send"), does(undo)).states).toMatchObject({ send: "compensated" });
  });

  it.each([
    ["a person rejects it", rejects(undo, bob)],
    ["its gate expires", [pass(999_999_999), (scenario: GivenRun) => approves(undo, bob)(scenario)] as GivenAction],
  ])("leaves its act in effect when %s", (_, move) => {
    const held = done().withGuards(careful).when(undoes("send"), starts(undo));
    expect(held.states).toMatchObject({ send: "compensating", [undo]: "waiting_approval" });
    const scenario = held.when(move);
    expect(scenario.states).toMatchObject({ send: "compensation_failed", [undo]: "rejected" });
    expect(held.when(approves(undo, bob), starts(undo)).states).toMatchObject({ [undo]: "running" });
  });

  it("can be approved only as recorded, without an edit", () => {
    const wary: Guard = {
      id: "wary",
      judge: () => ({ kind: "hold", rule: "wary", reason: "why", demand: { role: null } }),
    };
    const held = undoing().withGuards(wary).when(starts(undo));
    const { call } = held.gate(undo);
    const other = held.when(approves(undo, bob, { edit: { call: { ...call, input: {} } } }));
    expect(other.decision.refusal).toMatchObject({
      code: "NOT_POSSIBLE",
      message: expect.stringContaining(`${undo} undoes a recorded act`),
    });
    expect(other.newEventTypes).toEqual(["gate.contested"]);
  });

  it("is decided by another person than its latest requester", () => {
    const held = done()
      .withGuards(careful)
      .when(undoes("send", undefined, ana), starts(undo));
    expect(held.when(approves(undo, ana)).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    expect(requesterOf(held.run, held.step(undo))).toBe("ana");
    const again = held.when(rejects(undo, bob), undoes("send", undefined, bob), starts(undo));
    expect(requesterOf(again.run, again.step(undo))).toBe("bob");
    expect(again.when(approves(undo, bob)).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    expect(again.when(approves(undo, ana), starts(undo)).states).toMatchObject({ [undo]: "running" });
  });

  it("skips the dependents of its act and no other step", () => {
    const safe: ToolFacts = { ...undoable, safeIfAbsent: true };
    const scenario = accepted(safe).when(starts("send"), timesOut("send"), undoes("send"));
    expect(scenario.states).toEqual({ send: "compensating", thank: "pending", [undo]: "ready" });
    const over = scenario.when(starts(undo), saysNotDone(undo, "AUTH_FORBIDDEN"));
    expect(over.states).toEqual({ send: "compensation_failed", thank: "skipped", [undo]: "failed_final" });
    expect(over.run.ended?.status).toBe("failed");
  });
});

describe("the undo of an act in doubt", () => {
  const safe: ToolFacts = { ...undoable, safeIfAbsent: true };
  const scenario = accepted(safe).when(starts("send"), timesOut("send"), undoes("send"));

  it("is possible if the tool declares it safe", () => {
    expect(scenario.when(starts(undo)).step(undo).call?.input).toMatchObject({ output: null });
    expect(scenario.when(does(undo)).states).toEqual({ send: "compensated", thank: "skipped", [undo]: "succeeded" });
  });

  it("keeps a late value of the act as evidence", () => {
    const grant = scenario.grant("send");
    const late = scenario.when(answers("send", { id: "late" }, { grant }));
    expect(late.newEventTypes).toEqual(["evidence.kept"]);
    expect(late.states).toMatchObject({ send: "compensating" });
  });
});

describe("an undo in doubt", () => {
  const verifiable: ToolFacts = { ...undoable, verifies: true, idempotentForMs: 600_000 };
  const start = accepted(verifiable).when(does("send"), undoes("send"), starts(undo));
  const doubted = start.when(timesOut(undo));

  it("is settled like any act, and settles its act", () => {
    expect(doubted.states).toMatchObject({ send: "compensating", [undo]: "in_doubt" });
    const settled = doubted.when(settles(undo, sightingHappened(null)));
    expect(settled.newEvent("step.compensated").confirmed).toBe(true);
    expect(settled.states).toMatchObject({ send: "compensated", [undo]: "succeeded" });
  });

  it("succeeds with any output", () => {
    expect(doubted.when(settles(undo, sightingHappened("?"), { flaw: invalidOutput })).states).toMatchObject({
      send: "compensated",
    });
  });

  it("is run again when it is found absent, in a cancelled run as well", () => {
    const twice = doubted.when(cancels, settles(undo, sightingAbsent), pass(100_000), settles(undo, sightingAbsent));
    expect(twice.states).toEqual({ send: "compensating", thank: "cancelled", [undo]: "ready" });
    expect(twice.when(does(undo)).states).toMatchObject({ send: "compensated" });
    const never = start.when(cancels, recovers({ id: undo, mark: "no" }));
    expect(never.states).toMatchObject({ [undo]: "ready" });
  });

  it("is sent again under its promise, in a cancelled run as well", () => {
    expect(doubted.when(cancels, settles(undo, null), starts(undo)).states).toMatchObject({ [undo]: "running" });
  });

  it("is not confirmed by the decision of a person", () => {
    const verifier = { id: "verifier", kind: "person", tenant: doubted.run.tenant } as const;
    const scenario = doubted.when(resolves(undo, resolvedHappened(null), verifier));
    expect(scenario.standing("send")).toEqual({ state: "compensated", confirmed: false });
  });

  it("leaves its act in effect when a person gives it up, and cannot be requested again", () => {
    const lost = doubted.when(resolves(undo, { as: "give_up" }));
    expect(lost.newEventTypes).toEqual(["step.settled", "step.uncompensated"]);
    expect(lost.standing("send")).toMatchObject({ state: "compensation_failed", fault: { code: "OUTCOME_UNKNOWN" } });
    const again = lost.when(undoes("send"));
    expect(again.decision.refusal?.message).toContain("was given up and may have happened");
    expect(again.newEvents).toEqual([]);
  });

  it("succeeds with a late value", () => {
    const late = doubted.when(answers(undo, null, { confirmed: true }));
    expect(late.standing("send")).toEqual({ state: "compensated", confirmed: true });
  });

  it("is not cancelled or skipped with the run", () => {
    expect(doubted.when(cancels).states).toMatchObject({ send: "compensating", [undo]: "in_doubt" });
    const ended = doubted.when(starts("thank"));
    expect(ended.run.stopped).toBe("thank");
    expect(ended.states).toEqual({ send: "compensating", thank: "rejected", [undo]: "in_doubt" });
  });
});
