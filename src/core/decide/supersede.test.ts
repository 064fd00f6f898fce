import { describe, expect, it } from "vitest";
import { keyOf, ledgerFact, order, plan, sendMail, step } from "../../testing/given/cast.ts";
import {
  accepts,
  answers,
  approves,
  does,
  goesUnheard,
  happened,
  isSuperseded,
  resolves,
  saysNotDone,
  starts,
  undoes,
} from "../../testing/given/moves.ts";
import { given, type Told } from "../../testing/given.ts";
import type { StepId } from "../id.ts";
import type { LedgerState } from "../rows.ts";

const undoable = { ...sendMail, compensates: true };
const by = { run: order, step: "send" as StepId, generation: 2 };
/** The row of the key, as the run that said "yes, again" left it. */
const taken = ledgerFact({ generation: 2 }, { version: 9 });

const accepted = given(accepts(plan(step("send", { tool: undoable }))));
const doubted = accepted.when(starts("send"), goesUnheard("send"));
const superseded = (told: Told): Told => told.hearing(taken).when(isSuperseded("send", by));

describe("an act whose row another act has taken", () => {
  it("is on record as such, once", () => {
    const told = superseded(doubted);
    expect(told.said("step.superseded")).toMatchObject({ step_id: "send", by });
    expect(told.step("send").act).toMatchObject({ superseded: true, state: "in_doubt", generation: 1 });
    expect(told.states).toEqual({ send: "in_doubt" });
    expect(told.when(isSuperseded("send", by)).news).toEqual([]);
  });

  it("could not be settled before that: the row is another version", () => {
    expect(() => doubted.hearing(taken).when(resolves("send", happened(1)))).toThrow();
  });

  it.each([
    ["happened", resolves("send", happened({ id: 1 })), "succeeded"],
    ["was given up", resolves("send", { as: "give_up" }), "failed_final"],
    ["answered late", answers("send", { id: 1 }), "succeeded"],
  ])("is settled in its own journal when it %s, and the row stays the other's", (_, move, state) => {
    const told = superseded(doubted).when(move);
    expect(told.states).toEqual({ send: state });
    expect(told.ledgerRow(keyOf("send"))).toEqual(taken.row);
  });

  it("is undone in its own journal, under an undo of its own generation", () => {
    const done = superseded(accepted.when(does("send"))).when(undoes("send"));
    expect(done.states).toEqual({ send: "compensating", "undo.send.1": "ready" });
    const undone = done.when(does("undo.send.1"));
    expect(undone.states).toEqual({ send: "compensated", "undo.send.1": "succeeded" });
    expect(undone.ledgerRow(keyOf("send"))).toEqual(taken.row);
    const failed = done.when(starts("undo.send.1"), saysNotDone("undo.send.1"));
    expect(failed.states).toMatchObject({ send: "compensation_failed" });
  });

  it("asks about the other's act when it turns out absent and is to run again", () => {
    const told = superseded(doubted).when(resolves("send", { as: "absent" }), starts("send"));
    expect(told.said("gate.opened").duplicate_of).toMatchObject({ run: order, generation: 2 });
    const again = told.when(approves("send"), starts("send"));
    expect(again.said("step.started").ledger).toEqual({ version: 10, generation: 3 });
    expect(again.step("send").act?.superseded).toBeUndefined();
    expect(again.when(answers("send")).ledgerRow(keyOf("send"))).toMatchObject({ state: "committed", generation: 3 });
  });

  it("is so only if that act is of a later generation, and the step has acted", () => {
    expect(doubted.when(isSuperseded("send", { ...by, generation: 1 })).news).toEqual([]);
    expect(accepted.when(isSuperseded("send", by)).news).toEqual([]);
    expect(accepted.when(isSuperseded("nobody", by)).news).toEqual([]);
  });
});

describe("saying yes, again, to an act that is under way", () => {
  it.each(["started", "compensating"] as LedgerState[])("takes no row that is %s: it waits", (state) => {
    const held = given(accepts(plan(step("send", { tool: sendMail }))))
      .hearing(ledgerFact())
      .when(starts("send"));
    const told = held.when(approves("send")).hearing(ledgerFact({ state })).when(starts("send"));
    expect(told.standing("send")).toMatchObject({ state: "waiting", on: { for: "key", owner: order } });
  });
});
