import { describe, expect, it } from "vitest";
import { accepts, approves, expires, rejects, saysNotDone, starts } from "../../testing/given/commands.ts";
import { ana, bob, fakeDigest, fakeKey, later, ledgerFact, plan, robin } from "../../testing/given/fixtures.ts";
import { acceptedRun, guardDemanding, heldRun, sendStep } from "../../testing/given/gated-run.ts";
import { given, pass } from "../../testing/given/given.ts";
import type { Demand } from "../approval/approval-demand.ts";
import type { Guard } from "../call/guard.ts";
import { nextWakeAt } from "../run/run-wakeups.ts";
import { fault } from "../values/fault.ts";

const hour = 60 * 60 * 1000;
const day = 24 * hour;

describe("a gate that needs several votes", () => {
  const lea = { ...ana, id: "lea", roles: ["legal"] };
  const asking = (demand: Demand) => acceptedRun.withGuards(guardDemanding(demand)).when(starts("send"));
  const two = asking({ role: null, people: 2 });

  it("allows the call when enough people have approved, each counted once", () => {
    const one = two.when(approves("send"));
    expect(one.newEventTypes).toEqual(["gate.endorsed"]);
    expect(one.standing("send")).toEqual({ state: "waiting_approval", gate_id: "gate_1" });
    expect(one.when(starts("send")).newEvents).toEqual([]);
    const twice = one.when(approves("send"));
    expect(twice.decision.refusal).toMatchObject({
      code: "GATE_DECIDED",
      message: "ana has approved gate gate_1 before; each person counts once",
    });
    expect(twice.newEventTypes).toEqual(["gate.contested"]);
    const both = twice.when(pass(5), approves("send", bob));
    expect(both.gate("send")).toMatchObject({
      status: "approved",
      decided_by: "ana and bob",
      votes: [
        { by: "ana", roles: [] },
        { by: "bob", roles: ["cfo"], at: later(5) },
      ],
    });
    expect(both.when(starts("send")).newEvent("step.started").gate).toEqual({ gate_id: "gate_1", version: 4 });
  });

  it("is rejected by one rejection, also of a person who had approved", () => {
    for (const no of [rejects("send"), rejects("send", bob)])
      expect(two.when(approves("send"), no).standing("send")).toMatchObject({ state: "rejected" });
  });

  it("demands every approval that a rule demands", () => {
    const scenario = asking({ role: "cfo", and: [{ role: "legal" }] });
    expect(scenario.when(approves("send", ana)).decision.refusal?.message).toContain("needs a cfo, and a legal");
    const half = scenario.when(approves("send", lea));
    expect(half.newEventTypes).toEqual(["gate.endorsed"]);
    expect(half.when(approves("send", bob)).newEventTypes).toEqual(["gate.approved"]);
  });

  it("counts earlier approvals of the same call when more are demanded", () => {
    const scenario = asking({ role: null }).when(approves("send"));
    const more = scenario.withGuards(guardDemanding({ role: null, people: 2 })).when(starts("send"));
    expect(more.newEvent("gate.opened").votes).toEqual([{ by: "ana", roles: [], at: scenario.now }]);
    expect(more.when(approves("send", bob)).gate("send")).toMatchObject({ status: "approved" });
    const other = scenario.withGuards(guardDemanding({ role: "cfo" })).when(starts("send"));
    expect(other.newEvent("gate.opened")).not.toHaveProperty("votes");
  });

  it("covers the current demand if the earlier votes meet it", () => {
    const scenario = asking({ role: null }).when(approves("send", bob));
    expect(scenario.withGuards(guardDemanding({ role: "cfo" })).when(starts("send")).newEventTypes).toEqual([
      "step.started",
    ]);
  });

  it("is not decided by the requester unless a rule allows it", () => {
    const mine = given(accepts(plan(sendStep), { mode: "human_gated", principal: ana }));
    expect(mine.when(starts("send"), approves("send")).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    const lax = mine.withGuards(guardDemanding({ role: null, self: true })).when(starts("send"));
    // The mode demands another person, so both votes are needed.
    expect(lax.gate("send").demand).toEqual({ role: null });
    const auto = given(accepts(plan(sendStep), { principal: ana })).withGuards(
      guardDemanding({ role: null, self: true }),
    );
    expect(auto.when(starts("send")).when(approves("send")).newEventTypes).toEqual(["gate.approved"]);
  });
});

describe("a decision with the digest of another call", () => {
  it.each([
    ["approving", approves("send", ana, { digest: "other" })],
    ["rejecting", rejects("send", ana, { digest: "other" })],
  ])("changes nothing and is recorded: %s", (_, decision) => {
    const scenario = heldRun.when(decision);
    expect(scenario.decision.refusal).toMatchObject({
      code: "GATE_MISMATCH",
      detail: { digest: heldRun.gate("send").call.digest },
    });
    expect(scenario.newEventTypes).toEqual(["gate.contested"]);
    expect(scenario.gate("send")).toEqual(heldRun.gate("send"));
  });

  it("is accepted if the digest is that of the held call", () => {
    const { digest } = heldRun.gate("send").call;
    expect(heldRun.when(approves("send", ana, { digest })).newEventTypes).toEqual(["gate.approved"]);
  });
});

describe("an approval with an edited input", () => {
  const edited = {
    input: { to: "bob" },
    digest: fakeDigest({ to: "bob" }),
    key: fakeKey("send to bob"),
    keyed_by: "input",
  } as const;
  const amends = approves("send", ana, { edit: { call: edited } });

  it("is recorded, and the edited call runs", () => {
    const scenario = heldRun.when(amends);
    expect(scenario.newEvent("gate.amended")).toMatchObject({ by: ana, call: edited, use_by: later(day) });
    expect(scenario.step("send").call).toEqual(edited);
    const begun = scenario.when(starts("send"));
    expect(begun.newEvent("step.started")).toMatchObject({ call: edited, gate: { gate_id: "gate_1", version: 3 } });
  });

  it("passes the guards again, which may refuse or hold the edited call", () => {
    const picky: Guard = {
      id: "picky",
      judge: ({ proposal }) => {
        const { to } = proposal.input as { to: string };
        if (to === "eve") return { kind: "refuse", rule: "picky", fault: fault("POLICY_DENIED", "not her") };
        const demand = { role: to === "bob" ? "cfo" : null };
        return { kind: "hold", rule: "picky", reason: "rules", demand };
      },
    };
    const scenario = acceptedRun.withGuards(picky).when(starts("send"));
    const to = (name: string) => ({ ...edited, input: { to: name }, digest: fakeDigest({ to: name }) });
    const amended = (name: string) =>
      scenario.when(approves("send", ana, { edit: { call: to(name) } }), starts("send"));
    expect(amended("eve").standing("send")).toMatchObject({ state: "rejected", fault: { code: "POLICY_DENIED" } });
    expect(amended("bob").newEvent("gate.opened")).toMatchObject({ call: to("bob"), demand: { role: "cfo" } });
    expect(amended("cleo").newEventTypes).toEqual(["gate.amended", "step.started"]);
  });

  it("voids earlier votes and counts as the first vote for the edited call", () => {
    const two = acceptedRun
      .withGuards(guardDemanding({ role: null, people: 2 }))
      .when(starts("send"), approves("send", bob));
    const scenario = two.when(amends, starts("send"));
    expect(scenario.newEvent("gate.opened")).toMatchObject({ call: edited, votes: [{ by: "ana" }] });
    expect(scenario.when(approves("send", bob), starts("send")).newEvent("step.started").call).toEqual(edited);
  });

  it.each([
    ["does not match the schema of the tool", heldRun, { flaw: fault("INVALID_INPUT", "no") }, "INVALID_INPUT"],
    [
      "was started before",
      heldRun.when(approves("send"), starts("send"), saysNotDone("send", "RATE_LIMIT"), pass(day + 1), starts("send")),
      { call: edited },
      "NOT_POSSIBLE",
    ],
  ])("changes nothing and is recorded if it %s", (_, scenario, edit, code) => {
    const after = scenario.when(approves("send", ana, { edit }));
    expect(after.decision.refusal?.code).toBe(code);
    expect(after.newEventTypes.at(-1)).toBe("gate.contested");
    expect(after.gate("send")).toEqual(scenario.gate("send"));
  });
});

describe("an escalation", () => {
  const demand: Demand = { role: "cfo", within_ms: 3 * hour, escalate: { after_ms: hour, role: "board" } };
  const bea = { ...ana, id: "bea", roles: ["board"] };
  const slow = acceptedRun.withGuards(guardDemanding(demand)).when(starts("send"));

  it("lets more approvers decide after the time of the demand, and notifies them", () => {
    expect(slow.gate("send").expires_at).toBe(later(3 * hour));
    expect(slow.when(pass(hour - 1), expires("send")).newEvents).toEqual([]);
    expect(slow.when(pass(hour - 1), approves("send", bea)).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    const scenario = slow.when(pass(hour), expires("send"));
    expect(scenario.newEvent("gate.escalated").notices).toMatchObject([
      { topic: "gate.escalated", payload: { gate_id: "gate_1", step_id: "send", to: [{ role: "board" }] } },
    ]);
    expect(scenario.run.notices.size).toBe(1);
    expect(scenario.gate("send")).toMatchObject({ status: "open", escalated_at: later(hour) });
    expect(scenario.when(expires("send")).newEvents).toEqual([]);
    expect(scenario.when(approves("send", bea)).gate("send").status).toBe("approved");
  });

  it("lets them decide also if the escalation was not recorded", () => {
    expect(slow.when(pass(hour), approves("send", bea)).gate("send").status).toBe("approved");
  });

  it("notifies only the approvers of the parts that are due", () => {
    const both = { ...demand, and: [{ role: "legal" }, { role: "hr", escalate: { after_ms: 2 * hour, role: "ceo" } }] };
    const scenario = acceptedRun.withGuards(guardDemanding(both)).when(starts("send"), pass(hour), expires("send"));
    const notice_id = `ntc_hire_!gate_${scenario.run.position}`;
    expect(scenario.newEvent("gate.escalated").notices).toMatchObject([{ notice_id }]);
    expect(scenario.newEvent("gate.escalated").notices).toMatchObject([
      { payload: { to: [{ role: "board", approvers: [] }] } },
    ]);
  });

  it("does not happen after the gate has expired", () => {
    const scenario = slow.when(pass(hour), expires("send"), pass(2 * hour), expires("send"));
    expect(scenario.standing("send")).toMatchObject({ state: "rejected", fault: { code: "GATE_EXPIRED" } });
    expect(slow.when(pass(3 * hour), expires("send")).newEventTypes).toEqual(["gate.expired", "run.ended"]);
  });

  it("sets the timer of the run to the escalation and then to the expiry", () => {
    expect(nextWakeAt(slow.run)).toBe(later(hour));
    expect(nextWakeAt(slow.when(pass(hour), expires("send")).run)).toBe(later(3 * hour));
  });
});

describe("a principal who may not decide", () => {
  it("gets the reason: it requested the call, or it does not meet the demand", () => {
    const mine = given(accepts(plan(sendStep), { mode: "human_gated", principal: ana }));
    const refusal = (demand: Demand, who = ana) =>
      mine.withGuards(guardDemanding(demand)).when(starts("send"), approves("send", who)).decision.refusal?.message;
    const asker = "ana requested this call and cannot decide gate gate_1; another person must";
    expect(refusal({ role: null })).toBe(asker);
    expect(refusal({ role: null, approvers: ["ana"] })).toBe(asker);
    expect(refusal({ role: "cfo" })).toBe("ana cannot decide gate gate_1, which needs a cfo");
    const cleo = { ...ana, id: "cleo" };
    expect(refusal({ role: "cfo" }, cleo)).toBe("cleo cannot decide gate gate_1, which needs a cfo");
  });
});

describe("a confirmation", () => {
  const meant: Demand = { role: null, kind: "confirmation" };
  const confirming = (wish: object, demand: Demand = meant) =>
    given(accepts(plan(sendStep), wish))
      .withGuards(guardDemanding(demand))
      .when(starts("send"));

  it("is given in advance by the requester, for all or for some steps", () => {
    expect(confirming({}).newEventTypes).toEqual(["gate.opened"]);
    for (const confirmed of [true, ["send"]])
      expect(confirming({ confirmed }).newEventTypes.at(-1), JSON.stringify(confirmed)).toBe("step.started");
    expect(confirming({ confirmed: ["other"] }).newEventTypes).toEqual(["gate.opened"]);
  });

  it("never replaces an approval", () => {
    for (const demand of [{ role: null }, { role: "cfo" }, { role: null, self: true } as const])
      expect(confirming({ confirmed: true }, demand).newEventTypes).toEqual(["gate.opened"]);
    expect(confirming({ confirmed: true, mode: "human_gated" }).newEventTypes).toEqual(["gate.opened"]);
  });

  it("is given at the gate by the requester if that is a person", () => {
    const mine = confirming({ principal: ana });
    expect(mine.when(approves("send"), starts("send")).newEventTypes).toEqual(["gate.approved", "step.started"]);
    expect(confirming({}).when(approves("send", robin)).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
  });

  it("does not cover a repeated act", () => {
    const scenario = given(accepts(plan(sendStep), { principal: ana, confirmed: true }))
      .withGuards(guardDemanding(meant))
      .withLedgerFact(ledgerFact())
      .when(starts("send"));
    expect(scenario.newEvent("gate.opened")).toMatchObject({ rule: "ledger", demand: { role: null } });
    expect(scenario.newEvent("gate.opened").demand).not.toHaveProperty("kind");
    expect(scenario.when(approves("send")).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
  });
});
