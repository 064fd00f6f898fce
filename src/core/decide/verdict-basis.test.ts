import { describe, expect, it } from "vitest";
import { lenientPolicy } from "../../testing/given/admission.ts";
import { accepts, answers, approves, does, fails, starts } from "../../testing/given/commands.ts";
import { ledgerFact, plan, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import type { Basis } from "../approval/verdict-basis.ts";
import type { Policy, Verdict } from "../call/guard.ts";
import { fault } from "../values/fault.ts";

const basis: Basis = { policy: "p1", passed: ["tenant/house/small"], objections: [] };
const rows = [{ table: "setting", key: "policy", was: null }] as const;

/** A policy with the same verdict for every call. */
function says(verdict: Verdict, more: Partial<Policy> = {}): Policy {
  return { ...lenientPolicy, version: "p1", judge: () => verdict, ...more };
}

const allows = says({ kind: "allow", basis });
const holds = says({ kind: "hold", rule: "ask", reason: "why", demand: { role: null }, basis });
const refuses = says({ kind: "refuse", rule: "no", fault: fault("POLICY_DENIED", "no"), basis });
const scenario = given(accepts(plan(step("read", { tool: readPage }), step("send", { tool: sendMail }))));

describe("the basis of a verdict", () => {
  it("is recorded at the end of an attempt whose start was not recorded", () => {
    const begun = scenario.when(starts("read", { policy: allows }));
    expect(begun.newEvents).toEqual([]);
    expect(begun.when(answers("read", 1)).newEvent("step.succeeded")).toMatchObject({ basis });
    expect(begun.when(fails("read")).newEvent("step.failed")).toMatchObject({ basis });
  });

  it("is recorded at the start of an attempt and not again at its end", () => {
    const begun = scenario.when(starts("send", { policy: allows }));
    expect(begun.newEvent("step.started")).toMatchObject({ basis });
    expect(begun.when(answers("send", { id: "1" })).newEvent("step.succeeded")).not.toHaveProperty("basis");
  });

  it("is recorded for a refused, held or reused call", () => {
    expect(scenario.when(starts("send", { policy: refuses })).newEvent("step.rejected")).toMatchObject({
      rule: "no",
      basis,
    });
    const expected = { ...basis, objections: basis.objections };
    expect(scenario.when(starts("send", { policy: holds })).newEvent("gate.opened")).toMatchObject({ basis: expected });
    const again = scenario.withLedgerFact(ledgerFact());
    expect(again.when(starts("send", { policy: allows })).newEvent("gate.opened")).toMatchObject({
      rule: "ledger",
      basis,
    });
    const reuses = { ...sendMail, onDuplicate: "reuse" } as const;
    const reused = given(accepts(plan(step("send", { tool: reuses })))).withLedgerFact(ledgerFact());
    expect(reused.when(starts("send", { policy: allows })).newEvent("step.succeeded")).toMatchObject({ basis });
    const reusable = { output: 1, reused: { run: "run_x", step: "s", at: 0, differs: null } } as never;
    expect(scenario.when(starts("read", { policy: allows, reusable })).newEvent("step.succeeded")).toMatchObject({
      basis,
    });
  });

  it("is recorded for a call that was confirmed in advance", () => {
    const asks = says({
      kind: "hold",
      rule: "ask",
      reason: "why",
      demand: { role: null, kind: "confirmation" },
      basis,
    });
    const meant = given(accepts(plan(step("send", { tool: sendMail })), { confirmed: true }));
    expect(meant.when(starts("send", { policy: asks })).newEvent("step.started")).toMatchObject({ basis });
  });

  it("is absent without a policy", () => {
    expect(scenario.when(does("read")).newEvent("step.succeeded")).not.toHaveProperty("basis");
    expect(scenario.when(starts("send")).newEvent("step.started")).not.toHaveProperty("basis");
  });
});

describe("the rows of a policy", () => {
  it("must not have changed when a decision that depends on it is appended", () => {
    const policy = says({ kind: "allow", basis }, { checks: rows });
    expect(scenario.when(starts("send", { policy })).decision.checks).toEqual(rows);
    expect(scenario.when(starts("read", { policy })).decision.checks).toEqual([]);
    const denies = says({ kind: "refuse", rule: "no", fault: fault("POLICY_DENIED", "no") }, { checks: rows });
    expect(scenario.when(starts("read", { policy: denies })).decision.checks).toEqual(rows);
    const reuses = { ...sendMail, onDuplicate: "reuse" } as const;
    const reused = given(accepts(plan(step("send", { tool: reuses })))).withLedgerFact(ledgerFact());
    expect(reused.when(starts("send", { policy })).decision.checks).toEqual([
      { table: "ledger", key: "key send", was: 5 },
      ...rows,
    ]);
  });
});

describe("the state that rules read", () => {
  const check = { table: "project", key: "shop", was: null } as const;
  const policyState = { places: {}, recorded: [], version: 0, check };

  it("must not have changed when a decision that depends on it is appended", () => {
    expect(scenario.when(starts("send", { policy: allows, policy_state: policyState })).decision.checks).toEqual([
      check,
    ]);
    expect(scenario.when(starts("send", { policy: refuses, policy_state: policyState })).decision.checks).toEqual([
      check,
    ]);
    expect(scenario.when(starts("read", { policy: allows, policy_state: policyState })).decision.checks).toEqual([]);
  });
});

describe("an approval under an earlier policy", () => {
  const held = scenario.when(starts("send", { policy: holds }), approves("send"));
  const asksFor = (role: string | null) => says({ kind: "hold", rule: "ask", reason: "why", demand: { role }, basis });

  it("is valid while the policy demands no more", () => {
    expect(held.when(starts("send", { policy: holds })).newEventTypes).toEqual(["step.started"]);
    expect(held.when(starts("send", { policy: allows })).newEventTypes).toEqual(["step.started"]);
  });

  it("is not valid once the policy demands more: the call is held or refused", () => {
    expect(held.when(starts("send", { policy: asksFor("cfo") })).newEvent("gate.opened")).toMatchObject({
      demand: { role: "cfo" },
    });
    expect(held.when(starts("send", { policy: refuses })).newEventTypes).toContain("step.rejected");
  });
});
