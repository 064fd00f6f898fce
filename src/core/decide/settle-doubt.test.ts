import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  cancels,
  does,
  fails,
  invalidOutput,
  recovers,
  resolvedHappened,
  resolves,
  resumes,
  saysNotDone,
  settles,
  sightingAbsent,
  sightingHappened,
  sightingUnclear,
  starts,
  timesOut,
} from "../../testing/given/commands.ts";
import {
  ana,
  cron,
  fakeKey,
  later,
  ledgerFact,
  plan,
  planWait,
  readPage,
  robin,
  sendMail,
  step,
} from "../../testing/given/fixtures.ts";
import { type GivenAction, type GivenRun, given, pass } from "../../testing/given/given.ts";
import type { ToolFacts } from "../call/proposal.ts";
import { runResult } from "../run/run-result.ts";
import { CALL_WITHIN_MS } from "../run/step.ts";
import type { StepId } from "../values/ids.ts";
import type { Command } from "./command.ts";

const verifiable: ToolFacts = { ...sendMail, verifies: true };
const quiet = 90_000; // The timeout and settleAfterMs.

/** An act in doubt since noon, with a dependent step. */
function inDoubt(tool: ToolFacts, ...moves: readonly GivenAction[]): GivenRun {
  const steps = plan(step("send", { tool }), step("thank", { after: ["send"] }), step("read", { tool: readPage }));
  return given(accepts(steps)).when(starts("send"), timesOut("send"), ...moves);
}

const row = (scenario: GivenRun) => scenario.ledgerRow(fakeKey("send"));

describe("settling a doubt with a verifier", () => {
  it("comes first if the tool has one; else a person must settle the doubt", () => {
    expect(inDoubt(verifiable).standing("send")).toMatchObject({ doubt: { next: { do: "settle" }, absent_at: null } });
    expect(inDoubt(sendMail).standing("send")).toMatchObject({ doubt: { next: { do: "ask" } } });
    expect(inDoubt(verifiable).run.paces.moving).toBe(2);
    expect(inDoubt(sendMail).run.paces).toMatchObject({ moving: 1, waiting: 1 });
  });

  it("records that the act happened, and its dependents continue", () => {
    const scenario = inDoubt(verifiable).when(settles("send", sightingHappened({ id: "m1" })));
    expect(scenario.newEvent("step.settled")).toMatchObject({
      settled: { as: "happened", output: { id: "m1" }, fault: null },
      by: "verifier",
      ledger: { version: 3, generation: 1 },
    });
    expect(scenario.states).toMatchObject({ send: "succeeded", thank: "ready" });
    expect(scenario.step("send")).toMatchObject({
      world: "side_effect_committed",
      act: { output: { id: "m1" }, receipt: 4 },
    });
    expect(row(scenario)).toMatchObject({ state: "committed", receipt: 4, usable: true });
  });

  it("records that the act happened with an invalid output, and no step uses the output", () => {
    const scenario = inDoubt(verifiable).when(
      starts("read"),
      settles("send", sightingHappened("what?"), { flaw: invalidOutput, in_flight: ["read" as StepId] }),
    );
    expect(scenario.states).toEqual({ send: "failed_final", thank: "skipped", read: "ready" });
    expect(scenario.step("send").world).toBe("compensatable_failure");
    expect(row(scenario)).toMatchObject({ state: "committed", usable: false });
    expect(scenario.when(answers("read")).states).toMatchObject({ read: "succeeded" });
  });

  it("accepts absence only the second time, after the quiet time", () => {
    const once = inDoubt(verifiable).when(pass(10), settles("send", sightingAbsent));
    expect(once.newEvent("step.probed")).toMatchObject({ saw: "absent", next_at: later(quiet) });
    expect(once.standing("send")).toMatchObject({
      doubt: { absent_at: later(10), next: { do: "look_again", at: later(quiet) } },
    });
    const early = once.when(pass(quiet - 11), settles("send", sightingAbsent));
    expect(early.newEvent("step.probed").next_at).toBe(later(quiet));
    const twice = once.when(pass(quiet - 10), settles("send", sightingAbsent));
    expect(twice.newEvent("step.settled")).toMatchObject({ settled: { as: "absent" }, by: "verifier" });
    expect(twice.states).toMatchObject({ send: "ready", thank: "pending" });
    expect(row(twice)).toMatchObject({ state: "absent" });
    expect(twice.step("send").world).toBeNull();
  });

  it("verifies twice also if the first verification came late", () => {
    const once = inDoubt(verifiable).when(pass(quiet * 2), settles("send", sightingAbsent));
    expect(once.newEvent("step.probed").next_at).toBe(later(quiet * 2));
    expect(once.when(settles("send", sightingAbsent)).states).toMatchObject({ send: "ready" });
  });

  it("starts again if another result comes in between", () => {
    const scenario = inDoubt(verifiable).when(
      settles("send", sightingAbsent),
      pass(quiet),
      settles("send", sightingUnclear),
    );
    expect(scenario.standing("send")).toMatchObject({ doubt: { absent_at: null, next: { do: "ask" } } });
    expect(scenario.when(settles("send", sightingAbsent)).newEventTypes).toEqual(["step.probed"]);
  });

  it("runs an absent act again under the same key and generation", () => {
    const scenario = inDoubt(verifiable).when(
      settles("send", sightingAbsent),
      pass(quiet),
      settles("send", sightingAbsent),
      starts("send"),
    );
    expect(scenario.newEvent("step.started")).toMatchObject({ attempt: 2, ledger: { version: 4, generation: 1 } });
    expect(scenario.step("send").act).toMatchObject({ sent_at: later(quiet), doubt: null });
  });

  it("leaves the doubt to a person with the reason if the result is unknown", () => {
    expect(inDoubt(verifiable).when(settles("send", sightingUnclear)).newEvent("step.probed")).toMatchObject({
      saw: "unknown",
      why: "the mail server is silent",
      next_at: null,
    });
    expect(inDoubt(verifiable).when(settles("send", null)).newEvent("step.probed").why).toBe(
      "no verifier can settle it",
    );
  });

  it("does not change a step that is not in doubt", () => {
    const scenario = given(accepts(plan(step("send", { tool: verifiable })))).when(starts("send"));
    expect(scenario.when(settles("send", sightingHappened(1))).newEvents).toEqual([]);
  });
});

describe("settling a doubt in a cancelled or stopped run", () => {
  it("cancels an absent act in a cancelled run", () => {
    const scenario = inDoubt(
      verifiable,
      cancels,
      settles("send", sightingAbsent),
      pass(quiet),
      settles("send", sightingAbsent),
    );
    expect(scenario.states).toEqual({ send: "cancelled", thank: "cancelled", read: "cancelled" });
    expect(scenario.run.ended?.status).toBe("cancelled");
    expect(scenario.step("send").world).toBeNull();
  });

  it("skips an absent act in a stopped run; a resume runs it under its key", () => {
    const ended = inDoubt(verifiable, starts("read"), fails("read"), settles("send", sightingAbsent), pass(quiet));
    expect(ended.states).toEqual({ send: "in_doubt", thank: "skipped", read: "failed_final" });
    const scenario = ended.when(settles("send", sightingAbsent));
    expect(scenario.standing("send")).toMatchObject({ state: "skipped", fault: { code: "ABORTED" } });
    expect(scenario.run.ended?.status).toBe("failed");
    const resumed = scenario.when(resumes);
    expect(resumed.states).toEqual({ send: "ready", thank: "pending", read: "ready" });
    expect(resumed.when(starts("send")).newEvent("step.started").ledger).toEqual({ version: 4, generation: 1 });
  });

  it("records that the act happened; skipped steps stay skipped until a resume", () => {
    const ended = inDoubt(verifiable, starts("read"), fails("read"), settles("send", sightingHappened({ id: 1 })));
    expect(ended.states).toEqual({ send: "succeeded", thank: "skipped", read: "failed_final" });
    expect(ended.run.ended?.status).toBe("partial");
    const resumed = ended.when(resumes);
    expect(resumed.states).toEqual({ send: "succeeded", thank: "ready", read: "ready" });
    expect(resumed.when(does("thank"), does("read")).run.ended?.status).toBe("completed");
  });
});

describe("resolving a doubt", () => {
  const doubted = inDoubt(sendMail);

  it.each([robin, cron])("is refused for $kind: only a person can", (principal) => {
    const scenario = doubted.when(resolves("send", { as: "absent" }, principal));
    expect(scenario.decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    expect(scenario.newEvents).toEqual([]);
  });

  it("needs an existing step", () => {
    expect(doubted.when(resolves("unknown", { as: "absent" })).decision.refusal?.code).toBe("STEP_NOT_FOUND");
  });

  it.each([
    ["ready", "read"],
    ["pending", "thank"],
  ])("is refused for a step that is %s", (_, id) => {
    expect(doubted.when(resolves(id, { as: "give_up" })).decision.refusal?.code).toBe("NOT_POSSIBLE");
  });

  it("as happened records the output of the person if it is valid", () => {
    const scenario = doubted.when(resolves("send", resolvedHappened({ id: "found" })));
    expect(scenario.newEvent("step.settled")).toMatchObject({
      by: "ana",
      reason: "I looked",
      settled: { as: "happened" },
    });
    expect(scenario.states).toMatchObject({ send: "succeeded", thank: "ready" });
    const invalid = doubted.when(resolves("send", resolvedHappened("what?", invalidOutput)));
    expect(invalid.decision.refusal).toEqual(invalidOutput);
    expect(invalid.newEvents).toEqual([]);
  });

  it("applies only to the attempt that the decision names", () => {
    const later = doubted.when(resolves("send", { as: "absent" }), starts("send"), timesOut("send"));
    expect(runResult(later.run).steps.send).toMatchObject({ state: "in_doubt", attempt: 2 });
    for (const verdict of [
      { as: "absent" },
      { as: "give_up" },
      resolvedHappened(1),
      { as: "undo", tool: sendMail },
    ] as const) {
      const stale = later.when(resolves("send", verdict, ana, { attempt: 1 }));
      expect(stale.decision.refusal).toMatchObject({
        code: "NOT_POSSIBLE",
        message: expect.stringContaining("attempt 1"),
      });
      expect(stale.newEvents).toEqual([]);
    }
    expect(later.when(resolves("send", { as: "absent" }, ana, { attempt: 2 })).states).toMatchObject({ send: "ready" });
    expect(later.when(resolves("read", { as: "absent" }, ana, { attempt: 2 })).decision.refusal?.code).toBe(
      "NOT_POSSIBLE",
    );
  });

  it("as verify schedules a verification for any principal, and settles nothing by itself", () => {
    const unclearly = inDoubt(verifiable, settles("send", sightingUnclear));
    const scenario = unclearly.when(pass(5000), resolves("send", { as: "verify" }, robin));
    expect(scenario.newEvent("step.probed")).toMatchObject({
      saw: "unknown",
      why: "robin requested another verification",
    });
    expect(scenario.standing("send")).toMatchObject({ doubt: { next: { do: "look_again", at: scenario.now } } });
    expect(scenario.when(resolves("send", { as: "verify" })).newEvents).toEqual([]);
    expect(scenario.when(settles("send", sightingHappened({ id: 1 }))).states).toMatchObject({ send: "succeeded" });
  });

  it("as verify does nothing if a verification is due, and moves a later one forward", () => {
    expect(inDoubt(verifiable).when(resolves("send", { as: "verify" })).newEvents).toEqual([]);
    const once = inDoubt(verifiable, settles("send", sightingAbsent), pass(5000));
    const scenario = once.when(resolves("send", { as: "verify" }));
    expect(scenario.standing("send")).toMatchObject({ doubt: { absent_at: null, next: { at: scenario.now } } });
  });

  it.each([
    ["the tool has no verifier", inDoubt(sendMail), "send"],
    ["there is no doubt", inDoubt(verifiable), "read"],
  ])("as verify is refused if %s", (_, scenario, id) => {
    expect(scenario.when(resolves(id, { as: "verify" })).decision.refusal?.code).toBe("NOT_POSSIBLE");
  });

  it("as absent makes the act ready at once", () => {
    const scenario = doubted.when(resolves("send", { as: "absent" }));
    expect(scenario.states).toMatchObject({ send: "ready" });
    expect(row(scenario)).toMatchObject({ state: "absent" });
  });

  it("as give_up fails the step finally", () => {
    const scenario = doubted.when(resolves("send", { as: "give_up" }));
    expect(scenario.standing("send")).toMatchObject({ state: "failed_final", fault: { code: "OUTCOME_UNKNOWN" } });
    expect(scenario.states).toEqual({ send: "failed_final", thank: "skipped", read: "skipped" });
    expect(row(scenario)).toMatchObject({ state: "given_up" });
    expect(scenario.when(resumes).states).toEqual({ send: "failed_final", thank: "skipped", read: "ready" });
    expect(scenario.when(resolves("send", resolvedHappened(1))).decision.refusal?.code).toBe("NOT_POSSIBLE");
  });

  it("records that no reason was given", () => {
    const scenario = doubted.when((now) => ({ ...resolves("send", { as: "give_up" })(now), reason: "" }) as Command);
    expect(scenario.standing("send")).toMatchObject({ fault: { message: "ana gave up on send: no reason given" } });
  });

  it("can replace an invalid output of an act, and change nothing else", () => {
    const invalid = given(accepts(plan(step("send", { tool: sendMail }), step("thank", { after: ["send"] })))).when(
      starts("send"),
      answers("send", "what?", { flaw: invalidOutput }),
    );
    expect(invalid.states).toEqual({ send: "failed_final", thank: "skipped" });
    for (const as of ["absent", "give_up"] as const)
      expect(invalid.when(resolves("send", { as })).decision.refusal?.code).toBe("NOT_POSSIBLE");
    const resolved = invalid.when(resolves("send", resolvedHappened({ id: 1 })));
    expect(resolved.states).toEqual({ send: "succeeded", thank: "skipped" });
    expect(row(resolved)).toMatchObject({ state: "committed", usable: true, receipt: 5 });
    expect(resolved.when(resumes, does("thank")).run.ended?.status).toBe("completed");
  });

  it("is refused for an act that failed and did not happen", () => {
    const failed = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"), saysNotDone("send"));
    expect(failed.when(resolves("send", resolvedHappened(1))).decision.refusal?.code).toBe("NOT_POSSIBLE");
  });
});

describe("recovery after the death of a worker", () => {
  const running = given(accepts(plan(step("send", { tool: verifiable }), step("thank", { after: ["send"] })))).when(
    starts("send"),
  );

  it("runs an act again whose send marker is missing, because it was never called", () => {
    const scenario = running.when(pass(5), recovers({ id: "send", mark: "no" }));
    expect(scenario.newEvent("step.settled")).toMatchObject({
      settled: { as: "not_done" },
      by: "marker",
      ledger: { version: 2 },
    });
    expect(scenario.states).toMatchObject({ send: "ready" });
    expect(scenario.when(starts("send")).newEvent("step.started")).toMatchObject({
      attempt: 2,
      ledger: { version: 3, generation: 1 },
    });
  });

  it.each(["yes", "unknown"] as const)("doubts an act whose send marker is %s", (mark) => {
    const scenario = running.when(pass(5), recovers({ id: "send", mark }));
    expect(scenario.newEvent("step.doubted")).toMatchObject({
      attempt: 1,
      fault: { code: "OUTCOME_UNKNOWN" },
      ledger: { version: 2, generation: 1 },
      exits: { verify: true, resend_until: null, quiet_at: later(5 + CALL_WITHIN_MS + quiet) },
    });
    expect(scenario.states).toMatchObject({ send: "in_doubt" });
    expect(scenario.run.spent.attempts).toBe(1);
  });

  it("leaves a doubt to a person if the tool is missing", () => {
    const scenario = running.when(recovers({ id: "send", mark: "yes", tool: null }));
    expect(scenario.newEvent("step.doubted").exits).toEqual({
      verify: false,
      resend_until: null,
      quiet_at: later(CALL_WITHIN_MS),
    });
    expect(scenario.standing("send")).toMatchObject({ doubt: { next: { do: "ask" } } });
  });

  it("readies steps that do not act, and does not change steps that were not running", () => {
    const gated = given(accepts(plan(step("a", { gate: "human_confirm" }), step("b")))).when(starts("a"));
    const scenario = gated.when(approves("a"));
    const left = scenario.when(starts("a"), recovers({ id: "a" }, { id: "b" }));
    expect(left.newEventTypes).toEqual(["step.started", "step.readied"]);
    expect(left.states).toEqual({ a: "ready", b: "ready" });
    expect(left.when(starts("a")).newEvent("step.started").attempt).toBe(2);
  });

  it("does not change steps that wait for a time or for the act of another run", () => {
    const waiting = given(accepts(plan(planWait("w", { ms: 5000 }), step("send", { tool: sendMail }))))
      .withLedgerFact(ledgerFact({ state: "started" }))
      .when(starts("w"), starts("send"));
    expect(waiting.states).toEqual({ w: "waiting", send: "waiting" });
    expect(waiting.when(recovers({ id: "w", tool: readPage }, { id: "send" })).newEvents).toEqual([]);
  });

  it("readies no step in a run that is cancelled or stopped", () => {
    const act = given(accepts(plan(step("send", { tool: sendMail }), step("a")))).when(starts("send"));
    expect(act.when(cancels, recovers({ id: "send", mark: "no" })).states).toEqual({
      send: "cancelled",
      a: "cancelled",
    });
    const ended = act.when(starts("a"), fails("a"), recovers({ id: "send", mark: "no" }));
    expect(ended.states).toEqual({ send: "skipped", a: "failed_final" });
  });
});
