import { describe, expect, it } from "vitest";
import { keyOf, later, ledgerFact, noon, order, plan, sendMail, step } from "../../testing/given/cast.ts";
import {
  accepts,
  answers,
  approves,
  cancels,
  fails,
  goesUnheard,
  recovers,
  resolves,
  resumes,
  saysNotDone,
  settles,
  starts,
  unclear,
} from "../../testing/given/moves.ts";
import { given, type Move, pass, type Told } from "../../testing/given.ts";
import { fault } from "../fault.ts";
import type { Guard } from "../guard.ts";
import type { ToolFacts } from "../proposal.ts";

const minute = 60_000;
const timeout = 30_000;
/** Its provider keeps a key for ten minutes. */
const promises: ToolFacts = { ...sendMail, idempotentForMs: 10 * minute };
/** It may be under way until its timeout, and a minute longer. */
const until = later(10 * minute - timeout - promises.settleAfterMs);

const doubted = (tool = promises): Told =>
  given(accepts(plan(step("send", { tool }), step("a", { after: [] })))).when(starts("send"), goesUnheard("send"));
const again = (...moves: readonly Move[]): Told => doubted().when(settles("send", null), ...moves);
const row = (told: Told) => told.ledgerRow(keyOf("send"));
const asks = { state: "in_doubt", doubt: { next: { do: "ask" } } };

describe("sending the identical call again", () => {
  it("is what a promise allows when looking does not help", () => {
    const told = doubted({ ...promises, verifies: true }).when(settles("send", unclear));
    expect(told.said("step.settled")).toMatchObject({ settled: { as: "resend" }, by: "declaration", ledger: null });
    expect(told.states).toMatchObject({ send: "ready" });
    expect(row(told)).toMatchObject({ state: "in_doubt" });
  });

  it("keeps key and generation, and takes the next version of the row", () => {
    const told = again(pass(minute), starts("send"));
    expect(told.said("step.started")).toMatchObject({
      attempt: 2,
      call: { key: keyOf("send") },
      ledger: { version: 3, generation: 1 },
    });
    expect(told.when(answers("send", { id: 1 })).states).toMatchObject({ send: "succeeded" });
    expect(row(told.when(answers("send", { id: 1 })))).toMatchObject({ state: "committed", attempt: 2 });
  });

  it("is not promised any more when its time is over; then a person is asked", () => {
    expect(doubted().said("step.doubted").exits.resend_until).toBe(until);
    expect(doubted().when(pass(until - noon - 1), settles("send", null)).states).toMatchObject({ send: "ready" });
    expect(
      doubted()
        .when(pass(until - noon), settles("send", null))
        .standing("send"),
    ).toMatchObject(asks);
  });

  it("does not go out after its time, however long ago it was settled", () => {
    const told = again(pass(until - noon), starts("send"));
    expect(told.said("step.probed").why).toContain("the time in which its key is harmless is over");
    expect(told.standing("send")).toMatchObject(asks);
    expect(again(pass(until - noon - 1), starts("send")).states).toMatchObject({ send: "running" });
  });

  it("is not promised a third time, either, when its time is over", () => {
    const twice = again(pass(minute), starts("send"), goesUnheard("send"));
    const left = until - noon - minute;
    expect(twice.when(pass(left - 1), settles("send", null)).states).toMatchObject({ send: "ready" });
    expect(twice.when(pass(left), settles("send", null)).standing("send")).toMatchObject(asks);
  });

  it("counts its time from the first time the call went out, not from the last", () => {
    const twice = again(pass(5 * minute), starts("send"), goesUnheard("send"));
    expect(twice.said("step.doubted").exits.resend_until).toBe(until);
    const died = again(pass(5 * minute), starts("send"), recovers({ id: "send", mark: "yes" }));
    expect(died.said("step.doubted").exits.resend_until).toBe(until);
  });

  it("counts anew once the first is known not to have happened", () => {
    const told = doubted().when(pass(minute), resolves("send", { as: "absent" }), starts("send"), goesUnheard("send"));
    expect(told.said("step.doubted").exits.resend_until).toBe(until + minute);
  });
});

describe("sending it again and again", () => {
  it.each([
    ["a second at the least", 100, 1000],
    ["as long again as it has been tried", 5000, 5000],
    ["a minute at the most", 5 * minute, minute],
  ])("takes ever more patience: %s", (_, tried, pause) => {
    const twice = again(pass(tried), starts("send"), goesUnheard("send"));
    const early = twice.when(pass(pause - 1), settles("send", null));
    const next_at = later(tried + pause);
    expect(early.said("step.probed")).toMatchObject({ saw: "unknown", why: "it was sent again not long ago", next_at });
    expect(early.standing("send")).toMatchObject({ doubt: { next: { do: "look_again", at: next_at } } });
    expect(twice.when(pass(pause), settles("send", null)).states).toMatchObject({ send: "ready" });
  });

  it("is put off also where the clock stands still, and the second says at once that it did nothing", () => {
    const twice = again(starts("send"), saysNotDone("send", "RATE_LIMIT"));
    expect(twice.when(settles("send", null)).said("step.probed").next_at).toBe(later(1000));
    expect(twice.when(pass(1000), settles("send", null)).states).toMatchObject({ send: "ready" });
  });

  it("is not put off to when the promise is over; then a person is asked", () => {
    const late = again(pass(9 * minute), starts("send"), goesUnheard("send"));
    expect(late.when(settles("send", null)).standing("send")).toMatchObject(asks);
  });
});

describe("a call that was sent again", () => {
  const sent = again(starts("send"));

  it("is as much in doubt as before when the second says that it did nothing", () => {
    const told = sent.when(saysNotDone("send", "RATE_LIMIT"));
    expect(told.types).toEqual(["step.doubted"]);
    expect(row(told)).toMatchObject({ state: "in_doubt" });
    expect(told.when(pass(minute), settles("send", null), starts("send")).said("step.started").ledger).toEqual({
      version: 5,
      generation: 1,
    });
  });

  it("is as much in doubt as before when the second failed, though errors mean that nothing happened", () => {
    const tool: ToolFacts = { ...promises, errorsMean: "not_done" };
    const told = doubted(tool).when(settles("send", null), starts("send"), fails("send", "INVALID_INPUT"));
    expect(told.states).toMatchObject({ send: "in_doubt" });
  });

  it("is as much in doubt as before when the second was never let go", () => {
    const told = sent.when(recovers({ id: "send", mark: "no" }));
    expect(told.types).toEqual(["step.doubted"]);
  });

  it("is done when either of the two is known to be", () => {
    expect(sent.when(answers("send")).states).toMatchObject({ send: "succeeded" });
    expect(sent.when(goesUnheard("send"), resolves("send", { as: "absent" })).step("send").act).toMatchObject({
      state: "absent",
      doubt: null,
    });
  });
});

describe("a call that was to be sent again", () => {
  it("goes back to its doubt when the run is cancelled: nothing is sent, and nothing is forgotten", () => {
    const told = again(cancels);
    expect(told.standing("send")).toMatchObject({ ...asks, since: noon, fault: { code: "OUTCOME_UNKNOWN" } });
    expect(told.run.ended).toBeNull();
    expect(told.when(resolves("send", { as: "absent" })).run.ended?.status).toBe("cancelled");
    expect(told.when(starts("send")).news).toEqual([]);
  });

  it("goes back to its doubt when a step ends the plan", () => {
    const told = again(starts("a"), fails("a"));
    expect(told.standing("send")).toMatchObject(asks);
    expect(told.run.ended).toBeNull();
    const over = told.when(resolves("send", { as: "give_up" }));
    expect(over.run.ended?.status).toBe("failed");
  });

  it("is not settled by a promise once the run was cancelled or ended by a step", () => {
    for (const late of [doubted().when(cancels), doubted().when(starts("a"), fails("a"))])
      expect(late.when(settles("send", null)).standing("send")).toMatchObject(asks);
  });

  it("goes back to its doubt when a guard refuses it", () => {
    const told = again(starts("send", { flaw: fault("INVALID_INPUT", "it does not fit any more") }));
    expect(told.said("step.probed")).toMatchObject({ saw: "unknown", why: "it does not fit any more", next_at: null });
    expect(told.standing("send")).toMatchObject(asks);
  });

  it("goes back to its doubt when its approval is too old: who is asked may as well settle it", () => {
    const gated = given(accepts(plan(step("send", { tool: promises })), { mode: "human_gated" }));
    const sent = gated.when(starts("send"), approves("send", undefined, { use_within_ms: minute }), starts("send"));
    const told = sent.when(goesUnheard("send"), settles("send", null), pass(2 * minute), starts("send"));
    expect(told.news.at(-1)).toMatchObject({ type: "step.probed", why: expect.stringContaining("human_gated") });
    expect(told.standing("send")).toMatchObject(asks);
    const soon = sent.when(goesUnheard("send"), settles("send", null), pass(minute / 2), starts("send"));
    expect(soon.states).toEqual({ send: "running" });
  });

  it("waits for a tool that is not here, and goes back to its doubt from there", () => {
    const parked = again(starts("send", { parked: fault("TOOL_MISSING", "not here") }));
    expect(parked.states).toMatchObject({ send: "waiting" });
    expect(parked.when(cancels).standing("send")).toMatchObject(asks);
    expect(parked.when(recovers({ id: "send" }), starts("send")).states).toMatchObject({ send: "running" });
  });

  it.each([
    ["and it is done", "hold", "committed"],
    ["and its receipt would do for others", "reuse", "committed"],
    ["and it did nothing", "hold", "not_done"],
  ] as const)("asks a person when the row is someone else's by now, %s", (_, onDuplicate, state) => {
    const taken = ledgerFact({ run_id: order, generation: 2, state }, { version: 9 });
    const sent = doubted({ ...promises, onDuplicate }).when(settles("send", null));
    expect(sent.hearing(taken).when(starts("send")).standing("send")).toMatchObject(asks);
  });

  it("is not refused by a guard that throws, but asked about", () => {
    const broken: Guard = {
      id: "broken",
      judge: () => {
        throw new Error("lost");
      },
    };
    expect(again().under(broken).when(starts("send")).standing("send")).toMatchObject(asks);
  });

  it("cannot be resumed past its doubt", () => {
    const told = again(cancels, resumes);
    expect(told.standing("send")).toMatchObject(asks);
  });
});
