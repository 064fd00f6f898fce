import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  does,
  isSuperseded,
  resolvedHappened,
  resolves,
  saysNotDone,
  starts,
  timesOut,
  undoes,
} from "../../testing/given/commands.ts";
import { fakeKey, ledgerFact, orderRun, plan, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenRun, given } from "../../testing/given/given.ts";
import type { LedgerState } from "../store/tables.ts";
import type { StepId } from "../values/ids.ts";

const undoable = { ...sendMail, compensates: true };
const by = { run: orderRun, step: "send" as StepId, generation: 2 };
/** The row of the key after another run repeated the act with an approval. */
const taken = ledgerFact({ generation: 2 }, { version: 9 });

const accepted = given(accepts(plan(step("send", { tool: undoable }))));
const doubted = accepted.when(starts("send"), timesOut("send"));
const superseded = (scenario: GivenRun): GivenRun => scenario.withLedgerFact(taken).when(isSuperseded("send", by));

describe("an act whose row belongs to a later generation", () => {
  it("is recorded as superseded, once", () => {
    const scenario = superseded(doubted);
    expect(scenario.newEvent("step.superseded")).toMatchObject({ step_id: "send", by });
    expect(scenario.step("send").act).toMatchObject({ superseded: true, state: "in_doubt", generation: 1 });
    expect(scenario.states).toEqual({ send: "in_doubt" });
    expect(scenario.when(isSuperseded("send", by)).newEvents).toEqual([]);
  });

  it("cannot be settled before that, because the row has another version", () => {
    expect(() => doubted.withLedgerFact(taken).when(resolves("send", resolvedHappened(1)))).toThrow();
  });

  it.each([
    ["happened", resolves("send", resolvedHappened({ id: 1 })), "succeeded"],
    ["was given up", resolves("send", { as: "give_up" }), "failed_final"],
    ["returned late", answers("send", { id: 1 }), "succeeded"],
  ])("is settled in its own journal when it %s, and the row does not change", (_, move, state) => {
    const scenario = superseded(doubted).when(move);
    expect(scenario.states).toEqual({ send: state });
    expect(scenario.ledgerRow(fakeKey("send"))).toEqual(taken.row);
  });

  it("is undone in its own journal, with an undo of its own generation", () => {
    const done = superseded(accepted.when(does("send"))).when(undoes("send"));
    expect(done.states).toEqual({ send: "compensating", "undo.send.1": "ready" });
    const undone = done.when(does("undo.send.1"));
    expect(undone.states).toEqual({ send: "compensated", "undo.send.1": "succeeded" });
    expect(undone.ledgerRow(fakeKey("send"))).toEqual(taken.row);
    const failed = done.when(starts("undo.send.1"), saysNotDone("undo.send.1"));
    expect(failed.states).toMatchObject({ send: "compensation_failed" });
  });

  it("opens a gate about the later act when it is absent and would run again", () => {
    const scenario = superseded(doubted).when(resolves("send", { as: "absent" }), starts("send"));
    expect(scenario.newEvent("gate.opened").duplicate_of).toMatchObject({ run: orderRun, generation: 2 });
    const again = scenario.when(approves("send"), starts("send"));
    expect(again.newEvent("step.started").ledger).toEqual({ version: 10, generation: 3 });
    expect(again.step("send").act?.superseded).toBeUndefined();
    expect(again.when(answers("send")).ledgerRow(fakeKey("send"))).toMatchObject({ state: "committed", generation: 3 });
  });

  it("is superseded only by a later generation, and only if the step has acted", () => {
    expect(doubted.when(isSuperseded("send", { ...by, generation: 1 })).newEvents).toEqual([]);
    expect(accepted.when(isSuperseded("send", by)).newEvents).toEqual([]);
    expect(accepted.when(isSuperseded("unknown", by)).newEvents).toEqual([]);
  });
});

describe("the approved repeat of a running act", () => {
  it.each(["started", "compensating"] as LedgerState[])("waits while the row is %s", (state) => {
    const held = given(accepts(plan(step("send", { tool: sendMail }))))
      .withLedgerFact(ledgerFact())
      .when(starts("send"));
    const scenario = held.when(approves("send")).withLedgerFact(ledgerFact({ state })).when(starts("send"));
    expect(scenario.standing("send")).toMatchObject({ state: "waiting", on: { for: "key", owner: orderRun } });
  });
});
