import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  does,
  fails,
  resolves,
  settles,
  sightingAbsent,
  starts,
  timesOut,
  undoes,
} from "../../testing/given/commands.ts";
import { plan, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenAction, given, pass } from "../../testing/given/given.ts";
import { actsLatestFirst, undoReport } from "./undo-report.ts";

const undoable = { ...sendMail, compensates: true };
const undo = "undo.send.1";
const done = (...moves: readonly GivenAction[]) =>
  given(accepts(plan(step("add"), step("send", { tool: undoable })))).when(does("add"), does("send"), ...moves);
const report = (...moves: readonly GivenAction[]) => undoReport(done(...moves).run, () => true);

describe("the undo status of an act", () => {
  it.each<[string, readonly GivenAction[], object]>([
    ["is not_attempted before an undo", [], { undone: "not_attempted", why: null }],
    [
      "is not_attempted while the undo is ready",
      [undoes("send")],
      { undone: "not_attempted", why: "its undo is ready" },
    ],
    [
      "is unconfirmed while the undo is in doubt",
      [undoes("send"), starts(undo), timesOut(undo)],
      { undone: "unconfirmed", why: "its undo is in_doubt" },
    ],
    [
      "is unconfirmed after an undo without verification",
      [undoes("send"), starts(undo), answers(undo)],
      { undone: "unconfirmed", why: null },
    ],
    [
      "is confirmed after a verified undo",
      [undoes("send"), starts(undo), answers(undo, {}, { confirmed: true })],
      { undone: "confirmed", why: null },
    ],
  ])("%s", (_, moves, expected) => {
    expect(report(...moves)).toEqual([{ step_id: "send", tool: sendMail.name, ...expected }]);
  });

  it("is failed with the reason when the undo failed", () => {
    const scenario = done(undoes("send"), starts(undo), timesOut(undo), resolves(undo, { as: "give_up" }));
    expect(undoReport(scenario.run, () => true)).toMatchObject([{ undone: "failed", why: expect.any(String) }]);
  });

  it("is irreversible if the tool declares no compensation", () => {
    expect(undoReport(done().run, () => false)).toMatchObject([{ undone: "irreversible", why: null }]);
    const tools: string[] = [];
    undoReport(done().run, (tool) => tools.push(tool) > 0);
    expect(tools).toEqual([sendMail.name]);
  });

  it("is not_attempted with the reason if the act is in doubt", () => {
    const scenario = given(accepts(plan(step("send", { tool: undoable })))).when(starts("send"), timesOut("send"));
    expect(undoReport(scenario.run, () => true)).toMatchObject([
      { undone: "not_attempted", why: "the act is in_doubt" },
    ]);
  });
});

describe("the acts of a run", () => {
  it("are listed if they happened or may have happened, the latest first, without undos", () => {
    const steps = ["one", "two", "three"].map((id) => step(id, { tool: undoable }));
    const scenario = given(accepts(plan(...steps))).when(does("two"), pass(5), does("one"), does("three"));
    expect(actsLatestFirst(scenario.run).map(({ spec }) => spec.step_id)).toEqual(["three", "one", "two"]);
    expect(actsLatestFirst(done(undoes("send"), starts(undo)).run).map(({ spec }) => spec.step_id)).toEqual(["send"]);
  });

  it("are not listed if they certainly did not happen", () => {
    const verified = { ...undoable, verifies: true };
    const doubted = given(accepts(plan(step("send", { tool: verified })))).when(starts("send"), timesOut("send"));
    expect(actsLatestFirst(doubted.run)).toHaveLength(1);
    const absent = doubted.when(settles("send", sightingAbsent), pass(120_000), settles("send", sightingAbsent));
    expect(absent.step("send").act?.state).toBe("absent");
    expect(actsLatestFirst(absent.run)).toEqual([]);
    const failed = given(accepts(plan(step("send", { tool: undoable })))).when(starts("send"), fails("send"));
    expect(actsLatestFirst(failed.run)).toHaveLength(1);
    expect(actsLatestFirst(failed.when(resolves("send", { as: "absent" })).run)).toEqual([]);
  });
});
