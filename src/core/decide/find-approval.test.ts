import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  does,
  resolves,
  resumes,
  saysNotDone,
  starts,
  timesOut,
} from "../../testing/given/commands.ts";
import { bob, fakeDigest, fakeKey, ledgerFact, plan } from "../../testing/given/fixtures.ts";
import { acceptedRun, guardDemanding, heldRun, sendStep } from "../../testing/given/gated-run.ts";
import { given, pass } from "../../testing/given/given.ts";
import type { Demand } from "../approval/approval-demand.ts";
import type { Guard } from "../call/guard.ts";
import { fault } from "../values/fault.ts";

const hour = 60 * 60 * 1000;
const day = 24 * hour;

describe("an approval", () => {
  const approved = heldRun.when(approves("send"));

  it("is used up by the first start", () => {
    const scenario = approved.when(starts("send"));
    expect(scenario.newEvent("step.started").gate).toEqual({ gate_id: "gate_1", version: 3 });
    expect(scenario.gate("send").status).toBe("consumed");
  });

  it("covers further attempts of the same call until it expires", () => {
    const failed = approved.when(starts("send"), saysNotDone("send", "RATE_LIMIT"));
    const again = failed.when(pass(9000), starts("send"));
    expect(again.newEvent("step.started")).toMatchObject({
      attempt: 2,
      gate: null,
      ledger: { version: 3, generation: 1 },
    });
    const late = failed.when(pass(day + 1), starts("send"));
    expect(late.newEventTypes).toEqual(["gate.opened"]);
    expect(late.when(approves("send"), starts("send")).newEvent("step.started").attempt).toBe(2);
  });

  it("covers an attempt after the act was found absent", () => {
    const doubted = approved.when(starts("send"), timesOut("send"), resolves("send", { as: "absent" }));
    expect(doubted.when(starts("send")).newEventTypes).toEqual(["step.started"]);
  });

  it("is valid at its expiry time, not after it", () => {
    expect(approved.when(pass(day), starts("send")).newEventTypes).toEqual(["step.started"]);
    expect(approved.when(pass(day + 1), starts("send")).newEventTypes).toEqual(["gate.opened"]);
  });

  it("covers only exactly the same input", () => {
    const other = {
      input: { to: "eve" },
      digest: fakeDigest({ to: "eve" }),
      key: fakeKey("send"),
      keyed_by: "input",
    } as const;
    expect(approved.when(starts("send", { call: other })).newEvent("gate.opened").call).toEqual(other);
  });

  it("meets a demand that became weaker, but not one that became stricter", () => {
    const strict = approved.withGuards(guardDemanding({ role: "cfo" })).when(starts("send"));
    expect(strict.newEvent("gate.opened").demand).toEqual({ role: "cfo" });
    const cfo = acceptedRun.withGuards(guardDemanding({ role: "cfo" })).when(starts("send"), approves("send", bob));
    expect(cfo.when(starts("send")).newEventTypes).toEqual(["step.started"]);
    let mood: Demand = { role: "cfo" };
    const moody: Guard = { id: "moody", judge: (admission) => guardDemanding(mood).judge(admission) };
    const scenario = acceptedRun.withGuards(moody).when(starts("send"), approves("send", bob));
    mood = { role: null };
    expect(scenario.when(starts("send")).newEventTypes).toEqual(["step.started"]);
  });

  it("is used up even if no guard holds the call any more", () => {
    let mood: Demand | null = { role: null };
    const moody: Guard = { id: "moody", judge: (admission) => guardDemanding(mood).judge(admission) };
    const scenario = given(accepts(plan(sendStep)))
      .withGuards(moody)
      .when(starts("send"), approves("send"));
    mood = null;
    expect(scenario.when(starts("send")).gate("send").status).toBe("consumed");
  });

  it("remains valid after a resume only for the same call", () => {
    const flaw = fault("INVALID_INPUT", "no");
    const resumed = approved.when(starts("send", { flaw }), resumes);
    expect(resumed.step("send").call).toBeNull();
    expect(resumed.when(starts("send")).newEventTypes).toEqual(["step.started"]);
    expect(
      resumed.when(starts("send", { call: { ...approved.gate("send").call, digest: fakeDigest("x") } })).newEventTypes,
    ).toEqual(["gate.opened"]);
  });

  it("allows a call and does not replace its result", () => {
    expect(approved.when(starts("send"), answers("send", { id: 5 })).standing("send")).toMatchObject({
      output: { id: 5 },
    });
  });
});

describe("a gate for a repeated act", () => {
  it("demands the role that the guards demand, so that one approval covers both", () => {
    const scenario = acceptedRun
      .withGuards(guardDemanding({ role: "cfo" }))
      .withLedgerFact(ledgerFact())
      .when(starts("send"));
    expect(scenario.newEvent("gate.opened")).toMatchObject({ rule: "ledger", demand: { role: "cfo" } });
    expect(scenario.when(approves("send", bob), starts("send")).newEventTypes).toEqual([
      "gate.approved",
      "step.started",
    ]);
  });

  it("opens again with the repeated act if a policy demands another approver meanwhile", () => {
    const scenario = given(accepts(plan(sendStep)))
      .withLedgerFact(ledgerFact())
      .when(starts("send"), approves("send"));
    const strict = scenario.withGuards(guardDemanding({ role: "cfo" })).when(starts("send"));
    expect(strict.newEvent("gate.opened")).toMatchObject({ demand: { role: "cfo" }, duplicate_of: { generation: 1 } });
    const again = strict.when(approves("send", bob), starts("send"));
    expect(again.newEvent("step.started").ledger).toEqual({ version: 6, generation: 2 });
  });

  it("covers a retry at the same generation", () => {
    const scenario = given(accepts(plan(sendStep), { mode: "human_gated" }))
      .withLedgerFact(ledgerFact())
      .when(starts("send"), approves("send"));
    const failed = scenario.when(starts("send"), saysNotDone("send", "RATE_LIMIT"), pass(9000), starts("send"));
    expect(failed.newEvents.at(-1)).toMatchObject({
      type: "step.started",
      ledger: { version: 8, generation: 2 },
      gate: null,
    });
  });

  it("does not affect a step that reused a result of its lineage before", () => {
    expect(heldRun.when(approves("send"), does("send")).states).toMatchObject({ send: "succeeded" });
  });
});
