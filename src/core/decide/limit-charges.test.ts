import { describe, expect, it } from "vitest";
import {
  accepts,
  answers,
  approves,
  cancels,
  fails,
  recovers,
  resolvedHappened,
  resolves,
  saysNotDone,
  settles,
  sightingAbsent,
  starts,
  timesOut,
  undoes,
} from "../../testing/given/commands.ts";
import { addUp, cost, later, noon, plan, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { type GivenAction, type GivenRun, given, pass } from "../../testing/given/given.ts";
import type { CallLimit } from "../call/counted-limits.ts";
import type { ToolFacts } from "../call/proposal.ts";
import type { LimitUnit } from "../limits/budget.ts";
import type { TallyCharge } from "../limits/tally-charge.ts";

const limit = (more: Partial<CallLimit> = {}): CallLimit => ({
  of: "budget",
  limit: { unit: "usd_micros", limit: 100, per: "user-day" },
  rule: null,
  unit: "usd_micros",
  amount: 40,
  most: 100,
  tally: "usd",
  window: { name: "now", from: noon, until: later(3_600_000) },
  used: null,
  ...more,
});
const rate = (more: Partial<CallLimit> = {}): CallLimit =>
  limit({
    of: "rate",
    limit: { calls: 2, per: "user-hour" },
    unit: "calls",
    amount: 1,
    most: 2,
    tally: "often",
    ...more,
  });
const counting = (unit: LimitUnit, amount: number): CallLimit => limit({ unit, amount, most: 1000, tally: unit });

const begun = (tool: ToolFacts, limits: readonly CallLimit[], wish: Parameters<typeof accepts>[1] = {}): GivenRun =>
  given(accepts(plan(step("do", { tool, gate: "none" })), wish)).when(starts("do", { limits, call: aCall(tool) }));
const aCall = ({ effect }: ToolFacts) =>
  ({
    input: { to: "do" },
    digest: "d",
    key: effect === "acts" ? "key do" : null,
    keyed_by: effect === "acts" ? "input" : null,
  }) as never;
const scenario = (tool: ToolFacts, limits: readonly CallLimit[], ...moves: readonly GivenAction[]) =>
  begun(tool, limits).when(...moves);

/** The sum of the charges to each tally. */
function sums({ events: past }: GivenRun): Readonly<Record<string, number>> {
  const all = past.flatMap((event): readonly TallyCharge[] => ("charges" in event ? (event.charges ?? []) : []));
  const out: Record<string, number> = {};
  for (const { tally, amount } of all) if (!tally.includes("/")) out[tally] = (out[tally] ?? 0) + amount;
  return out;
}

describe("the start of a call with a reservation", () => {
  it("is recorded with the reserved amount and the limit, also if the call does not act", () => {
    const after = begun(readPage, [limit(), rate()]);
    expect(after.newEvent("step.started").charges).toEqual([
      { tally: "usd", amount: 40, limit: 100, unit: "usd_micros" },
      { tally: "often", amount: 1, limit: 2 },
    ]);
    expect(after.grant("do").recorded).toBe(true);
    expect(after.step("do").reserved).toEqual([{ tally: "usd", unit: "usd_micros", charged: 40, reported: 0 }]);
  });

  it("needs the exact call first", () => {
    const after = given(accepts(plan(step("do", { tool: readPage })))).when(starts("do", { limits: [limit()] }));
    expect(after.decision).toMatchObject({ events: [], need: "call", grant: null });
  });

  it("is not recorded if nothing is reserved", () => {
    const after = begun(addUp, [limit({ amount: 0 }), limit({ tally: null })]);
    expect(after.newEventTypes).toEqual(["run.accepted"].slice(1));
    expect(after.grant("do").recorded).toBe(false);
  });

  it.each([
    ["the rest of the tally is too small", limit({ used: 61 }), { limit: 100, used: 61, asked: 40, tally: "usd" }],
    ["its amount exceeds the limit", limit({ amount: 101 }), { used: 0, asked: 101 }],
    ["a limit per call is exceeded", limit({ amount: 101, tally: null }), { tally: null }],
  ])("is refused if %s", (_, asked, detail) => {
    const after = begun(sendMail, [asked]);
    expect(after.newEvent("step.rejected")).toMatchObject({
      rule: "budget",
      fault: { code: "BUDGET_EXCEEDED", detail },
    });
  });

  it("is refused with the amount, the limit and the end of the window", () => {
    const refusal = (asked: CallLimit) => begun(sendMail, [asked]).newEvent("step.rejected").fault;
    const spent = refusal(limit({ used: 61 }));
    expect(spent.message).toMatch(/^do would take 40 from a .* with 61 used; it was not run$/);
    expect(spent.detail).toMatchObject({ window_ends: later(3_600_000) });
    expect(refusal(limit({ amount: 101 })).message).toContain(" with 0 used; it was not run");
    const each = refusal(limit({ amount: 101, tally: null, window: null }));
    expect(each.message).not.toContain("are used");
    expect(each.detail).toMatchObject({ window_ends: null });
  });

  it("names the policy rule that parks or refuses it", () => {
    const rule = { id: "house/often", place: "p" } as never;
    expect(begun(sendMail, [rate({ used: 2, rule })]).newEvent("step.parked").on).toMatchObject({
      rule: "house/often",
    });
    const late = { deadline_at: later(5) };
    const detail = { limit: 2, used: 2, asked: 1, tally: "often", window_ends: later(3_600_000) };
    expect(begun(sendMail, [rate({ used: 2, rule })], late).newEvent("step.rejected")).toMatchObject({
      rule: "house/often",
      fault: { code: "RATE_EXCEEDED", detail },
    });
    expect(begun(sendMail, [rate({ used: 2 })], late).newEvent("step.rejected")).toMatchObject({ rule: "rate" });
  });

  it("is allowed up to exactly the limit", () => {
    expect(begun(sendMail, [limit({ used: 60 }), rate({ used: 1 })]).newEventTypes).toEqual(["step.started"]);
  });

  it("is not refused by a budget for a unit that it does not reserve", () => {
    expect(begun(sendMail, [limit({ amount: 0, used: 1000 })]).newEventTypes).toEqual(["step.started"]);
  });

  it("waits for the next window of its rate, the latest of several", () => {
    const limits = [
      rate({ used: 2 }),
      rate({ used: 2, tally: "rare", window: { name: "long", from: noon, until: later(7_200_000) } }),
      rate({ used: 2 }),
    ];
    const after = begun(sendMail, limits);
    expect(after.newEvent("step.parked").on).toEqual({ for: "rate", tally: "rare", until: later(7_200_000) });
    expect(after.when(starts("do")).newEventTypes).toEqual([]);
    expect(after.when(pass(7_200_000), starts("do")).newEventTypes).toEqual(["step.started"]);
  });

  it("is refused if the deadline is not after the window", () => {
    const at = (ms: number) => begun(sendMail, [rate({ used: 2 })], { deadline_at: later(ms) }).newEventTypes;
    expect(at(3_600_000)).toEqual(["step.rejected", "run.ended"]);
    expect(at(3_600_001)).toEqual(["step.parked"]);
  });

  it("opens a gate only after its budgets are read; rates are not read for that", () => {
    const held = (...limits: readonly CallLimit[]) => begun(sendMail, limits, { mode: "human_gated" });
    expect(held(limit()).decision.need).toBe("usage");
    expect(held(limit({ used: 61 })).newEventTypes).toEqual(["step.rejected", "run.ended"]);
    expect(held(limit({ used: 60 }), rate({ used: 2 })).newEventTypes).toEqual(["gate.opened"]);
    expect(held(rate()).newEventTypes).toEqual(["gate.opened"]);
    expect(held(limit({ tally: null })).newEventTypes).toEqual(["gate.opened"]);
  });

  it("is charged after the approval, not before", () => {
    const gate = begun(sendMail, [limit({ used: 0 })], { mode: "human_gated" });
    expect(sums(gate)).toEqual({});
    const limits = [limit()];
    expect(sums(gate.when(approves("do"), starts("do", { limits })))).toEqual({ usd: 40 });
  });
});

describe("the reserved amount", () => {
  const reserved = [limit(), counting("calls", 1), counting("ms", 500)];
  const spent = { cost: cost(25) };

  it.each([
    ["a value", answers("do", 1, spent), { usd: 25, calls: 1, ms: 90 }],
    ["a value that costs more", answers("do", 1, { cost: cost(70) }), { usd: 70, calls: 1, ms: 90 }],
    ["a value without a reported cost", answers("do", 1), { usd: 0, calls: 1, ms: 90 }],
    ["an error", fails("do", "TOOL_FAILED", spent), { usd: 25, calls: 1, ms: 90 }],
    ["a not_done result", saysNotDone("do", "TOOL_FAILED", spent), { usd: 25, calls: 0, ms: 90 }],
    ["a timeout", timesOut("do", "TOOL_TIMEOUT", spent), { usd: 40, calls: 1, ms: 500 }],
    [
      "a timeout with a higher cost",
      timesOut("do", "TOOL_TIMEOUT", { cost: cost(41) }),
      { usd: 41, calls: 1, ms: 500 },
    ],
  ])("for a read is settled after %s", (_, move, expected) => {
    expect(sums(scenario(readPage, reserved, pass(90), move))).toEqual(expected);
  });

  it.each([
    ["a value", answers("do", 1, spent), { usd: 25, calls: 1, ms: 90 }],
    ["a not_done result", saysNotDone("do"), { usd: 0, calls: 0, ms: 90 }],
    ["an error", fails("do", "TOOL_FAILED", spent), { usd: 40, calls: 1, ms: 500 }],
    ["a timeout", timesOut("do", "TOOL_TIMEOUT", spent), { usd: 40, calls: 1, ms: 500 }],
    ["the death of its worker after the call", recovers({ id: "do", mark: "yes" }), { usd: 40, calls: 1, ms: 500 }],
    ["the death of its worker before the call", recovers({ id: "do", mark: "no" }), { usd: 0, calls: 0, ms: 0 }],
  ])("for an act is settled or remains after %s", (_, move, expected) => {
    expect(sums(scenario(sendMail, reserved, pass(90), move))).toEqual(expected);
  });

  it("for an act in doubt includes a higher reported cost, and is released with it", () => {
    const doubted = scenario(sendMail, [limit()], timesOut("do", "TOOL_TIMEOUT", { cost: cost(41) }));
    expect(sums(doubted)).toEqual({ usd: 41 });
    expect(doubted.step("do").reserved).toMatchObject([{ tally: "usd", charged: 41, reported: 41 }]);
  });

  it("for an act whose errors mean not_done is released after an error", () => {
    const after = scenario({ ...sendMail, errorsMean: "not_done" }, reserved, pass(90), fails("do"));
    expect(sums(after)).toEqual({ usd: 0, calls: 0, ms: 90 });
  });

  it.each([
    ["it never happened", resolves("do", { as: "absent" }), { usd: 25, calls: 0, ms: 0 }],
    ["it happened", resolves("do", resolvedHappened({ id: "1" })), { usd: 40, calls: 1, ms: 500 }],
    ["it was given up", resolves("do", { as: "give_up" }), { usd: 40, calls: 1, ms: 500 }],
  ])("for an act in doubt is settled once %s", (_, move, expected) => {
    const after = scenario(sendMail, reserved, fails("do", "TOOL_FAILED", spent), move);
    expect(sums(after)).toEqual(expected);
    expect(after.step("do").reserved).toEqual([]);
  });

  it("for an act that a verifier finds absent is released", () => {
    const verified = { ...sendMail, verifies: true };
    const looks: readonly GivenAction[] = [
      pass(120_000),
      settles("do", sightingAbsent),
      pass(120_000),
      settles("do", sightingAbsent),
    ];
    expect(sums(scenario(verified, reserved, fails("do"), looks))).toEqual({ usd: 0, calls: 0, ms: 0 });
  });

  it("is used again when the identical call is sent again", () => {
    const idempotent = { ...sendMail, idempotentForMs: 3_600_000 };
    const doubted = scenario(idempotent, reserved, fails("do", "TOOL_FAILED", { cost: cost(30) }));
    const again = doubted.when(
      settles("do", null),
      starts("do", { limits: reserved.map((each) => ({ ...each, used: 100 })) }),
    );
    expect(again.newEvent("step.started").charges).toBeUndefined();
    expect(sums(again.when(pass(90), answers("do", 1, { cost: cost(5) })))).toEqual({ usd: 35, calls: 1, ms: 90 });
  });

  it("is settled once, with the total reported cost, after a late value", () => {
    const late = scenario(sendMail, [limit()], timesOut("do", "TOOL_TIMEOUT", { cost: cost(10) }), pass(50));
    expect(sums(late.when(answers("do", 1, { cost: cost(5) })))).toEqual({ usd: 15 });
    expect(sums(late.when(answers("do", 1)))).toEqual({ usd: 10 });
  });

  it("remains charged for an attempt whose worker died, and the next attempt reserves again", () => {
    const after = scenario(
      readPage,
      [limit()],
      recovers({ id: "do" }),
      starts("do", { limits: [limit({ tally: "next" })] }),
    );
    expect(sums(after.when(answers("do", 1, spent)))).toEqual({ usd: 40, next: 25 });
  });

  it("is settled for a handler that runs when its run is cancelled", () => {
    expect(sums(scenario(readPage, reserved, cancels, pass(90), fails("do", "CANCELLED", spent)))).toEqual({
      usd: 25,
      calls: 1,
      ms: 90,
    });
  });

  it("does not include rates", () => {
    expect(sums(scenario(sendMail, [rate()], saysNotDone("do")))).toEqual({ often: 1 });
  });
});

describe("an unexpected cost", () => {
  it("is charged as reported, without a limit", () => {
    const after = scenario(addUp, [limit({ amount: 0 })], answers("do", 1, { cost: cost(500) }));
    expect(after.newEvent("step.succeeded").charges).toContainEqual({ tally: "usd", amount: 500 });
    expect(sums(scenario(addUp, [limit({ amount: 0, tally: null })], answers("do", 1, { cost: cost(5) })))).toEqual({});
    expect(sums(scenario(addUp, [limit({ amount: 0 })], answers("do", 1)))).toEqual({});
  });
});

describe("an undo", () => {
  it("is charged, but no budget refuses it and no rate delays it", () => {
    const tool = { ...sendMail, compensates: true };
    const undo = scenario(tool, [limit()], answers("do", 1, { cost: cost(40) }), undoes("do"));
    const started = undo.when(starts("undo.do.1", { limits: [limit({ used: 1000 }), rate({ used: 9 })] }));
    expect(started.newEvent("step.started").charges).toEqual([
      { tally: "usd", amount: 40, limit: null, unit: "usd_micros" },
    ]);
    expect(started.run.accepted_at).toBe(noon);
  });
});
