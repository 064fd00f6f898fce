import { describe, expect, it } from "vitest";
import { plan, sendMail, step } from "../testing/given/cast.ts";
import {
  absent,
  accepts,
  answers,
  does,
  fails,
  goesUnheard,
  resolves,
  settles,
  starts,
  undoes,
} from "../testing/given/moves.ts";
import { given, type Move, pass } from "../testing/given.ts";
import { actsOf, undoneActs } from "./undone.ts";

const undoable = { ...sendMail, compensates: true };
const undo = "undo.send.1";
const done = (...moves: readonly Move[]) =>
  given(accepts(plan(step("add"), step("send", { tool: undoable })))).when(does("add"), does("send"), ...moves);
const standing = (...moves: readonly Move[]) => undoneActs(done(...moves).run, () => true);

describe("how it stands with undoing an act", () => {
  it.each<[string, readonly Move[], object]>([
    ["is not attempted", [], { undone: "not_attempted", why: null }],
    ["is about to be", [undoes("send")], { undone: "not_attempted", why: "its undoing is ready" }],
    [
      "may have been",
      [undoes("send"), starts(undo), goesUnheard(undo)],
      { undone: "unconfirmed", why: "its undoing is in_doubt" },
    ],
    ["was undone", [undoes("send"), starts(undo), answers(undo)], { undone: "unconfirmed", why: null }],
    [
      "was undone, and looked at",
      [undoes("send"), starts(undo), answers(undo, {}, { confirmed: true })],
      { undone: "confirmed", why: null },
    ],
  ])("%s", (_, moves, expected) => {
    expect(standing(...moves)).toEqual([{ step_id: "send", tool: sendMail.name, ...expected }]);
  });

  it("says why it failed", () => {
    const told = done(undoes("send"), starts(undo), goesUnheard(undo), resolves(undo, { as: "give_up" }));
    expect(undoneActs(told.run, () => true)).toMatchObject([{ undone: "failed", why: expect.any(String) }]);
  });

  it("is that it cannot be, if its tool knows no way", () => {
    expect(undoneActs(done().run, () => false)).toMatchObject([{ undone: "irreversible", why: null }]);
    const asked: string[] = [];
    undoneActs(done().run, (tool) => asked.push(tool) > 0);
    expect(asked).toEqual([sendMail.name]);
  });

  it("says that it is not known whether there is anything to undo", () => {
    const told = given(accepts(plan(step("send", { tool: undoable })))).when(starts("send"), goesUnheard("send"));
    expect(undoneActs(told.run, () => true)).toMatchObject([{ undone: "not_attempted", why: "it is in_doubt" }]);
  });
});

describe("the acts of a run", () => {
  it("are those that happened or may have, the last first, and none that undid another", () => {
    const steps = ["one", "two", "three"].map((id) => step(id, { tool: undoable }));
    const told = given(accepts(plan(...steps))).when(does("two"), pass(5), does("one"), does("three"));
    expect(actsOf(told.run).map(({ spec }) => spec.step_id)).toEqual(["three", "one", "two"]);
    expect(actsOf(done(undoes("send"), starts(undo)).run).map(({ spec }) => spec.step_id)).toEqual(["send"]);
  });

  it("are none that certainly did not happen", () => {
    const verified = { ...undoable, verifies: true };
    const begun = given(accepts(plan(step("send", { tool: verified })))).when(starts("send"), goesUnheard("send"));
    expect(actsOf(begun.run)).toHaveLength(1);
    const looked = begun.when(settles("send", absent), pass(120_000), settles("send", absent));
    expect(looked.step("send").act?.state).toBe("absent");
    expect(actsOf(looked.run)).toEqual([]);
    const said = given(accepts(plan(step("send", { tool: undoable })))).when(starts("send"), fails("send"));
    expect(actsOf(said.run)).toHaveLength(1);
    expect(actsOf(said.when(resolves("send", { as: "absent" })).run)).toEqual([]);
  });
});
