import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  cancels,
  fails,
  recovers,
  resolves,
  resumes,
  saysNotDone,
  settles,
  sightingUnclear,
  starts,
  timesOut,
} from "../../testing/given/commands.ts";
import { fakeKey, later, ledgerFact, noon, orderRun, plan, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenAction, type GivenRun, given, pass } from "../../testing/given/given.ts";
import type { Guard } from "../call/guard.ts";
import type { ToolFacts } from "../call/proposal.ts";
import { fault } from "../values/fault.ts";

const minute = 60_000;
const timeout = 30_000;
/** The provider accepts a key once in ten minutes. */
const promises: ToolFacts = { ...sendMail, idempotentForMs: 10 * minute };
/** A call may be in transit until its timeout and a minute longer. */
const until = later(10 * minute - timeout - promises.settleAfterMs);

const doubted = (tool = promises): GivenRun =>
  given(accepts(plan(step("send", { tool }), step("a", { after: [] })))).when(starts("send"), timesOut("send"));
const again = (...moves: readonly GivenAction[]): GivenRun => doubted().when(settles("send", null), ...moves);
const row = (scenario: GivenRun) => scenario.ledgerRow(fakeKey("send"));
const needsPerson = { state: "in_doubt", doubt: { next: { do: "ask" } } };

describe("a resend of the identical call", () => {
  it("is allowed by the promise of the tool when the verifier cannot settle the doubt", () => {
    const scenario = doubted({ ...promises, verifies: true }).when(settles("send", sightingUnclear));
    expect(scenario.newEvent("step.settled")).toMatchObject({
      settled: { as: "resend" },
      by: "declaration",
      ledger: null,
    });
    expect(scenario.states).toMatchObject({ send: "ready" });
    expect(row(scenario)).toMatchObject({ state: "in_doubt" });
  });

  it("keeps key and generation, and writes the next version of the row", () => {
    const scenario = again(pass(minute), starts("send"));
    expect(scenario.newEvent("step.started")).toMatchObject({
      attempt: 2,
      call: { key: fakeKey("send") },
      ledger: { version: 3, generation: 1 },
    });
    expect(scenario.when(answers("send", { id: 1 })).states).toMatchObject({ send: "succeeded" });
    expect(row(scenario.when(answers("send", { id: 1 })))).toMatchObject({ state: "committed", attempt: 2 });
  });

  it("is not allowed after the time of the promise; then a person must settle the doubt", () => {
    expect(doubted().newEvent("step.doubted").exits.resend_until).toBe(until);
    expect(doubted().when(pass(until - noon - 1), settles("send", null)).states).toMatchObject({ send: "ready" });
    expect(
      doubted()
        .when(pass(until - noon), settles("send", null))
        .standing("send"),
    ).toMatchObject(needsPerson);
  });

  it("is not sent after the time of the promise, also if it was decided before", () => {
    const scenario = again(pass(until - noon), starts("send"));
    expect(scenario.newEvent("step.probed").why).toContain("the time in which its key may be sent again is over");
    expect(scenario.standing("send")).toMatchObject(needsPerson);
    expect(again(pass(until - noon - 1), starts("send")).states).toMatchObject({ send: "running" });
  });

  it("is not allowed a third time after the time of the promise", () => {
    const twice = again(pass(minute), starts("send"), timesOut("send"));
    const left = until - noon - minute;
    expect(twice.when(pass(left - 1), settles("send", null)).states).toMatchObject({ send: "ready" });
    expect(twice.when(pass(left), settles("send", null)).standing("send")).toMatchObject(needsPerson);
  });

  it("has a time limit that starts with the first send", () => {
    const twice = again(pass(5 * minute), starts("send"), timesOut("send"));
    expect(twice.newEvent("step.doubted").exits.resend_until).toBe(until);
    const died = again(pass(5 * minute), starts("send"), recovers({ id: "send", mark: "yes" }));
    expect(died.newEvent("step.doubted").exits.resend_until).toBe(until);
  });

  it("has a new time limit once the first call is known not to have happened", () => {
    const scenario = doubted().when(pass(minute), resolves("send", { as: "absent" }), starts("send"), timesOut("send"));
    expect(scenario.newEvent("step.doubted").exits.resend_until).toBe(until + minute);
  });
});

describe("a repeated resend", () => {
  it.each([
    ["at least a second", 100, 1000],
    ["the time since the first send", 5000, 5000],
    ["at most a minute", 5 * minute, minute],
  ])("waits longer each time: %s", (_, tried, pause) => {
    const twice = again(pass(tried), starts("send"), timesOut("send"));
    const early = twice.when(pass(pause - 1), settles("send", null));
    const next_at = later(tried + pause);
    expect(early.newEvent("step.probed")).toMatchObject({
      saw: "unknown",
      why: "it was sent again recently",
      next_at,
    });
    expect(early.standing("send")).toMatchObject({ doubt: { next: { do: "look_again", at: next_at } } });
    expect(twice.when(pass(pause), settles("send", null)).states).toMatchObject({ send: "ready" });
  });

  it("is delayed also if the clock stands still and the second call returns not_done at once", () => {
    const twice = again(starts("send"), saysNotDone("send", "RATE_LIMIT"));
    expect(twice.when(settles("send", null)).newEvent("step.probed").next_at).toBe(later(1000));
    expect(twice.when(pass(1000), settles("send", null)).states).toMatchObject({ send: "ready" });
  });

  it("is not delayed beyond the promise; then a person must settle the doubt", () => {
    const late = again(pass(9 * minute), starts("send"), timesOut("send"));
    expect(late.when(settles("send", null)).standing("send")).toMatchObject(needsPerson);
  });
});

describe("a call that was sent again", () => {
  const sent = again(starts("send"));

  it("stays in doubt when the second call returns not_done", () => {
    const scenario = sent.when(saysNotDone("send", "RATE_LIMIT"));
    expect(scenario.newEventTypes).toEqual(["step.doubted"]);
    expect(row(scenario)).toMatchObject({ state: "in_doubt" });
    expect(scenario.when(pass(minute), settles("send", null), starts("send")).newEvent("step.started").ledger).toEqual({
      version: 5,
      generation: 1,
    });
  });

  it("stays in doubt when the second call fails, also if errors mean not_done", () => {
    const tool: ToolFacts = { ...promises, errorsMean: "not_done" };
    const scenario = doubted(tool).when(settles("send", null), starts("send"), fails("send", "INVALID_INPUT"));
    expect(scenario.states).toMatchObject({ send: "in_doubt" });
  });

  it("stays in doubt when the second call was never sent", () => {
    const scenario = sent.when(recovers({ id: "send", mark: "no" }));
    expect(scenario.newEventTypes).toEqual(["step.doubted"]);
  });

  it("succeeds when one of the two calls is known to have happened", () => {
    expect(sent.when(answers("send")).states).toMatchObject({ send: "succeeded" });
    expect(sent.when(timesOut("send"), resolves("send", { as: "absent" })).step("send").act).toMatchObject({
      state: "absent",
      doubt: null,
    });
  });
});

describe("a call that waits to be sent again", () => {
  it("returns to its doubt when the run is cancelled, and nothing is sent", () => {
    const scenario = again(cancels);
    expect(scenario.standing("send")).toMatchObject({
      ...needsPerson,
      since: noon,
      fault: { code: "OUTCOME_UNKNOWN" },
    });
    expect(scenario.run.ended).toBeNull();
    expect(scenario.when(resolves("send", { as: "absent" })).run.ended?.status).toBe("cancelled");
    expect(scenario.when(starts("send")).newEvents).toEqual([]);
  });

  it("returns to its doubt when a step ends the plan", () => {
    const scenario = again(starts("a"), fails("a"));
    expect(scenario.standing("send")).toMatchObject(needsPerson);
    expect(scenario.run.ended).toBeNull();
    const over = scenario.when(resolves("send", { as: "give_up" }));
    expect(over.run.ended?.status).toBe("failed");
  });

  it("is not sent again in a run that is cancelled or stopped", () => {
    for (const late of [doubted().when(cancels), doubted().when(starts("a"), fails("a"))])
      expect(late.when(settles("send", null)).standing("send")).toMatchObject(needsPerson);
  });

  it("returns to its doubt when a guard refuses it", () => {
    const scenario = again(starts("send", { flaw: fault("INVALID_INPUT", "it does not fit any more") }));
    expect(scenario.newEvent("step.probed")).toMatchObject({
      saw: "unknown",
      why: "it does not fit any more",
      next_at: null,
    });
    expect(scenario.standing("send")).toMatchObject(needsPerson);
  });

  it("returns to its doubt when its approval has expired, because a person can settle the doubt instead", () => {
    const gated = given(accepts(plan(step("send", { tool: promises })), { mode: "human_gated" }));
    const sent = gated.when(starts("send"), approves("send", undefined, { use_within_ms: minute }), starts("send"));
    const scenario = sent.when(timesOut("send"), settles("send", null), pass(2 * minute), starts("send"));
    expect(scenario.newEvents.at(-1)).toMatchObject({
      type: "step.probed",
      why: expect.stringContaining("human_gated"),
    });
    expect(scenario.standing("send")).toMatchObject(needsPerson);
    const soon = sent.when(timesOut("send"), settles("send", null), pass(minute / 2), starts("send"));
    expect(soon.states).toEqual({ send: "running" });
  });

  it("waits for a missing tool, and returns to its doubt on cancellation", () => {
    const parked = again(starts("send", { parked: fault("TOOL_MISSING", "not here") }));
    expect(parked.states).toMatchObject({ send: "waiting" });
    expect(parked.when(cancels).standing("send")).toMatchObject(needsPerson);
    expect(parked.when(recovers({ id: "send" }), starts("send")).states).toMatchObject({ send: "running" });
  });

  it.each([
    ["and it is done", "hold", "committed"],
    ["and its receipt could be reused", "reuse", "committed"],
    ["and it did nothing", "hold", "not_done"],
  ] as const)("stays in doubt when the row belongs to another act, %s", (_, onDuplicate, state) => {
    const taken = ledgerFact({ run_id: orderRun, generation: 2, state }, { version: 9 });
    const sent = doubted({ ...promises, onDuplicate }).when(settles("send", null));
    expect(sent.withLedgerFact(taken).when(starts("send")).standing("send")).toMatchObject(needsPerson);
  });

  it("returns to its doubt when a guard throws", () => {
    const broken: Guard = {
      id: "broken",
      judge: () => {
        throw new Error("lost");
      },
    };
    expect(again().withGuards(broken).when(starts("send")).standing("send")).toMatchObject(needsPerson);
  });

  it("cannot be resumed while it is in doubt", () => {
    const scenario = again(cancels, resumes);
    expect(scenario.standing("send")).toMatchObject(needsPerson);
  });
});
