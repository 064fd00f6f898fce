import { describe, expect, it } from "vitest";
import {
  ana,
  cron,
  keyOf,
  later,
  ledgerFact,
  plan,
  readPage,
  robin,
  sendMail,
  step,
  wait,
} from "../../testing/given/cast.ts";
import {
  absent,
  accepts,
  answers,
  approves,
  cancels,
  does,
  fails,
  goesUnheard,
  happened,
  misshapen,
  recovers,
  resolves,
  resumes,
  saysNotDone,
  seen,
  settles,
  starts,
  unclear,
} from "../../testing/given/moves.ts";
import { given, type Move, pass, type Told } from "../../testing/given.ts";
import type { Command } from "../command.ts";
import type { StepId } from "../id.ts";
import type { ToolFacts } from "../proposal.ts";
import { resultOf } from "../result.ts";
import { CALL_WITHIN_MS } from "../step.ts";

const looks: ToolFacts = { ...sendMail, verifies: true };
const quiet = 90_000; // Timeout and settleAfter, from when it was last heard of.

/** An act in doubt since noon, with a step behind it. */
function inDoubt(tool: ToolFacts, ...moves: readonly Move[]): Told {
  const steps = plan(step("send", { tool }), step("thank", { after: ["send"] }), step("read", { tool: readPage }));
  return given(accepts(steps)).when(starts("send"), goesUnheard("send"), ...moves);
}

const row = (told: Told) => told.ledgerRow(keyOf("send"));

describe("settling by looking", () => {
  it("comes first where the tool can look, and is asked of a person where it cannot", () => {
    expect(inDoubt(looks).standing("send")).toMatchObject({ doubt: { next: { do: "settle" }, absent_at: null } });
    expect(inDoubt(sendMail).standing("send")).toMatchObject({ doubt: { next: { do: "ask" } } });
    expect(inDoubt(looks).run.paces.moving).toBe(2);
    expect(inDoubt(sendMail).run.paces).toMatchObject({ moving: 1, waiting: 1 });
  });

  it("adopts what happened, and whoever waited goes on", () => {
    const told = inDoubt(looks).when(settles("send", seen({ id: "m1" })));
    expect(told.said("step.settled")).toMatchObject({
      settled: { as: "happened", output: { id: "m1" }, fault: null },
      by: "verifier",
      ledger: { version: 3, generation: 1 },
    });
    expect(told.states).toMatchObject({ send: "succeeded", thank: "ready" });
    expect(told.step("send")).toMatchObject({
      world: "side_effect_committed",
      act: { output: { id: "m1" }, receipt: 4 },
    });
    expect(row(told)).toMatchObject({ state: "committed", receipt: 4, usable: true });
  });

  it("adopts what happened though it does not fit, and nobody builds on it", () => {
    const told = inDoubt(looks).when(
      starts("read"),
      settles("send", seen("what?"), { flaw: misshapen, in_flight: ["read" as StepId] }),
    );
    expect(told.states).toEqual({ send: "failed_final", thank: "skipped", read: "ready" });
    expect(told.step("send").world).toBe("compensatable_failure");
    expect(row(told)).toMatchObject({ state: "committed", usable: false });
    expect(told.when(answers("read")).states).toMatchObject({ read: "succeeded" });
  });

  it("believes absence only the second time, and that no earlier than the quiet time allows", () => {
    const once = inDoubt(looks).when(pass(10), settles("send", absent));
    expect(once.said("step.probed")).toMatchObject({ saw: "absent", next_at: later(quiet) });
    expect(once.standing("send")).toMatchObject({
      doubt: { absent_at: later(10), next: { do: "look_again", at: later(quiet) } },
    });
    const early = once.when(pass(quiet - 11), settles("send", absent));
    expect(early.said("step.probed").next_at).toBe(later(quiet));
    const twice = once.when(pass(quiet - 10), settles("send", absent));
    expect(twice.said("step.settled")).toMatchObject({ settled: { as: "absent" }, by: "verifier" });
    expect(twice.states).toMatchObject({ send: "ready", thank: "pending" });
    expect(row(twice)).toMatchObject({ state: "absent" });
    expect(twice.step("send").world).toBeNull();
  });

  it("looks twice though the first look came late", () => {
    const once = inDoubt(looks).when(pass(quiet * 2), settles("send", absent));
    expect(once.said("step.probed").next_at).toBe(later(quiet * 2));
    expect(once.when(settles("send", absent)).states).toMatchObject({ send: "ready" });
  });

  it("begins to count anew when something else was seen in between", () => {
    const told = inDoubt(looks).when(settles("send", absent), pass(quiet), settles("send", unclear));
    expect(told.standing("send")).toMatchObject({ doubt: { absent_at: null, next: { do: "ask" } } });
    expect(told.when(settles("send", absent)).types).toEqual(["step.probed"]);
  });

  it("runs what is absent again, under the same key and generation", () => {
    const told = inDoubt(looks).when(settles("send", absent), pass(quiet), settles("send", absent), starts("send"));
    expect(told.said("step.started")).toMatchObject({ attempt: 2, ledger: { version: 4, generation: 1 } });
    expect(told.step("send").act).toMatchObject({ sent_at: later(quiet), doubt: null });
  });

  it("asks a person when it cannot tell, with the reason", () => {
    expect(inDoubt(looks).when(settles("send", unclear)).said("step.probed")).toMatchObject({
      saw: "unknown",
      why: "the mail server is silent",
      next_at: null,
    });
    expect(inDoubt(looks).when(settles("send", null)).said("step.probed").why).toBe("nobody here can tell");
  });

  it("has nothing to say about a step that is not in doubt", () => {
    const told = given(accepts(plan(step("send", { tool: looks })))).when(starts("send"));
    expect(told.when(settles("send", seen(1))).news).toEqual([]);
  });
});

describe("settling in a run that goes nowhere any more", () => {
  it("cancels what is found absent in a cancelled run", () => {
    const told = inDoubt(looks, cancels, settles("send", absent), pass(quiet), settles("send", absent));
    expect(told.states).toEqual({ send: "cancelled", thank: "cancelled", read: "cancelled" });
    expect(told.run.ended?.status).toBe("cancelled");
    expect(told.step("send").world).toBeNull();
  });

  it("skips what is found absent once a step has ended the plan; a resume runs it under its key", () => {
    const ended = inDoubt(looks, starts("read"), fails("read"), settles("send", absent), pass(quiet));
    expect(ended.states).toEqual({ send: "in_doubt", thank: "skipped", read: "failed_final" });
    const told = ended.when(settles("send", absent));
    expect(told.standing("send")).toMatchObject({ state: "skipped", fault: { code: "ABORTED" } });
    expect(told.run.ended?.status).toBe("failed");
    const resumed = told.when(resumes);
    expect(resumed.states).toEqual({ send: "ready", thank: "pending", read: "ready" });
    expect(resumed.when(starts("send")).said("step.started").ledger).toEqual({ version: 4, generation: 1 });
  });

  it("adopts what happened, and leaves skipped what was skipped until a resume", () => {
    const ended = inDoubt(looks, starts("read"), fails("read"), settles("send", seen({ id: 1 })));
    expect(ended.states).toEqual({ send: "succeeded", thank: "skipped", read: "failed_final" });
    expect(ended.run.ended?.status).toBe("partial");
    const resumed = ended.when(resumes);
    expect(resumed.states).toEqual({ send: "succeeded", thank: "ready", read: "ready" });
    expect(resumed.when(does("thank"), does("read")).run.ended?.status).toBe("completed");
  });
});

describe("resolving", () => {
  const doubted = inDoubt(sendMail);

  it.each([robin, cron])("is for people only, not for $kind", (principal) => {
    const told = doubted.when(resolves("send", { as: "absent" }, principal));
    expect(told.decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    expect(told.news).toEqual([]);
  });

  it("needs a step that is there", () => {
    expect(doubted.when(resolves("nobody", { as: "absent" })).decision.refusal?.code).toBe("STEP_NOT_FOUND");
  });

  it.each([
    ["ready", "read"],
    ["pending", "thank"],
  ])("does not settle a step that is %s", (_, id) => {
    expect(doubted.when(resolves(id, { as: "give_up" })).decision.refusal?.code).toBe("NOT_POSSIBLE");
  });

  it("happened: takes the receipt that a person gives, if it fits", () => {
    const told = doubted.when(resolves("send", happened({ id: "found" })));
    expect(told.said("step.settled")).toMatchObject({ by: "ana", reason: "I looked", settled: { as: "happened" } });
    expect(told.states).toMatchObject({ send: "succeeded", thank: "ready" });
    const flawed = doubted.when(resolves("send", happened("what?", misshapen)));
    expect(flawed.decision.refusal).toEqual(misshapen);
    expect(flawed.news).toEqual([]);
  });

  it("is about the attempt that was looked at, and about no later one", () => {
    const later = doubted.when(resolves("send", { as: "absent" }), starts("send"), goesUnheard("send"));
    expect(resultOf(later.run).steps.send).toMatchObject({ state: "in_doubt", attempt: 2 });
    for (const verdict of [{ as: "absent" }, { as: "give_up" }, happened(1), { as: "undo", tool: sendMail }] as const) {
      const stale = later.when(resolves("send", verdict, ana, { attempt: 1 }));
      expect(stale.decision.refusal).toMatchObject({
        code: "NOT_POSSIBLE",
        message: expect.stringContaining("attempt 1"),
      });
      expect(stale.news).toEqual([]);
    }
    expect(later.when(resolves("send", { as: "absent" }, ana, { attempt: 2 })).states).toMatchObject({ send: "ready" });
    expect(later.when(resolves("read", { as: "absent" }, ana, { attempt: 2 })).decision.refusal?.code).toBe(
      "NOT_POSSIBLE",
    );
  });

  it("verify: has the world looked at once more, whoever asks, and settles nothing by itself", () => {
    const unclearly = inDoubt(looks, settles("send", unclear));
    const told = unclearly.when(pass(5000), resolves("send", { as: "verify" }, robin));
    expect(told.said("step.probed")).toMatchObject({ saw: "unknown", why: "robin asked to look again" });
    expect(told.standing("send")).toMatchObject({ doubt: { next: { do: "look_again", at: told.now } } });
    expect(told.when(resolves("send", { as: "verify" })).news).toEqual([]);
    expect(told.when(settles("send", seen({ id: 1 }))).states).toMatchObject({ send: "succeeded" });
  });

  it("verify: adds nothing where it is about to be looked at, and brings forward what is to be looked at later", () => {
    expect(inDoubt(looks).when(resolves("send", { as: "verify" })).news).toEqual([]);
    const once = inDoubt(looks, settles("send", absent), pass(5000));
    const told = once.when(resolves("send", { as: "verify" }));
    expect(told.standing("send")).toMatchObject({ doubt: { absent_at: null, next: { at: told.now } } });
  });

  it.each([
    ["nobody can look", inDoubt(sendMail), "send"],
    ["there is no doubt", inDoubt(looks), "read"],
  ])("verify: is refused where %s", (_, told, id) => {
    expect(told.when(resolves(id, { as: "verify" })).decision.refusal?.code).toBe("NOT_POSSIBLE");
  });

  it("absent: the act may run again, at once", () => {
    const told = doubted.when(resolves("send", { as: "absent" }));
    expect(told.states).toMatchObject({ send: "ready" });
    expect(row(told)).toMatchObject({ state: "absent" });
  });

  it("give up: the step has failed, and nothing brings it back", () => {
    const told = doubted.when(resolves("send", { as: "give_up" }));
    expect(told.standing("send")).toMatchObject({ state: "failed_final", fault: { code: "OUTCOME_UNKNOWN" } });
    expect(told.states).toEqual({ send: "failed_final", thank: "skipped", read: "skipped" });
    expect(row(told)).toMatchObject({ state: "given_up" });
    expect(told.when(resumes).states).toEqual({ send: "failed_final", thank: "skipped", read: "ready" });
    expect(told.when(resolves("send", happened(1))).decision.refusal?.code).toBe("NOT_POSSIBLE");
  });

  it("says that no reason was given, where none was", () => {
    const told = doubted.when((now) => ({ ...resolves("send", { as: "give_up" })(now), reason: "" }) as Command);
    expect(told.standing("send")).toMatchObject({ fault: { message: "ana gave up on send: no reason given" } });
  });

  it("mends an answer that did not fit, and nothing else about it", () => {
    const flawed = given(accepts(plan(step("send", { tool: sendMail }), step("thank", { after: ["send"] })))).when(
      starts("send"),
      answers("send", "what?", { flaw: misshapen }),
    );
    expect(flawed.states).toEqual({ send: "failed_final", thank: "skipped" });
    for (const as of ["absent", "give_up"] as const)
      expect(flawed.when(resolves("send", { as })).decision.refusal?.code).toBe("NOT_POSSIBLE");
    const mended = flawed.when(resolves("send", happened({ id: 1 })));
    expect(mended.states).toEqual({ send: "succeeded", thank: "skipped" });
    expect(row(mended)).toMatchObject({ state: "committed", usable: true, receipt: 5 });
    expect(mended.when(resumes, does("thank")).run.ended?.status).toBe("completed");
  });

  it("leaves alone an act that failed without having happened", () => {
    const failed = given(accepts(plan(step("send", { tool: sendMail })))).when(starts("send"), saysNotDone("send"));
    expect(failed.when(resolves("send", happened(1))).decision.refusal?.code).toBe("NOT_POSSIBLE");
  });
});

describe("recovering what the last holder left", () => {
  const running = given(accepts(plan(step("send", { tool: looks }), step("thank", { after: ["send"] })))).when(
    starts("send"),
  );

  it("runs an act again whose marker is proven missing: it was never called", () => {
    const told = running.when(pass(5), recovers({ id: "send", mark: "no" }));
    expect(told.said("step.settled")).toMatchObject({
      settled: { as: "not_done" },
      by: "marker",
      ledger: { version: 2 },
    });
    expect(told.states).toMatchObject({ send: "ready" });
    expect(told.when(starts("send")).said("step.started")).toMatchObject({
      attempt: 2,
      ledger: { version: 3, generation: 1 },
    });
  });

  it.each(["yes", "unknown"] as const)("doubts an act whose marker says %s", (mark) => {
    const told = running.when(pass(5), recovers({ id: "send", mark }));
    expect(told.said("step.doubted")).toMatchObject({
      attempt: 1,
      fault: { code: "OUTCOME_UNKNOWN" },
      ledger: { version: 2, generation: 1 },
      exits: { verify: true, resend_until: null, quiet_at: later(5 + CALL_WITHIN_MS + quiet) },
    });
    expect(told.states).toMatchObject({ send: "in_doubt" });
    expect(told.run.spent.attempts).toBe(1);
  });

  it("knows no way out of a doubt whose tool is not here, but a person", () => {
    const told = running.when(recovers({ id: "send", mark: "yes", tool: null }));
    expect(told.said("step.doubted").exits).toEqual({
      verify: false,
      resend_until: null,
      quiet_at: later(CALL_WITHIN_MS),
    });
    expect(told.standing("send")).toMatchObject({ doubt: { next: { do: "ask" } } });
  });

  it("makes ready what did not act, and finds nothing about what was not under way", () => {
    const gated = given(accepts(plan(step("a", { gate: "human_confirm" }), step("b")))).when(starts("a"));
    const told = gated.when(approves("a"));
    const left = told.when(starts("a"), recovers({ id: "a" }, { id: "b" }));
    expect(left.types).toEqual(["step.started", "step.readied"]);
    expect(left.states).toEqual({ a: "ready", b: "ready" });
    expect(left.when(starts("a")).said("step.started").attempt).toBe(2);
  });

  it("finds nothing about what waits for a time, or for another's act", () => {
    const waiting = given(accepts(plan(wait("w", { ms: 5000 }), step("send", { tool: sendMail }))))
      .hearing(ledgerFact({ state: "started" }))
      .when(starts("w"), starts("send"));
    expect(waiting.states).toEqual({ w: "waiting", send: "waiting" });
    expect(waiting.when(recovers({ id: "w", tool: readPage }, { id: "send" })).news).toEqual([]);
  });

  it("begins nothing anew in a run that was cancelled or ended by a step", () => {
    const act = given(accepts(plan(step("send", { tool: sendMail }), step("a")))).when(starts("send"));
    expect(act.when(cancels, recovers({ id: "send", mark: "no" })).states).toEqual({
      send: "cancelled",
      a: "cancelled",
    });
    const ended = act.when(starts("a"), fails("a"), recovers({ id: "send", mark: "no" }));
    expect(ended.states).toEqual({ send: "skipped", a: "failed_final" });
  });
});
