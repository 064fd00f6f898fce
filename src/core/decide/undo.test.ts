import { describe, expect, it } from "vitest";
import { ana, bob, cron, keyOf, later, plan, robin, sendMail, step } from "../../testing/given/cast.ts";
import {
  absent,
  accepts,
  answers,
  approves,
  cancels,
  does,
  goesUnheard,
  happened,
  misshapen,
  recovers,
  rejects,
  resolves,
  resumes,
  saysNotDone,
  seen,
  settles,
  starts,
  undoes,
} from "../../testing/given/moves.ts";
import { given, type Move, pass, type Told } from "../../testing/given.ts";
import { fault } from "../fault.ts";
import type { Guard } from "../guard.ts";
import type { StepId } from "../id.ts";
import type { ToolFacts } from "../proposal.ts";
import { requesterOf } from "../run.ts";

const undoable: ToolFacts = { ...sendMail, compensates: true };
const undo = "undo.send.1";

const accepted = (tool: ToolFacts = undoable): Told =>
  given(accepts(plan(step("send", { tool, timeout_ms: 5000 }), step("thank", { after: ["send"] }))));
const done = (...moves: readonly Move[]): Told => accepted().when(does("send", { id: "m1" }), ...moves);
const undoing = (...moves: readonly Move[]): Told => done(undoes("send"), ...moves);
const row = (told: Told, key = "send") => told.ledgerRow(keyOf(key));

describe("asking for an undo", () => {
  it("makes it a step of its own, which acts under a key of its own", () => {
    const told = undoing();
    expect(told.types.slice(-2)).toEqual(["step.compensating", "step.proposed"]);
    expect(told.said("step.compensating")).toMatchObject({ by: "ana", reason: "I looked", ledger: { version: 3 } });
    expect(told.standing("send")).toEqual({ state: "compensating", undo });
    expect(told.step(undo)).toMatchObject({
      standing: { state: "ready" },
      cause: { by: "undo", of: "send", asked_by: "ana" },
      spec: { effect: "acts", gate: "none", on_failure: "skip", timeout_ms: 5000, payload: {}, depends_on: [] },
    });
    expect(row(told)).toMatchObject({ state: "compensating" });
    const started = told.when(starts(undo));
    expect(row(started, "undo send 1")).toMatchObject({ state: "started", step_id: undo });
    expect(started.step(undo).call?.input).toEqual({ input: { to: "send" }, output: { id: "m1" }, key: keyOf("send") });
  });

  it.each([robin, cron])("is for people only, not for $kind", (principal) => {
    expect(done(undoes("send", undoable, principal)).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
  });

  it.each([
    ["a tool that declares none", done(undoes("send", sendMail)), "declares no compensation"],
    ["a tool that is not here", done(undoes("send", null)), "declares no compensation"],
    ["what has not acted", done(undoes("thank", undoable)), "there is no act to undo"],
    [
      "what did nothing",
      accepted().when(starts("send"), saysNotDone("send"), undoes("send")),
      "there is no act to undo",
    ],
    ["what is being undone", undoing(undoes("send")), "there is no act to undo"],
    ["what is undone", undoing(does(undo), undoes("send")), "there is no act to undo"],
    ["an undo", undoing(does(undo), undoes(undo)), "cannot itself be undone"],
    [
      "what may never have happened",
      accepted().when(starts("send"), goesUnheard("send"), undoes("send")),
      "settle the doubt",
    ],
  ])("is not possible for %s", (_, told, why) => {
    expect(told.decision.refusal?.code).toBe("NOT_POSSIBLE");
    expect(told.decision.refusal?.message).toContain(why);
    expect(told.decision.events).toEqual([]);
  });

  it("is not possible where another step has the name that the undo would have", () => {
    const errand = { step: step(undo), pin: null, cause: { by: "errand", of: "send" as StepId } } as const;
    const told = accepted().when(starts("send"), answers("send", 1, { errands: [errand] }), undoes("send"));
    expect(told.decision.refusal?.message).toContain(`the run has another step ${undo}`);
  });

  it("works for what happened but answered badly", () => {
    const told = accepted().when(
      starts("send"),
      answers("send", "what?", { flaw: misshapen }),
      undoes("send"),
      does(undo),
    );
    expect(told.states).toEqual({ send: "compensated", thank: "skipped", [undo]: "succeeded" });
  });

  it("works in a run that has ended, been cancelled or passed its deadline, and needs no second yes", () => {
    const gated = given(
      accepts(plan(step("send", { tool: undoable })), { mode: "human_gated", deadline_at: later(10) }),
    );
    const over = gated.when(starts("send"), approves("send"), starts("send"), cancels, answers("send"));
    expect(over.run.ended?.status).toBe("cancelled");
    const told = over.when(pass(1000), undoes("send"), starts(undo));
    expect(told.states).toEqual({ send: "compensating", [undo]: "running" });
    expect(told.run.ended).toBeNull();
    expect(told.when(answers(undo)).run.ended?.status).toBe("cancelled");
  });
});

describe("an undo that went through", () => {
  it("leaves its act undone, and says whether the world was looked at", () => {
    for (const confirmed of [true, false]) {
      const told = undoing(starts(undo), answers(undo, null, { confirmed }));
      expect(told.said("step.compensated")).toMatchObject({ step_id: "send", confirmed, ledger: { version: 4 } });
      expect(told.step("send")).toMatchObject({ standing: { state: "compensated", confirmed }, world: "compensated" });
      expect(row(told)).toMatchObject({ state: "compensated" });
      expect(row(told, "undo send 1")).toMatchObject({ state: "committed" });
    }
  });

  it("lets nobody behind its act begin", () => {
    expect(undoing(does(undo)).states).toEqual({ send: "compensated", thank: "ready", [undo]: "succeeded" });
    expect(undoing(does(undo), starts("thank")).states).toMatchObject({ thank: "rejected" });
  });

  it("undoes an errand like any act", () => {
    const errand = {
      step: step("send.1", { tool: undoable }),
      pin: null,
      cause: { by: "errand", of: "send" as StepId },
    } as const;
    const told = accepted().when(starts("send"), answers("send", 1, { errands: [errand] }), does("send.1"));
    expect(told.when(undoes("send.1", undoable), does("undo.send.1.1")).states).toMatchObject({
      "send.1": "compensated",
    });
  });

  it("takes back what those who still wait had counted on", () => {
    const both = plan(step("send", { tool: undoable }), step("b"), step("last", { after: ["send", "b"] }));
    const told = given(accepts(both)).when(does("send"), undoes("send"));
    expect(told.step("last").missing).toBe(2);
    expect(told.when(does("b")).states).toMatchObject({ last: "pending" });
    expect(told.when(does("b"), does(undo)).states).toMatchObject({ send: "compensated", last: "skipped" });
  });

  it("may answer what it likes: nobody builds on it", () => {
    expect(undoing(starts(undo), answers(undo, "?", { flaw: misshapen })).states).toMatchObject({
      send: "compensated",
    });
  });

  it("does not bring its act back on a resume", () => {
    const told = given(accepts(plan(step("send", { tool: undoable }), step("b", { after: ["send"] })))).when(
      does("send"),
    );
    const undone = told.when(undoes("send"), does(undo), starts("b"));
    expect(undone.run.ended?.status).toBe("failed");
    expect(undone.when(resumes).states).toEqual({ send: "compensated", b: "rejected", [undo]: "succeeded" });
  });
});

/** Wants a person to agree to whatever is undone. */
const careful: Guard = {
  id: "careful",
  judge: ({ step: { cause } }) =>
    cause?.by === "undo"
      ? { kind: "hold", rule: "careful", reason: "undoing is an act, too", demand: { role: null } }
      : { kind: "allow" },
};

describe("an undo that did not go through", () => {
  const failed = undoing(starts(undo), saysNotDone(undo, "AUTH_FORBIDDEN"));

  it("leaves its act standing, with the reason", () => {
    expect(failed.standing("send")).toMatchObject({ state: "compensation_failed", fault: { code: "AUTH_FORBIDDEN" } });
    expect(row(failed)).toMatchObject({ state: "compensation_failed" });
  });

  it("can be asked for again: the same step, the same key", () => {
    const again = failed.when(undoes("send"));
    expect(again.types).toEqual(["step.compensating", "step.readied"]);
    expect(again.states).toMatchObject({ send: "compensating", [undo]: "ready" });
    const told = again.when(starts(undo), answers(undo));
    expect(told.said("step.started")).toMatchObject({ attempt: 2, ledger: { version: 3, generation: 1 } });
    expect(told.states).toMatchObject({ send: "compensated", [undo]: "succeeded" });
  });

  it.each([
    ["a guard refuses it", undoing(starts(undo, { flaw: fault("INVALID_INPUT", "no") }))],
    ["its tool is not known", undoing(starts(undo, { tool: null }))],
  ])("leaves its act standing when %s", (_, told) => {
    expect(told.states).toMatchObject({ send: "compensation_failed", [undo]: "rejected" });
    expect(told.when(undoes("send"), does(undo)).states).toMatchObject({ send: "compensated" });
  });

  it.each([
    ["a person says no to it", rejects(undo, bob)],
    ["nobody decides in time", [pass(999_999_999), (told: Told) => approves(undo, bob)(told)] as Move],
  ])("leaves its act standing when %s", (_, move) => {
    const held = done().under(careful).when(undoes("send"), starts(undo));
    expect(held.states).toMatchObject({ send: "compensating", [undo]: "waiting_approval" });
    const told = held.when(move);
    expect(told.states).toMatchObject({ send: "compensation_failed", [undo]: "rejected" });
    expect(held.when(approves(undo, bob), starts(undo)).states).toMatchObject({ [undo]: "running" });
  });

  it("is approved as it is on record, and not otherwise", () => {
    const wary: Guard = {
      id: "wary",
      judge: () => ({ kind: "hold", rule: "wary", reason: "why", demand: { role: null } }),
    };
    const held = undoing().under(wary).when(starts(undo));
    const { call } = held.gate(undo);
    const other = held.when(approves(undo, bob, { edit: { call: { ...call, input: {} } } }));
    expect(other.decision.refusal).toMatchObject({
      code: "NOT_POSSIBLE",
      message: expect.stringContaining(`${undo} undoes an act as it is on record`),
    });
    expect(other.types).toEqual(["gate.contested"]);
  });

  it("is decided by anyone but whoever asked for it, and whoever asks again has asked", () => {
    const held = done()
      .under(careful)
      .when(undoes("send", undefined, ana), starts(undo));
    expect(held.when(approves(undo, ana)).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    expect(requesterOf(held.run, held.step(undo))).toBe("ana");
    const again = held.when(rejects(undo, bob), undoes("send", undefined, bob), starts(undo));
    expect(requesterOf(again.run, again.step(undo))).toBe("bob");
    expect(again.when(approves(undo, bob)).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    expect(again.when(approves(undo, ana), starts(undo)).states).toMatchObject({ [undo]: "running" });
  });

  it("is not in the way of what was never behind it, and skips what was", () => {
    const safe: ToolFacts = { ...undoable, safeIfAbsent: true };
    const told = accepted(safe).when(starts("send"), goesUnheard("send"), undoes("send"));
    expect(told.states).toEqual({ send: "compensating", thank: "pending", [undo]: "ready" });
    const over = told.when(starts(undo), saysNotDone(undo, "AUTH_FORBIDDEN"));
    expect(over.states).toEqual({ send: "compensation_failed", thank: "skipped", [undo]: "failed_final" });
    expect(over.run.ended?.status).toBe("failed");
  });
});

describe("undoing what is in doubt", () => {
  const safe: ToolFacts = { ...undoable, safeIfAbsent: true };
  const told = accepted(safe).when(starts("send"), goesUnheard("send"), undoes("send"));

  it("is possible where the tool says that this is safe", () => {
    expect(told.when(starts(undo)).step(undo).call?.input).toMatchObject({ output: null });
    expect(told.when(does(undo)).states).toEqual({ send: "compensated", thank: "skipped", [undo]: "succeeded" });
  });

  it("keeps a late value of the act as evidence for whoever judges the undo", () => {
    const grant = told.grant("send");
    const late = told.when(answers("send", { id: "late" }, { grant }));
    expect(late.types).toEqual(["evidence.kept"]);
    expect(late.states).toMatchObject({ send: "compensating" });
  });
});

describe("an undo in doubt", () => {
  const looks: ToolFacts = { ...undoable, verifies: true, idempotentForMs: 600_000 };
  const start = accepted(looks).when(does("send"), undoes("send"), starts(undo));
  const doubted = start.when(goesUnheard(undo));

  it("is settled like any act, and its act with it", () => {
    expect(doubted.states).toMatchObject({ send: "compensating", [undo]: "in_doubt" });
    const gone = doubted.when(settles(undo, seen(null)));
    expect(gone.said("step.compensated").confirmed).toBe(true);
    expect(gone.states).toMatchObject({ send: "compensated", [undo]: "succeeded" });
  });

  it("is done whatever the world answered", () => {
    expect(doubted.when(settles(undo, seen("?"), { flaw: misshapen })).states).toMatchObject({ send: "compensated" });
  });

  it("is run again when it is found absent, in a cancelled run as well", () => {
    const twice = doubted.when(cancels, settles(undo, absent), pass(100_000), settles(undo, absent));
    expect(twice.states).toEqual({ send: "compensating", thank: "cancelled", [undo]: "ready" });
    expect(twice.when(does(undo)).states).toMatchObject({ send: "compensated" });
    const never = start.when(cancels, recovers({ id: undo, mark: "no" }));
    expect(never.states).toMatchObject({ [undo]: "ready" });
  });

  it("is sent again under its promise, in a cancelled run as well", () => {
    expect(doubted.when(cancels, settles(undo, null), starts(undo)).states).toMatchObject({ [undo]: "running" });
  });

  it("is not confirmed by a person's word, whatever the person is called", () => {
    const verifier = { id: "verifier", kind: "person", tenant: doubted.run.tenant } as const;
    const told = doubted.when(resolves(undo, happened(null), verifier));
    expect(told.standing("send")).toEqual({ state: "compensated", confirmed: false });
  });

  it("leaves its act standing when a person gives up on it, and is not asked for again", () => {
    const lost = doubted.when(resolves(undo, { as: "give_up" }));
    expect(lost.types).toEqual(["step.settled", "step.uncompensated"]);
    expect(lost.standing("send")).toMatchObject({ state: "compensation_failed", fault: { code: "OUTCOME_UNKNOWN" } });
    const again = lost.when(undoes("send"));
    expect(again.decision.refusal?.message).toContain("was given up and may have happened");
    expect(again.news).toEqual([]);
  });

  it("is adopted when its value comes late", () => {
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
