import { describe, expect, it } from "vitest";
import { accepts, answers, approves, does, fails, saysNotDone, starts, undoes } from "../../testing/given/commands.ts";
import { keepNote, ledgerFact, noon, plan, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { given, pass } from "../../testing/given/given.ts";
import type { Demand } from "../approval/approval-demand.ts";
import type { Preview } from "../approval/result-preview.ts";
import type { Guard } from "../call/guard.ts";
import type { ToolFacts } from "../call/proposal.ts";

const demanding = (demand: Demand): Guard => ({
  id: "wary",
  judge: () => ({ kind: "hold", rule: "wary", reason: "why", demand }),
});
const holdForAnyone = demanding({ role: null });
const startHeld = (tool: ToolFacts, wish: object = {}) =>
  given(accepts(plan(step("do", { tool, gate: "human_confirm" }))))
    .withGuards(holdForAnyone)
    .when(starts("do", wish));

describe("a gate", () => {
  it.each<[string, ToolFacts, boolean]>([
    ["an act that can be undone", { ...sendMail, compensates: true }, true],
    ["an act that cannot be undone", sendMail, false],
    ["a write to state", keepNote, true],
  ])("shows whether %s can be undone", (_, tool, reversible) => {
    expect(startHeld(tool).newEvent("gate.opened").reversible).toBe(reversible);
  });

  it("shows null for a call without effects, and false for an undo", () => {
    expect(startHeld(readPage).newEvent("gate.opened")).not.toHaveProperty("reversible");
    const undoable = { ...sendMail, compensates: true };
    const done = given(accepts(plan(step("do", { tool: undoable })))).when(does("do"), undoes("do"));
    expect(done.withGuards(holdForAnyone).when(starts("undo.do.1")).newEvent("gate.opened").reversible).toBe(false);
  });

  it("treats a step declared as a write with an acting tool as an act", () => {
    const scenario = given(accepts(plan(step("do", { tool: sendMail, effect: "writes" })))).withGuards(holdForAnyone);
    expect(scenario.when(starts("do", { tool: sendMail })).newEvent("gate.opened").reversible).toBe(false);
  });

  it("shows the expected cost if it is known", () => {
    expect(startHeld(sendMail, { estimate: { usd_micros: 5 } }).newEvent("gate.opened").estimate).toEqual({
      usd_micros: 5,
    });
    expect(startHeld(sendMail).newEvent("gate.opened")).not.toHaveProperty("estimate");
  });

  it("does not count earlier votes if the act would be repeated", () => {
    const scenario = startHeld(sendMail).when(approves("do"));
    const again = scenario
      .withLedgerFact(ledgerFact({ key: scenario.gate("do").call.key as never }))
      .when(starts("do"));
    expect(again.newEvent("gate.opened")).toMatchObject({ duplicate_of: expect.anything() });
    expect(again.newEvent("gate.opened")).not.toHaveProperty("votes");
  });

  it("has the id of the proposal", () => {
    expect(() => startHeld(sendMail, { gate_id: null })).toThrow("a call is proposed with the id of its gate");
    expect(() => startHeld(readPage, { tool: null })).not.toThrow();
  });
});

describe("a call whose result did not match its preview", () => {
  const pins = { at: noon, version: null, reads: {}, resources: {} };
  const preview: Preview = { output: { n: 1 }, pins };
  const begun = startHeld(keepNote, { preview }).when(approves("do"), starts("do"));

  it("opens a gate again with the reason", () => {
    const failed = begun.when(answers("do", { n: 2 }));
    expect(failed.newEvent("step.failed")).toMatchObject({ fault: { code: "PREVIEW_STALE" } });
    const again = failed.when(pass(60_000), starts("do", { preview }));
    expect(again.newEvent("gate.opened")).toMatchObject({ stale: { code: "PREVIEW_STALE" } });
  });

  it("is retried as often as its fault allows, independent of the step", () => {
    const patient = given(accepts(plan(step("do", { tool: keepNote, gate: "human_confirm", retries: 0 })))).withGuards(
      holdForAnyone,
    );
    const failed = patient.when(starts("do", { preview }), approves("do"), starts("do"), answers("do", { n: 2 }));
    expect(failed.newEvent("step.failed").retry_at).not.toBeNull();
  });

  it("is different from a failure of another kind", () => {
    const failed = begun.when(fails("do", "RATE_LIMIT"), pass(25 * 3_600_000), starts("do", { preview }));
    expect(failed.newEvent("gate.opened")).not.toHaveProperty("stale");
    const act = startHeld(sendMail).when(approves("do"), starts("do"), saysNotDone("do", "RATE_LIMIT"), pass(60_000));
    expect(act.when(starts("do")).newEventTypes).toEqual(["step.started"]);
  });
});
