import { describe, expect, it } from "vitest";
import { ana, bob, digestOf, keyOf, later, ledgerFact, plan, robin } from "../../testing/given/cast.ts";
import { asked, demanding, held, send } from "../../testing/given/gated.ts";
import { accepts, approves, expires, rejects, saysNotDone, starts } from "../../testing/given/moves.ts";
import { given, pass } from "../../testing/given.ts";
import type { Demand } from "../demand.ts";
import { fault } from "../fault.ts";
import type { Guard } from "../guard.ts";
import { nextWake } from "../run.ts";

const hour = 60 * 60 * 1000;
const day = 24 * hour;

describe("a gate for several", () => {
  const lea = { ...ana, id: "lea", roles: ["legal"] };
  const asking = (demand: Demand) => asked.under(demanding(demand)).when(starts("send"));
  const two = asking({ role: null, people: 2 });

  it("lets the call through when as many have said yes as it asks for, each counted once", () => {
    const one = two.when(approves("send"));
    expect(one.types).toEqual(["gate.endorsed"]);
    expect(one.standing("send")).toEqual({ state: "waiting_approval", gate_id: "gate_1" });
    expect(one.when(starts("send")).news).toEqual([]);
    const twice = one.when(approves("send"));
    expect(twice.decision.refusal).toMatchObject({
      code: "GATE_DECIDED",
      message: "ana has said yes to gate gate_1 before, and is counted once",
    });
    expect(twice.types).toEqual(["gate.contested"]);
    const both = twice.when(pass(5), approves("send", bob));
    expect(both.gate("send")).toMatchObject({
      status: "approved",
      decided_by: "ana and bob",
      votes: [
        { by: "ana", roles: [] },
        { by: "bob", roles: ["cfo"], at: later(5) },
      ],
    });
    expect(both.when(starts("send")).said("step.started").gate).toEqual({ gate_id: "gate_1", version: 4 });
  });

  it("is ended by one no, also of someone who had said yes", () => {
    for (const no of [rejects("send"), rejects("send", bob)])
      expect(two.when(approves("send"), no).standing("send")).toMatchObject({ state: "rejected" });
  });

  it("asks for everyone that any rule asks for", () => {
    const told = asking({ role: "cfo", and: [{ role: "legal" }] });
    expect(told.when(approves("send", ana)).decision.refusal?.message).toContain("asks for a cfo, and a legal");
    const half = told.when(approves("send", lea));
    expect(half.types).toEqual(["gate.endorsed"]);
    expect(half.when(approves("send", bob)).types).toEqual(["gate.approved"]);
  });

  it("hears those again who said yes to this very call, when more is asked for", () => {
    const told = asking({ role: null }).when(approves("send"));
    const more = told.under(demanding({ role: null, people: 2 })).when(starts("send"));
    expect(more.said("gate.opened").votes).toEqual([{ by: "ana", roles: [], at: told.now }]);
    expect(more.when(approves("send", bob)).gate("send")).toMatchObject({ status: "approved" });
    const other = told.under(demanding({ role: "cfo" })).when(starts("send"));
    expect(other.said("gate.opened")).not.toHaveProperty("votes");
  });

  it("stands for what is asked now if those who said yes are those it asks for", () => {
    const told = asking({ role: null }).when(approves("send", bob));
    expect(told.under(demanding({ role: "cfo" })).when(starts("send")).types).toEqual(["step.started"]);
  });

  it("is not decided by whoever asked, unless a rule lets them", () => {
    const mine = given(accepts(plan(send), { mode: "human_gated", principal: ana }));
    expect(mine.when(starts("send"), approves("send")).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    const lax = mine.under(demanding({ role: null, self: true })).when(starts("send"));
    // The mode asks for someone else, so that it takes both.
    expect(lax.gate("send").demand).toEqual({ role: null });
    const auto = given(accepts(plan(send), { principal: ana })).under(demanding({ role: null, self: true }));
    expect(auto.when(starts("send")).when(approves("send")).types).toEqual(["gate.approved"]);
  });
});

describe("a decision about another call than is held", () => {
  it.each([
    ["approving", approves("send", ana, { digest: "other" })],
    ["rejecting", rejects("send", ana, { digest: "other" })],
  ])("changes nothing, and is on record: %s", (_, decision) => {
    const told = held.when(decision);
    expect(told.decision.refusal).toMatchObject({
      code: "GATE_MISMATCH",
      detail: { digest: held.gate("send").call.digest },
    });
    expect(told.types).toEqual(["gate.contested"]);
    expect(told.gate("send")).toEqual(held.gate("send"));
  });

  it("is one about this call, if it names this", () => {
    const { digest } = held.gate("send").call;
    expect(held.when(approves("send", ana, { digest })).types).toEqual(["gate.approved"]);
  });
});

describe("approving another input", () => {
  const edited = {
    input: { to: "bob" },
    digest: digestOf({ to: "bob" }),
    key: keyOf("send to bob"),
    keyed_by: "input",
  } as const;
  const amends = approves("send", ana, { edit: { call: edited } });

  it("makes another call, which runs as it was approved, and is on record", () => {
    const told = held.when(amends);
    expect(told.said("gate.amended")).toMatchObject({ by: ana, call: edited, use_by: later(day) });
    expect(told.step("send").call).toEqual(edited);
    const begun = told.when(starts("send"));
    expect(begun.said("step.started")).toMatchObject({ call: edited, gate: { gate_id: "gate_1", version: 3 } });
  });

  it("takes it through the guards again, which may refuse it or ask for more", () => {
    const picky: Guard = {
      id: "picky",
      judge: ({ proposal }) => {
        const { to } = proposal.input as { to: string };
        if (to === "eve") return { kind: "refuse", rule: "picky", fault: fault("POLICY_DENIED", "not her") };
        const demand = { role: to === "bob" ? "cfo" : null };
        return { kind: "hold", rule: "picky", reason: "rules", demand };
      },
    };
    const told = asked.under(picky).when(starts("send"));
    const to = (name: string) => ({ ...edited, input: { to: name }, digest: digestOf({ to: name }) });
    const amended = (name: string) => told.when(approves("send", ana, { edit: { call: to(name) } }), starts("send"));
    expect(amended("eve").standing("send")).toMatchObject({ state: "rejected", fault: { code: "POLICY_DENIED" } });
    expect(amended("bob").said("gate.opened")).toMatchObject({ call: to("bob"), demand: { role: "cfo" } });
    expect(amended("cleo").types).toEqual(["gate.amended", "step.started"]);
  });

  it("makes void what others said of the first, and counts as the first yes to the other", () => {
    const two = asked.under(demanding({ role: null, people: 2 })).when(starts("send"), approves("send", bob));
    const told = two.when(amends, starts("send"));
    expect(told.said("gate.opened")).toMatchObject({ call: edited, votes: [{ by: "ana" }] });
    expect(told.when(approves("send", bob), starts("send")).said("step.started").call).toEqual(edited);
  });

  it.each([
    ["does not fit its tool", held, { flaw: fault("INVALID_INPUT", "no") }, "INVALID_INPUT"],
    [
      "is one that was started before",
      held.when(approves("send"), starts("send"), saysNotDone("send", "RATE_LIMIT"), pass(day + 1), starts("send")),
      { call: edited },
      "NOT_POSSIBLE",
    ],
  ])("changes nothing where it %s, and is on record", (_, told, edit, code) => {
    const after = told.when(approves("send", ana, { edit }));
    expect(after.decision.refusal?.code).toBe(code);
    expect(after.types.at(-1)).toBe("gate.contested");
    expect(after.gate("send")).toEqual(told.gate("send"));
  });
});

describe("escalating", () => {
  const demand: Demand = { role: "cfo", within_ms: 3 * hour, escalate: { after_ms: hour, role: "board" } };
  const bea = { ...ana, id: "bea", roles: ["board"] };
  const slow = asked.under(demanding(demand)).when(starts("send"));

  it("lets others decide once nobody has for so long, and tells them", () => {
    expect(slow.gate("send").expires_at).toBe(later(3 * hour));
    expect(slow.when(pass(hour - 1), expires("send")).news).toEqual([]);
    expect(slow.when(pass(hour - 1), approves("send", bea)).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    const told = slow.when(pass(hour), expires("send"));
    expect(told.said("gate.escalated").notices).toMatchObject([
      { topic: "gate.escalated", payload: { gate_id: "gate_1", step_id: "send", to: [{ role: "board" }] } },
    ]);
    expect(told.run.notices.size).toBe(1);
    expect(told.gate("send")).toMatchObject({ status: "open", told_at: later(hour) });
    expect(told.when(expires("send")).news).toEqual([]);
    expect(told.when(approves("send", bea)).gate("send").status).toBe("approved");
  });

  it("lets them decide though nobody was there to tell them", () => {
    expect(slow.when(pass(hour), approves("send", bea)).gate("send").status).toBe("approved");
  });

  it("tells those whose turn has come, and nobody else", () => {
    const both = { ...demand, and: [{ role: "legal" }, { role: "hr", escalate: { after_ms: 2 * hour, role: "ceo" } }] };
    const told = asked.under(demanding(both)).when(starts("send"), pass(hour), expires("send"));
    const notice_id = `ntc_hire_!gate_${told.run.position}`;
    expect(told.said("gate.escalated").notices).toMatchObject([{ notice_id }]);
    expect(told.said("gate.escalated").notices).toMatchObject([
      { payload: { to: [{ role: "board", approvers: [] }] } },
    ]);
  });

  it("is over when the gate expires", () => {
    const told = slow.when(pass(hour), expires("send"), pass(2 * hour), expires("send"));
    expect(told.standing("send")).toMatchObject({ state: "rejected", fault: { code: "GATE_EXPIRED" } });
    expect(slow.when(pass(3 * hour), expires("send")).types).toEqual(["gate.expired", "run.ended"]);
  });

  it("wakes the run when it is time, and then when it is over", () => {
    expect(nextWake(slow.run)).toBe(later(hour));
    expect(nextWake(slow.when(pass(hour), expires("send")).run)).toBe(later(3 * hour));
  });
});

describe("who may not decide", () => {
  it("is told why: having asked for it, or being someone else than is asked for", () => {
    const mine = given(accepts(plan(send), { mode: "human_gated", principal: ana }));
    const refusal = (demand: Demand, who = ana) =>
      mine.under(demanding(demand)).when(starts("send"), approves("send", who)).decision.refusal?.message;
    const asker = "ana asked for this call and cannot decide gate gate_1; someone else must";
    expect(refusal({ role: null })).toBe(asker);
    expect(refusal({ role: null, approvers: ["ana"] })).toBe(asker);
    expect(refusal({ role: "cfo" })).toBe("ana cannot decide gate gate_1, which asks for a cfo");
    const cleo = { ...ana, id: "cleo" };
    expect(refusal({ role: "cfo" }, cleo)).toBe("cleo cannot decide gate gate_1, which asks for a cfo");
  });
});

describe("a confirmation", () => {
  const meant: Demand = { role: null, kind: "confirmation" };
  const confirming = (wish: object, demand: Demand = meant) =>
    given(accepts(plan(send), wish))
      .under(demanding(demand))
      .when(starts("send"));

  it("is given in advance by whoever asks, for all or for some steps", () => {
    expect(confirming({}).types).toEqual(["gate.opened"]);
    for (const confirmed of [true, ["send"]])
      expect(confirming({ confirmed }).types.at(-1), JSON.stringify(confirmed)).toBe("step.started");
    expect(confirming({ confirmed: ["other"] }).types).toEqual(["gate.opened"]);
  });

  it("is never an approval, whatever the caller says", () => {
    for (const demand of [{ role: null }, { role: "cfo" }, { role: null, self: true } as const])
      expect(confirming({ confirmed: true }, demand).types).toEqual(["gate.opened"]);
    expect(confirming({ confirmed: true, mode: "human_gated" }).types).toEqual(["gate.opened"]);
  });

  it("is given at the gate by whoever asked, if that is a person", () => {
    const mine = confirming({ principal: ana });
    expect(mine.when(approves("send"), starts("send")).types).toEqual(["gate.approved", "step.started"]);
    expect(confirming({}).when(approves("send", robin)).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
  });

  it("does not say that something is to be done again", () => {
    const told = given(accepts(plan(send), { principal: ana, confirmed: true }))
      .under(demanding(meant))
      .hearing(ledgerFact())
      .when(starts("send"));
    expect(told.said("gate.opened")).toMatchObject({ rule: "ledger", demand: { role: null } });
    expect(told.said("gate.opened").demand).not.toHaveProperty("kind");
    expect(told.when(approves("send")).decision.refusal?.code).toBe("AUTH_FORBIDDEN");
  });
});
