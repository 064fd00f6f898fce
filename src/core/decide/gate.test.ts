import { describe, expect, it } from "vitest";
import {
  ana,
  bob,
  cron,
  digestOf,
  keyOf,
  later,
  ledgerFact,
  plan,
  readPage,
  robin,
  sendMail,
  step,
  wait,
} from "../../testing/given/cast.ts";
import {
  accepts,
  answers,
  approves,
  cancels,
  does,
  expires,
  fails,
  goesUnheard,
  rejects,
  resolves,
  resumes,
  saysNotDone,
  starts,
} from "../../testing/given/moves.ts";
import { given, type Move, pass } from "../../testing/given.ts";
import type { Demand } from "../demand.ts";
import { fault } from "../fault.ts";
import type { Guard } from "../guard.ts";
import type { GateId, StepId } from "../id.ts";
import { nextWake } from "../run.ts";

const hour = 60 * 60 * 1000;
const day = 24 * hour;
const send = step("send", { tool: sendMail });
const asked = given(accepts(plan(send, step("b", { after: ["send"] })), { mode: "human_gated" }));
const held = asked.when(starts("send"));

/** A policy that can change its mind. */
const demanding = (demand: Demand | null): Guard => ({
  id: "policy",
  judge: () => (demand === null ? { kind: "allow" } : { kind: "hold", rule: "policy", reason: "rules", demand }),
});

describe("opening a gate", () => {
  it("holds the exact call until a moment, and the step waits for it", () => {
    expect(held.said("gate.opened")).toEqual({
      type: "gate.opened",
      at: held.now,
      gate_id: "gate_1",
      step_id: "send",
      call: { input: { to: "send" }, digest: digestOf({ to: "send" }), key: keyOf("send"), keyed_by: "input" },
      rule: "mode",
      reason: "mail.send acts on the world and the run is human_gated",
      demand: { role: null },
      expires_at: later(day),
      duplicate_of: null,
      reversible: false,
    });
    expect(held.standing("send")).toEqual({ state: "waiting_approval", gate_id: "gate_1" });
    expect(held.decision.grant).toBeNull();
  });

  it("takes nothing from the ledger", () => {
    expect(held.ledgerRow(keyOf("send"))).toBeNull();
  });
});

describe("approving", () => {
  it("makes the step ready, for as long as an approval is good", () => {
    const told = held.when(pass(1000), approves("send"));
    expect(told.said("gate.approved")).toMatchObject({ by: ana, reason: "looks right", use_by: later(1000 + day) });
    expect(told.states).toEqual({ send: "ready", b: "pending" });
    expect(told.gate("send")).toMatchObject({ status: "approved", decided_by: "ana", version: 2 });
  });

  it.each([
    ["an agent", robin, "agent robin cannot decide gate gate_1; only a person can"],
    ["an agent, were it another one", { ...robin, id: "marian" }, "agent marian cannot decide"],
    ["a service", cron, "service cron cannot decide"],
    ["the one who asked", { ...ana, id: "robin" }, "robin asked for this call"],
  ])("is not for %s, and the attempt is on record", (_, principal, why) => {
    const told = held.when(approves("send", principal));
    expect(told.decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    expect(told.decision.refusal?.message).toContain(why);
    expect(told.said("gate.contested")).toMatchObject({ by: principal, fault: told.decision.refusal });
    expect(told.gate("send")).toMatchObject({ status: "open", version: 1 });
    expect(held.when(rejects("send", principal)).types).toEqual(["gate.contested"]);
  });

  it("is for someone with the role that the gate asks for", () => {
    const strict = asked.under(demanding({ role: "cfo" })).when(starts("send"));
    expect(strict.gate("send").demand).toEqual({ role: "cfo" });
    expect(strict.when(approves("send", ana)).decision.refusal?.message).toContain("which asks for a cfo");
    expect(strict.when(approves("send", bob)).states).toMatchObject({ send: "ready" });
  });

  it("needs a gate that is there", () => {
    const told = held.when(approves("send", ana, { gate_id: "gate_x" as GateId }));
    expect(told.decision.refusal?.code).toBe("GATE_NOT_FOUND");
    expect(told.news).toEqual([]);
  });

  it.each([
    ["approved by ana", held.when(approves("send"))],
    ["rejected by ana", held.when(rejects("send"))],
    ["closed", held.when(cancels)],
    ["expired", held.when(pass(day), expires("send"))],
    ["consumed by ana", held.when(approves("send"), starts("send"))],
  ])("changes nothing about a gate that is %s", (state, told) => {
    for (const again of [told.when(approves("send", bob)), told.when(rejects("send", bob))]) {
      expect(again.decision.refusal).toMatchObject({ code: "GATE_DECIDED" });
      expect(again.decision.refusal?.message).toContain(`is ${state};`);
      expect(again.types).toEqual(["gate.contested"]);
      expect(again.run).toEqual({ ...told.run, position: told.run.position + 1, fresh: [], deserted: [] });
    }
  });
});

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

describe("rejecting", () => {
  it("refuses the step, which is no failure of it", () => {
    const told = held.when(rejects("send", ana, { reason: "too early" }));
    expect(told.standing("send")).toMatchObject({
      state: "rejected",
      rule: "gate",
      fault: { code: "GATE_REJECTED", message: "ana said no to send: too early" },
    });
    expect(told.step("send")).toMatchObject({ world: "permanent_failure", attempts: 0 });
    expect(told.gate("send")).toMatchObject({ status: "rejected", decided_by: "ana" });
    expect(held.when(rejects("send", ana, { reason: "" })).standing("send")).toMatchObject({
      fault: { message: "ana said no to send: no reason given" },
    });
  });

  it("ends the plan, unless the step says that it goes on", () => {
    expect(held.when(rejects("send")).states).toEqual({ send: "rejected", b: "skipped" });
    const lax = plan(
      step("send", { tool: sendMail, on_rejected: "continue" }),
      step("b", { after: ["send"] }),
      step("c"),
    );
    const told = given(accepts(lax, { mode: "human_gated" })).when(starts("send"), rejects("send"));
    expect(told.states).toEqual({ send: "rejected", b: "skipped", c: "ready" });
  });

  const wide = plan(
    send,
    step("looking", { tool: readPage }),
    step("queued", { tool: readPage }),
    step("behind", { after: ["looking"] }),
    step("retrying", { tool: readPage }),
    step("parked", { tool: readPage }),
    wait("paused", { ms: hour }),
  );
  const busy = given(accepts(wide, { mode: "human_gated" })).when(
    starts("send"),
    starts("looking"),
    starts("parked", { parked: fault("TOOL_MISSING", "it is not here") }),
    starts("paused"),
    starts("retrying"),
    fails("retrying", "RATE_LIMIT"),
  );

  it.each<[string, Move]>([
    ["who holds the run", rejects("send", ana, { in_flight: ["looking" as StepId] })],
    ["who lets it expire", [pass(day), expires("send", ["looking" as StepId])]],
  ])("spares what is in flight, which %s knows", (_, ending) => {
    const told = busy.when(ending);
    const skipped = { queued: "skipped", behind: "skipped", retrying: "skipped", parked: "skipped", paused: "skipped" };
    expect(told.states).toEqual({ send: "rejected", looking: "ready", ...skipped });
    const over = told.when(answers("looking", { text: "x" }));
    expect(over.states).toMatchObject({ looking: "succeeded", behind: "skipped" });
    expect(over.run.ended?.status).toBe("partial");
  });

  it("leaves to whoever holds the run what may be in flight, where nobody here can tell", () => {
    const told = busy.when(rejects("send", ana, { in_flight: "unknown" }));
    expect(told.states).toEqual({
      send: "rejected",
      looking: "ready",
      queued: "ready",
      behind: "skipped",
      retrying: "skipped",
      parked: "skipped",
      paused: "skipped",
    });
    const late = told.when(starts("queued"), answers("looking", { text: "x" }));
    expect(late.standing("queued")).toMatchObject({ state: "skipped", fault: { code: "ABORTED" } });
    expect(late.states).toMatchObject({ looking: "succeeded" });
    expect(late.run.ended?.status).toBe("partial");
  });

  it("leaves what was due to be tried or to end its wait, too, and none of it begins any more", () => {
    const due = busy.when(pass(2 * hour), rejects("send", ana, { in_flight: "unknown" }));
    expect(due.states).toMatchObject({ retrying: "failed_retryable", paused: "waiting", parked: "skipped" });
    const over = due.when(starts("retrying"), starts("paused"), starts("queued"), starts("looking"));
    expect(over.states).toMatchObject({
      retrying: "skipped",
      paused: "skipped",
      queued: "skipped",
      looking: "skipped",
    });
    expect(over.run.ended?.status).toBe("failed");
  });

  it("can be asked again after a resume, at another gate", () => {
    const again = held.when(rejects("send"), resumes, starts("send"));
    expect(again.said("gate.opened").gate_id).not.toBe("gate_1");
    expect(again.when(approves("send"), starts("send")).states).toMatchObject({ send: "running" });
  });
});

describe("expiring", () => {
  it("happens at the moment that was set, and not before", () => {
    expect(held.when(pass(day - 1), expires("send")).news).toEqual([]);
    const told = held.when(pass(day), expires("send"));
    expect(told.types).toEqual(["gate.expired", "run.ended"]);
    expect(told.standing("send")).toMatchObject({ state: "rejected", fault: { code: "GATE_EXPIRED" } });
  });

  it.each([approves("send"), rejects("send")])("wins over a decision that comes at that moment", (decision) => {
    const told = held.when(pass(day), decision);
    expect(told.decision.refusal?.code).toBe("GATE_EXPIRED");
    expect(told.types).toEqual(["gate.expired", "run.ended"]);
  });

  it("loses against a decision that came before", () => {
    expect(held.when(approves("send"), pass(day), expires("send")).states).toMatchObject({ send: "ready" });
  });

  it("knows no gate but those that were opened", () => {
    const told = held.when({ type: "expire", now: later(day), gate_id: "gate_x" as GateId, in_flight: [] });
    expect(told.news).toEqual([]);
  });
});

describe("closing a gate", () => {
  it("follows when its step no longer waits", () => {
    const two = given(accepts(plan(send, step("b")), { mode: "human_gated" })).when(starts("send"), starts("b"));
    expect(two.when(cancels).types).toEqual(["cancel.requested", "gate.closed", "run.ended"]);
    expect(two.when(fails("b")).types).toEqual(["step.failed", "gate.closed", "run.ended"]);
  });

  it("follows though whoever ended the plan thought that the step was on its way", () => {
    const two = given(accepts(plan(send, step("b")), { mode: "human_gated" })).when(starts("send"), starts("b"));
    const told = two.when(fails("b", "TOOL_FAILED", { inFlight: ["send"] }));
    expect(told.states).toEqual({ send: "skipped", b: "failed_final" });
    expect(told.gate("send").status).toBe("closed");
  });

  it("leaves the gates of others open", () => {
    const two = plan(step("a", { tool: sendMail, on_rejected: "continue" }), send);
    const told = given(accepts(two, { mode: "human_gated" })).when(starts("a"), starts("send"), rejects("a"));
    expect(told.gate("send").status).toBe("open");
    expect(told.types).toEqual(["gate.opened", "gate.opened", "gate.rejected"]);
  });
});

describe("standing on an approval", () => {
  const approved = held.when(approves("send"));

  it("consumes it in the first start", () => {
    const told = approved.when(starts("send"));
    expect(told.said("step.started").gate).toEqual({ gate_id: "gate_1", version: 3 });
    expect(told.gate("send").status).toBe("consumed");
  });

  it("is good for further attempts of the same call, within its time", () => {
    const failed = approved.when(starts("send"), saysNotDone("send", "RATE_LIMIT"));
    const again = failed.when(pass(9000), starts("send"));
    expect(again.said("step.started")).toMatchObject({ attempt: 2, gate: null, ledger: { version: 3, generation: 1 } });
    const late = failed.when(pass(day + 1), starts("send"));
    expect(late.types).toEqual(["gate.opened"]);
    expect(late.when(approves("send"), starts("send")).said("step.started").attempt).toBe(2);
  });

  it("is good for an attempt after the act was found absent", () => {
    const doubted = approved.when(starts("send"), goesUnheard("send"), resolves("send", { as: "absent" }));
    expect(doubted.when(starts("send")).types).toEqual(["step.started"]);
  });

  it("is good at its last moment and no longer", () => {
    expect(approved.when(pass(day), starts("send")).types).toEqual(["step.started"]);
    expect(approved.when(pass(day + 1), starts("send")).types).toEqual(["gate.opened"]);
  });

  it("is good for these very bytes only", () => {
    const other = {
      input: { to: "eve" },
      digest: digestOf({ to: "eve" }),
      key: keyOf("send"),
      keyed_by: "input",
    } as const;
    expect(approved.when(starts("send", { call: other })).said("gate.opened").call).toEqual(other);
  });

  it("is good for a demand that became milder, and not for one that became stricter", () => {
    const strict = approved.under(demanding({ role: "cfo" })).when(starts("send"));
    expect(strict.said("gate.opened").demand).toEqual({ role: "cfo" });
    const cfo = asked.under(demanding({ role: "cfo" })).when(starts("send"), approves("send", bob));
    expect(cfo.when(starts("send")).types).toEqual(["step.started"]);
    let mood: Demand = { role: "cfo" };
    const moody: Guard = { id: "moody", judge: (admission) => demanding(mood).judge(admission) };
    const told = asked.under(moody).when(starts("send"), approves("send", bob));
    mood = { role: null };
    expect(told.when(starts("send")).types).toEqual(["step.started"]);
  });

  it("is consumed even if nobody asks for it any more", () => {
    let mood: Demand | null = { role: null };
    const moody: Guard = { id: "moody", judge: (admission) => demanding(mood).judge(admission) };
    const told = given(accepts(plan(send)))
      .under(moody)
      .when(starts("send"), approves("send"));
    mood = null;
    expect(told.when(starts("send")).gate("send").status).toBe("consumed");
  });

  it("survives a resume with the same call, and only with it", () => {
    const flaw = fault("INVALID_INPUT", "no");
    const resumed = approved.when(starts("send", { flaw }), resumes);
    expect(resumed.step("send").call).toBeNull();
    expect(resumed.when(starts("send")).types).toEqual(["step.started"]);
    expect(
      resumed.when(starts("send", { call: { ...approved.gate("send").call, digest: digestOf("x") } })).types,
    ).toEqual(["gate.opened"]);
  });

  it("authorises a call and never replaces its result", () => {
    expect(approved.when(starts("send"), answers("send", { id: 5 })).standing("send")).toMatchObject({
      output: { id: 5 },
    });
  });
});

describe("a gate about a repetition", () => {
  it("asks for the role that the guards ask for, so that one yes does for both", () => {
    const told = asked
      .under(demanding({ role: "cfo" }))
      .hearing(ledgerFact())
      .when(starts("send"));
    expect(told.said("gate.opened")).toMatchObject({ rule: "ledger", demand: { role: "cfo" } });
    expect(told.when(approves("send", bob), starts("send")).types).toEqual(["gate.approved", "step.started"]);
  });

  it("is shown again, with what it repeats, to someone whom a policy asks for meanwhile", () => {
    const told = given(accepts(plan(send)))
      .hearing(ledgerFact())
      .when(starts("send"), approves("send"));
    const strict = told.under(demanding({ role: "cfo" })).when(starts("send"));
    expect(strict.said("gate.opened")).toMatchObject({ demand: { role: "cfo" }, duplicate_of: { generation: 1 } });
    const again = strict.when(approves("send", bob), starts("send"));
    expect(again.said("step.started").ledger).toEqual({ version: 6, generation: 2 });
  });

  it("lets a retry stand on it at the same generation", () => {
    const told = given(accepts(plan(send), { mode: "human_gated" }))
      .hearing(ledgerFact())
      .when(starts("send"), approves("send"));
    const failed = told.when(starts("send"), saysNotDone("send", "RATE_LIMIT"), pass(9000), starts("send"));
    expect(failed.news.at(-1)).toMatchObject({
      type: "step.started",
      ledger: { version: 8, generation: 2 },
      gate: null,
    });
  });

  it("means nothing to a step that was answered from its lineage before", () => {
    expect(held.when(approves("send"), does("send")).states).toMatchObject({ send: "succeeded" });
  });
});
