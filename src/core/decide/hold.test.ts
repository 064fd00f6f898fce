import { describe, expect, it } from "vitest";
import { keepNote, ledgerFact, noon, plan, readPage, sendMail, step } from "../../testing/given/cast.ts";
import { accepts, answers, approves, does, fails, saysNotDone, starts, undoes } from "../../testing/given/moves.ts";
import { given, pass } from "../../testing/given.ts";
import type { Demand } from "../demand.ts";
import type { Guard } from "../guard.ts";
import type { Preview } from "../preview.ts";
import type { ToolFacts } from "../proposal.ts";

const demanding = (demand: Demand): Guard => ({
  id: "wary",
  judge: () => ({ kind: "hold", rule: "wary", reason: "why", demand }),
});
const anyone = demanding({ role: null });
const asked = (tool: ToolFacts, wish: object = {}) =>
  given(accepts(plan(step("do", { tool, gate: "human_confirm" }))))
    .under(anyone)
    .when(starts("do", wish));

describe("a gate", () => {
  it.each<[string, ToolFacts, boolean]>([
    ["an act that can be undone", { ...sendMail, compensates: true }, true],
    ["an act that cannot", sendMail, false],
    ["what is written to state", keepNote, true],
  ])("says of %s whether it can be taken back", (_, tool, reversible) => {
    expect(asked(tool).said("gate.opened").reversible).toBe(reversible);
  });

  it("says nothing of what leaves nothing, and that an undo is for good", () => {
    expect(asked(readPage).said("gate.opened")).not.toHaveProperty("reversible");
    const undoable = { ...sendMail, compensates: true };
    const done = given(accepts(plan(step("do", { tool: undoable })))).when(does("do"), undoes("do"));
    expect(done.under(anyone).when(starts("undo.do.1")).said("gate.opened").reversible).toBe(false);
  });

  it("says of what a step calls a write that acts what an act is", () => {
    const told = given(accepts(plan(step("do", { tool: sendMail, effect: "writes" })))).under(anyone);
    expect(told.when(starts("do", { tool: sendMail })).said("gate.opened").reversible).toBe(false);
  });

  it("shows what the call is expected to cost, where that is known", () => {
    expect(asked(sendMail, { estimate: { usd_micros: 5 } }).said("gate.opened").estimate).toEqual({ usd_micros: 5 });
    expect(asked(sendMail).said("gate.opened")).not.toHaveProperty("estimate");
  });

  it("asks whoever said yes to the call before, if it would be done again", () => {
    const told = asked(sendMail).when(approves("do"));
    const again = told.hearing(ledgerFact({ key: told.gate("do").call.key as never })).when(starts("do"));
    expect(again.said("gate.opened")).toMatchObject({ duplicate_of: expect.anything() });
    expect(again.said("gate.opened")).not.toHaveProperty("votes");
  });

  it("has an id that came with the call", () => {
    expect(() => asked(sendMail, { gate_id: null })).toThrow("a call is proposed with the id of its gate");
    expect(() => asked(readPage, { tool: null })).not.toThrow();
  });
});

describe("a call that did something else than was shown", () => {
  const pins = { at: noon, version: null, reads: {}, resources: {} };
  const preview: Preview = { output: { n: 1 }, pins };
  const begun = asked(keepNote, { preview }).when(approves("do"), starts("do"));

  it("is shown again, with the reason why", () => {
    const failed = begun.when(answers("do", { n: 2 }));
    expect(failed.said("step.failed")).toMatchObject({ fault: { code: "PREVIEW_STALE" } });
    const again = failed.when(pass(60_000), starts("do", { preview }));
    expect(again.said("gate.opened")).toMatchObject({ stale: { code: "PREVIEW_STALE" } });
  });

  it("is tried again as often as that fault is, whatever the step says of failures", () => {
    const patient = given(accepts(plan(step("do", { tool: keepNote, gate: "human_confirm", retries: 0 })))).under(
      anyone,
    );
    const failed = patient.when(starts("do", { preview }), approves("do"), starts("do"), answers("do", { n: 2 }));
    expect(failed.said("step.failed").retry_at).not.toBeNull();
  });

  it("is not what a failure of another kind is", () => {
    const failed = begun.when(fails("do", "RATE_LIMIT"), pass(25 * 3_600_000), starts("do", { preview }));
    expect(failed.said("gate.opened")).not.toHaveProperty("stale");
    const act = asked(sendMail).when(approves("do"), starts("do"), saysNotDone("do", "RATE_LIMIT"), pass(60_000));
    expect(act.when(starts("do")).types).toEqual(["step.started"]);
  });
});
