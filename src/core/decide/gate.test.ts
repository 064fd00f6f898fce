import { describe, expect, it } from "vitest";
import {
  ana,
  bob,
  cron,
  digestOf,
  keyOf,
  later,
  plan,
  readPage,
  robin,
  sendMail,
  step,
  wait,
} from "../../testing/given/cast.ts";
import { asked, demanding, held, send } from "../../testing/given/gated.ts";
import {
  accepts,
  answers,
  approves,
  cancels,
  expires,
  fails,
  rejects,
  resumes,
  starts,
} from "../../testing/given/moves.ts";
import { given, type Move, pass } from "../../testing/given.ts";
import { fault } from "../fault.ts";
import type { GateId, StepId } from "../id.ts";

const hour = 60 * 60 * 1000;
const day = 24 * hour;

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
