import { describe, expect, it } from "vitest";
import { lenient } from "../../testing/given/admission.ts";
import { ledgerFact, plan, readPage, sendMail, step } from "../../testing/given/cast.ts";
import { accepts, answers, approves, does, fails, starts } from "../../testing/given/moves.ts";
import { given } from "../../testing/given.ts";
import type { Basis } from "../basis.ts";
import { fault } from "../fault.ts";
import type { Policy, Verdict } from "../guard.ts";

const basis: Basis = { policy: "p1", passed: ["tenant/house/small"], objections: [] };
const rows = [{ table: "setting", key: "policy", was: null }] as const;

/** A policy that answers every call alike. */
function says(verdict: Verdict, more: Partial<Policy> = {}): Policy {
  return { ...lenient, version: "p1", judge: () => verdict, ...more };
}

const allows = says({ kind: "allow", basis });
const holds = says({ kind: "hold", rule: "ask", reason: "why", demand: { role: null }, basis });
const refuses = says({ kind: "refuse", rule: "no", fault: fault("POLICY_DENIED", "no"), basis });
const story = given(accepts(plan(step("read", { tool: readPage }), step("send", { tool: sendMail }))));

describe("what a decision stood on", () => {
  it("is on the record of what ended, where nothing was written when it began", () => {
    const begun = story.when(starts("read", { policy: allows }));
    expect(begun.news).toEqual([]);
    expect(begun.when(answers("read", 1)).said("step.succeeded")).toMatchObject({ basis });
    expect(begun.when(fails("read")).said("step.failed")).toMatchObject({ basis });
  });

  it("is on the record of what began, and not said again when it ends", () => {
    const begun = story.when(starts("send", { policy: allows }));
    expect(begun.said("step.started")).toMatchObject({ basis });
    expect(begun.when(answers("send", { id: "1" })).said("step.succeeded")).not.toHaveProperty("basis");
  });

  it("is on the record of what is refused, held, or answered by what was done before", () => {
    expect(story.when(starts("send", { policy: refuses })).said("step.rejected")).toMatchObject({ rule: "no", basis });
    const expected = { ...basis, objections: basis.objections };
    expect(story.when(starts("send", { policy: holds })).said("gate.opened")).toMatchObject({ basis: expected });
    const again = story.hearing(ledgerFact());
    expect(again.when(starts("send", { policy: allows })).said("gate.opened")).toMatchObject({ rule: "ledger", basis });
    const reuses = { ...sendMail, onDuplicate: "reuse" } as const;
    const reused = given(accepts(plan(step("send", { tool: reuses })))).hearing(ledgerFact());
    expect(reused.when(starts("send", { policy: allows })).said("step.succeeded")).toMatchObject({ basis });
    const reusable = { output: 1, reused: { run: "run_x", step: "s", at: 0, differs: null } } as never;
    expect(story.when(starts("read", { policy: allows, reusable })).said("step.succeeded")).toMatchObject({ basis });
  });

  it("is on the record of what whoever asked had confirmed in advance", () => {
    const asks = says({
      kind: "hold",
      rule: "ask",
      reason: "why",
      demand: { role: null, kind: "confirmation" },
      basis,
    });
    const meant = given(accepts(plan(step("send", { tool: sendMail })), { confirmed: true }));
    expect(meant.when(starts("send", { policy: asks })).said("step.started")).toMatchObject({ basis });
  });

  it("is not there where no policy is", () => {
    expect(story.when(does("read")).said("step.succeeded")).not.toHaveProperty("basis");
    expect(story.when(starts("send")).said("step.started")).not.toHaveProperty("basis");
  });
});

describe("a policy that was read from rows", () => {
  it("must still be what it was when something is put on record by it", () => {
    const policy = says({ kind: "allow", basis }, { checks: rows });
    expect(story.when(starts("send", { policy })).decision.checks).toEqual(rows);
    expect(story.when(starts("read", { policy })).decision.checks).toEqual([]);
    const denies = says({ kind: "refuse", rule: "no", fault: fault("POLICY_DENIED", "no") }, { checks: rows });
    expect(story.when(starts("read", { policy: denies })).decision.checks).toEqual(rows);
    const reuses = { ...sendMail, onDuplicate: "reuse" } as const;
    const reused = given(accepts(plan(step("send", { tool: reuses })))).hearing(ledgerFact());
    expect(reused.when(starts("send", { policy })).decision.checks).toEqual([
      { table: "ledger", key: "key send", was: 5 },
      ...rows,
    ]);
  });
});

describe("state that rules were shown", () => {
  const check = { table: "project", key: "shop", was: null } as const;
  const seen = { places: {}, recorded: [], version: 0, check };

  it("must still be what it was when something is put on record by it", () => {
    expect(story.when(starts("send", { policy: allows, seen })).decision.checks).toEqual([check]);
    expect(story.when(starts("send", { policy: refuses, seen })).decision.checks).toEqual([check]);
    expect(story.when(starts("read", { policy: allows, seen })).decision.checks).toEqual([]);
  });
});

describe("a yes that was given under another policy", () => {
  const held = story.when(starts("send", { policy: holds }), approves("send"));
  const asksFor = (role: string | null) => says({ kind: "hold", rule: "ask", reason: "why", demand: { role }, basis });

  it("stands while no more is asked for", () => {
    expect(held.when(starts("send", { policy: holds })).types).toEqual(["step.started"]);
    expect(held.when(starts("send", { policy: allows })).types).toEqual(["step.started"]);
  });

  it("does not, once more is: it is held anew, or refused", () => {
    expect(held.when(starts("send", { policy: asksFor("cfo") })).said("gate.opened")).toMatchObject({
      demand: { role: "cfo" },
    });
    expect(held.when(starts("send", { policy: refuses })).types).toContain("step.rejected");
  });
});
