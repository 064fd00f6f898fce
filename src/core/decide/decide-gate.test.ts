import { describe, expect, it } from "vitest";
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
} from "../../testing/given/commands.ts";
import {
  ana,
  bob,
  cron,
  fakeDigest,
  fakeKey,
  later,
  plan,
  planWait,
  readPage,
  robin,
  sendMail,
  step,
} from "../../testing/given/fixtures.ts";
import { acceptedRun, guardDemanding, heldRun, sendStep } from "../../testing/given/gated-run.ts";
import { type GivenAction, given, pass } from "../../testing/given/given.ts";
import { fault } from "../values/fault.ts";
import type { GateId, StepId } from "../values/ids.ts";

const hour = 60 * 60 * 1000;
const day = 24 * hour;

describe("an opened gate", () => {
  it("holds the exact call until it expires, and the step waits for it", () => {
    expect(heldRun.newEvent("gate.opened")).toEqual({
      type: "gate.opened",
      at: heldRun.now,
      gate_id: "gate_1",
      step_id: "send",
      call: { input: { to: "send" }, digest: fakeDigest({ to: "send" }), key: fakeKey("send"), keyed_by: "input" },
      rule: "mode",
      reason: "mail.send acts on the world, and a person approves the acts of this run (human_gated)",
      demand: { role: null },
      expires_at: later(day),
      duplicate_of: null,
      reversible: false,
    });
    expect(heldRun.standing("send")).toEqual({ state: "waiting_approval", gate_id: "gate_1" });
    expect(heldRun.decision.grant).toBeNull();
  });

  it("does not change the ledger", () => {
    expect(heldRun.ledgerRow(fakeKey("send"))).toBeNull();
  });
});

describe("the confirmation of a client", () => {
  const confirms = { confirms: true } as const;
  const confirmation = guardDemanding({ role: null, kind: "confirmation" });

  it("approves a call that is held for a confirmation", () => {
    const held = given(accepts(plan(sendStep)))
      .withGuards(confirmation)
      .when(starts("send"));
    const confirmed = held.when(approves("send", robin, confirms));
    expect(confirmed.newEvent("gate.approved")).toMatchObject({ by: robin });
    expect(confirmed.states).toEqual({ send: "ready" });
  });

  it("is refused and recorded for a call that needs an approval", () => {
    const scenario = heldRun.when(approves("send", robin, confirms));
    expect(scenario.decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    expect(scenario.newEvent("gate.contested")).toMatchObject({ by: robin });
    expect(scenario.standing("send")).toMatchObject({ state: "waiting_approval" });
  });
});

describe("an approval", () => {
  it("makes the step ready and has an expiry", () => {
    const scenario = heldRun.when(pass(1000), approves("send"));
    expect(scenario.newEvent("gate.approved")).toMatchObject({
      by: ana,
      reason: "looks right",
      use_by: later(1000 + day),
    });
    expect(scenario.states).toEqual({ send: "ready", b: "pending" });
    expect(scenario.gate("send")).toMatchObject({ status: "approved", decided_by: "ana", version: 2 });
  });

  it.each([
    ["an agent", robin, "agent robin cannot approve a held call; only a person can"],
    ["an agent that did not request the call", { ...robin, id: "marian" }, "agent marian cannot approve"],
    ["a service", cron, "service cron cannot approve"],
    ["the requester", { ...ana, id: "robin" }, "robin requested this call"],
  ])("of %s is refused and recorded", (_, principal, why) => {
    const scenario = heldRun.when(approves("send", principal));
    expect(scenario.decision.refusal?.code).toBe("AUTH_FORBIDDEN");
    expect(scenario.decision.refusal?.message).toContain(why);
    expect(scenario.newEvent("gate.contested")).toMatchObject({ by: principal, fault: scenario.decision.refusal });
    expect(scenario.gate("send")).toMatchObject({ status: "open", version: 1 });
    expect(heldRun.when(rejects("send", principal)).newEventTypes).toEqual(["gate.contested"]);
  });

  it("needs the role that the gate demands", () => {
    const strict = acceptedRun.withGuards(guardDemanding({ role: "cfo" })).when(starts("send"));
    expect(strict.gate("send").demand).toEqual({ role: "cfo" });
    expect(strict.when(approves("send", ana)).decision.refusal?.message).toContain("which needs a cfo");
    expect(strict.when(approves("send", bob)).states).toMatchObject({ send: "ready" });
  });

  it("needs an existing gate", () => {
    const scenario = heldRun.when(approves("send", ana, { gate_id: "gate_x" as GateId }));
    expect(scenario.decision.refusal?.code).toBe("GATE_NOT_FOUND");
    expect(scenario.newEvents).toEqual([]);
  });

  it.each([
    ["approved", "ana already approved it;", heldRun.when(approves("send"))],
    ["rejected", "ana already rejected it;", heldRun.when(rejects("send"))],
    ["closed", "it is closed;", heldRun.when(cancels)],
    ["expired", "it is expired;", heldRun.when(pass(day), expires("send"))],
    ["consumed", "ana already approved it, and the call was made;", heldRun.when(approves("send"), starts("send"))],
  ])("does not change a gate that is %s", (_, text, scenario) => {
    for (const again of [scenario.when(approves("send", bob)), scenario.when(rejects("send", bob))]) {
      expect(again.decision.refusal).toMatchObject({ code: "GATE_DECIDED" });
      expect(again.decision.refusal?.message).toContain(text);
      expect(again.newEventTypes).toEqual(["gate.contested"]);
      expect(again.run).toEqual({
        ...scenario.run,
        position: scenario.run.position + 1,
        fresh: [],
        abandonedGates: [],
      });
    }
  });
});

describe("a rejection", () => {
  it("rejects the step, which does not count as a failure", () => {
    const scenario = heldRun.when(rejects("send", ana, { reason: "too early" }));
    expect(scenario.standing("send")).toMatchObject({
      state: "rejected",
      rule: "gate",
      fault: { code: "GATE_REJECTED", message: "ana rejected send: too early" },
    });
    expect(scenario.step("send")).toMatchObject({ world: "permanent_failure", attempts: 0 });
    expect(scenario.gate("send")).toMatchObject({ status: "rejected", decided_by: "ana" });
    expect(heldRun.when(rejects("send", ana, { reason: "" })).standing("send")).toMatchObject({
      fault: { message: "ana rejected send: no reason given" },
    });
  });

  it("ends the plan unless on_rejected of the step is continue", () => {
    expect(heldRun.when(rejects("send")).states).toEqual({ send: "rejected", b: "skipped" });
    const lax = plan(
      step("send", { tool: sendMail, on_rejected: "continue" }),
      step("b", { after: ["send"] }),
      step("c"),
    );
    const scenario = given(accepts(lax, { mode: "human_gated" })).when(starts("send"), rejects("send"));
    expect(scenario.states).toEqual({ send: "rejected", b: "skipped", c: "ready" });
  });

  const wide = plan(
    sendStep,
    step("looking", { tool: readPage }),
    step("queued", { tool: readPage }),
    step("behind", { after: ["looking"] }),
    step("retrying", { tool: readPage }),
    step("parked", { tool: readPage }),
    planWait("paused", { ms: hour }),
  );
  const busy = given(accepts(wide, { mode: "human_gated" })).when(
    starts("send"),
    starts("looking"),
    starts("parked", { parked: fault("TOOL_MISSING", "it is not here") }),
    starts("paused"),
    starts("retrying"),
    fails("retrying", "RATE_LIMIT"),
  );

  it.each<[string, GivenAction]>([
    ["a worker that holds the run", rejects("send", ana, { in_flight: ["looking" as StepId] })],
    ["a worker that expires the gate", [pass(day), expires("send", ["looking" as StepId])]],
  ])("does not skip the steps in flight that %s lists", (_, ending) => {
    const scenario = busy.when(ending);
    const skipped = { queued: "skipped", behind: "skipped", retrying: "skipped", parked: "skipped", paused: "skipped" };
    expect(scenario.states).toEqual({ send: "rejected", looking: "ready", ...skipped });
    const over = scenario.when(answers("looking", { text: "x" }));
    expect(over.states).toMatchObject({ looking: "succeeded", behind: "skipped" });
    expect(over.run.ended?.status).toBe("partial");
  });

  it("skips no startable step if the steps in flight are unknown", () => {
    const scenario = busy.when(rejects("send", ana, { in_flight: "unknown" }));
    expect(scenario.states).toEqual({
      send: "rejected",
      looking: "ready",
      queued: "ready",
      behind: "skipped",
      retrying: "skipped",
      parked: "skipped",
      paused: "skipped",
    });
    const late = scenario.when(starts("queued"), answers("looking", { text: "x" }));
    expect(late.standing("queued")).toMatchObject({ state: "skipped", fault: { code: "ABORTED" } });
    expect(late.states).toMatchObject({ looking: "succeeded" });
    expect(late.run.ended?.status).toBe("partial");
  });

  it("skips no step that is due for a retry or the end of its wait, and none of them starts", () => {
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

  it("can be followed by another gate after a resume", () => {
    const again = heldRun.when(rejects("send"), resumes, starts("send"));
    expect(again.newEvent("gate.opened").gate_id).not.toBe("gate_1");
    expect(again.when(approves("send"), starts("send")).states).toMatchObject({ send: "running" });
  });
});

describe("the expiry of a gate", () => {
  it("happens at its expiry time, not before", () => {
    expect(heldRun.when(pass(day - 1), expires("send")).newEvents).toEqual([]);
    const scenario = heldRun.when(pass(day), expires("send"));
    expect(scenario.newEventTypes).toEqual(["gate.expired", "run.ended"]);
    expect(scenario.standing("send")).toMatchObject({ state: "rejected", fault: { code: "GATE_EXPIRED" } });
  });

  it.each([approves("send"), rejects("send")])("wins over a decision at the same time", (decision) => {
    const scenario = heldRun.when(pass(day), decision);
    expect(scenario.decision.refusal?.code).toBe("GATE_EXPIRED");
    expect(scenario.newEventTypes).toEqual(["gate.expired", "run.ended"]);
  });

  it("does not change a gate that was decided before", () => {
    expect(heldRun.when(approves("send"), pass(day), expires("send")).states).toMatchObject({ send: "ready" });
  });

  it("ignores an unknown gate", () => {
    const scenario = heldRun.when({ type: "expire", now: later(day), gate_id: "gate_x" as GateId, in_flight: [] });
    expect(scenario.newEvents).toEqual([]);
  });
});

describe("the closing of a gate", () => {
  it("follows when its step stops waiting", () => {
    const two = given(accepts(plan(sendStep, step("b")), { mode: "human_gated" })).when(starts("send"), starts("b"));
    expect(two.when(cancels).newEventTypes).toEqual(["cancel.requested", "gate.closed", "run.ended"]);
    expect(two.when(fails("b")).newEventTypes).toEqual(["step.failed", "gate.closed", "run.ended"]);
  });

  it("follows the end of the plan also if the step is listed as in flight", () => {
    const two = given(accepts(plan(sendStep, step("b")), { mode: "human_gated" })).when(starts("send"), starts("b"));
    const scenario = two.when(fails("b", "TOOL_FAILED", { inFlight: ["send"] }));
    expect(scenario.states).toEqual({ send: "skipped", b: "failed_final" });
    expect(scenario.gate("send").status).toBe("closed");
  });

  it("does not close the gates of other steps", () => {
    const two = plan(step("a", { tool: sendMail, on_rejected: "continue" }), sendStep);
    const scenario = given(accepts(two, { mode: "human_gated" })).when(starts("a"), starts("send"), rejects("a"));
    expect(scenario.gate("send").status).toBe("open");
    expect(scenario.newEventTypes).toEqual(["gate.opened", "gate.opened", "gate.rejected"]);
  });
});
