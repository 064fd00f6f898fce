import { describe, expect, it } from "vitest";
import { addUp, cost, later, noon, plan, readPage, sendMail, step } from "../../testing/given/cast.ts";
import {
  absent,
  accepts,
  answers,
  approves,
  cancels,
  fails,
  goesUnheard,
  happened,
  recovers,
  resolves,
  saysNotDone,
  settles,
  starts,
  undoes,
} from "../../testing/given/moves.ts";
import { given, type Move, pass, type Told } from "../../testing/given.ts";
import type { Unit } from "../limits/budget.ts";
import type { Charged } from "../limits/charged.ts";
import type { Toll } from "../limits/toll.ts";
import type { ToolFacts } from "../proposal.ts";

const toll = (more: Partial<Toll> = {}): Toll => ({
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
const rate = (more: Partial<Toll> = {}): Toll =>
  toll({
    of: "rate",
    limit: { calls: 2, per: "user-hour" },
    unit: "calls",
    amount: 1,
    most: 2,
    tally: "often",
    ...more,
  });
const counting = (unit: Unit, amount: number): Toll => toll({ unit, amount, most: 1000, tally: unit });

const begun = (tool: ToolFacts, tolls: readonly Toll[], wish: Parameters<typeof accepts>[1] = {}): Told =>
  given(accepts(plan(step("do", { tool, gate: "none" })), wish)).when(starts("do", { tolls, call: aCall(tool) }));
const aCall = ({ effect }: ToolFacts) =>
  ({
    input: { to: "do" },
    digest: "d",
    key: effect === "acts" ? "key do" : null,
    keyed_by: effect === "acts" ? "input" : null,
  }) as never;
const told = (tool: ToolFacts, tolls: readonly Toll[], ...moves: readonly Move[]) => begun(tool, tolls).when(...moves);

/** What was charged to each tally in the whole story. */
function sums({ past }: Told): Readonly<Record<string, number>> {
  const all = past.flatMap((event): readonly Charged[] => ("charges" in event ? (event.charges ?? []) : []));
  const out: Record<string, number> = {};
  for (const { tally, amount } of all) if (!tally.includes("/")) out[tally] = (out[tally] ?? 0) + amount;
  return out;
}

describe("starting a call that is paid for in advance", () => {
  it("is on record before it runs, though it does not act, with what is reserved and the limit", () => {
    const after = begun(readPage, [toll(), rate()]);
    expect(after.said("step.started").charges).toEqual([
      { tally: "usd", amount: 40, limit: 100, unit: "usd_micros" },
      { tally: "often", amount: 1, limit: 2 },
    ]);
    expect(after.grant("do").recorded).toBe(true);
    expect(after.step("do").reserved).toEqual([{ tally: "usd", unit: "usd_micros", charged: 40, told: 0 }]);
  });

  it("asks for the exact call first", () => {
    const after = given(accepts(plan(step("do", { tool: readPage })))).when(starts("do", { tolls: [toll()] }));
    expect(after.decision).toMatchObject({ events: [], need: "call", grant: null });
  });

  it("is not on record where nothing is reserved", () => {
    const after = begun(addUp, [toll({ amount: 0 }), toll({ tally: null })]);
    expect(after.types).toEqual(["run.accepted"].slice(1));
    expect(after.grant("do").recorded).toBe(false);
  });

  it.each([
    ["the tally has come too far", toll({ used: 61 }), { limit: 100, used: 61, asked: 40, tally: "usd" }],
    ["it alone is too much", toll({ amount: 101 }), { used: 0, asked: 101 }],
    ["each call is limited", toll({ amount: 101, tally: null }), { tally: null }],
  ])("is refused if %s", (_, asked, detail) => {
    const after = begun(sendMail, [asked]);
    expect(after.said("step.rejected")).toMatchObject({ rule: "budget", fault: { code: "BUDGET_EXCEEDED", detail } });
  });

  it("is told what it would have taken, of what, and when that counts anew", () => {
    const refusal = (asked: Toll) => begun(sendMail, [asked]).said("step.rejected").fault;
    const spent = refusal(toll({ used: 61 }));
    expect(spent.message).toMatch(/^do would take 40 from a .*, of which 61 are used; it was not run$/);
    expect(spent.detail).toMatchObject({ window_ends: later(3_600_000) });
    expect(refusal(toll({ amount: 101 })).message).toContain(", of which 0 are used; it was not run");
    const each = refusal(toll({ amount: 101, tally: null, window: null }));
    expect(each.message).not.toContain("are used");
    expect(each.detail).toMatchObject({ window_ends: null });
  });

  it("says by which rule of a policy it waits or is refused", () => {
    const rule = { id: "house/often", place: "p" } as never;
    expect(begun(sendMail, [rate({ used: 2, rule })]).said("step.parked").on).toMatchObject({ rule: "house/often" });
    const late = { deadline_at: later(5) };
    const detail = { limit: 2, used: 2, asked: 1, tally: "often", window_ends: later(3_600_000) };
    expect(begun(sendMail, [rate({ used: 2, rule })], late).said("step.rejected")).toMatchObject({
      rule: "house/often",
      fault: { code: "RATE_EXCEEDED", detail },
    });
    expect(begun(sendMail, [rate({ used: 2 })], late).said("step.rejected")).toMatchObject({ rule: "rate" });
  });

  it("fits to the last one", () => {
    expect(begun(sendMail, [toll({ used: 60 }), rate({ used: 1 })]).types).toEqual(["step.started"]);
  });

  it("is not refused for what it is not expected to spend, however much is gone", () => {
    expect(begun(sendMail, [toll({ amount: 0, used: 1000 })]).types).toEqual(["step.started"]);
  });

  it("waits for the window of its rate, for the last of several", () => {
    const tolls = [
      rate({ used: 2 }),
      rate({ used: 2, tally: "rare", window: { name: "long", from: noon, until: later(7_200_000) } }),
      rate({ used: 2 }),
    ];
    const after = begun(sendMail, tolls);
    expect(after.said("step.parked").on).toEqual({ for: "rate", tally: "rare", until: later(7_200_000) });
    expect(after.when(starts("do")).types).toEqual([]);
    expect(after.when(pass(7_200_000), starts("do")).types).toEqual(["step.started"]);
  });

  it("is refused if its deadline is not later than the window", () => {
    const at = (ms: number) => begun(sendMail, [rate({ used: 2 })], { deadline_at: later(ms) }).types;
    expect(at(3_600_000)).toEqual(["step.rejected", "run.ended"]);
    expect(at(3_600_001)).toEqual(["step.parked"]);
  });

  it("is held only when it is known that it can be paid for, and looks at no rate for that", () => {
    const held = (...tolls: readonly Toll[]) => begun(sendMail, tolls, { mode: "human_gated" });
    expect(held(toll()).decision.need).toBe("usage");
    expect(held(toll({ used: 61 })).types).toEqual(["step.rejected", "run.ended"]);
    expect(held(toll({ used: 60 }), rate({ used: 2 })).types).toEqual(["gate.opened"]);
    expect(held(rate()).types).toEqual(["gate.opened"]);
    expect(held(toll({ tally: null })).types).toEqual(["gate.opened"]);
  });

  it("charges when it was approved, not before", () => {
    const gate = begun(sendMail, [toll({ used: 0 })], { mode: "human_gated" });
    expect(sums(gate)).toEqual({});
    const tolls = [toll()];
    expect(sums(gate.when(approves("do"), starts("do", { tolls })))).toEqual({ usd: 40 });
  });
});

describe("what is reserved", () => {
  const reserved = [toll(), counting("calls", 1), counting("ms", 500)];
  const spent = { cost: cost(25) };

  it.each([
    ["a value", answers("do", 1, spent), { usd: 25, calls: 1, ms: 90 }],
    ["a value that costs more", answers("do", 1, { cost: cost(70) }), { usd: 70, calls: 1, ms: 90 }],
    ["a value of which no cost is told", answers("do", 1), { usd: 0, calls: 1, ms: 90 }],
    ["an error", fails("do", "TOOL_FAILED", spent), { usd: 25, calls: 1, ms: 90 }],
    ["its word that nothing was done", saysNotDone("do", "TOOL_FAILED", spent), { usd: 25, calls: 0, ms: 90 }],
    ["a timeout", goesUnheard("do", "TOOL_TIMEOUT", spent), { usd: 40, calls: 1, ms: 500 }],
    ["a timeout after more", goesUnheard("do", "TOOL_TIMEOUT", { cost: cost(41) }), { usd: 41, calls: 1, ms: 500 }],
  ])("for a read is settled after %s", (_, move, expected) => {
    expect(sums(told(readPage, reserved, pass(90), move))).toEqual(expected);
  });

  it.each([
    ["a value", answers("do", 1, spent), { usd: 25, calls: 1, ms: 90 }],
    ["its word that nothing was done", saysNotDone("do"), { usd: 0, calls: 0, ms: 90 }],
    ["an error", fails("do", "TOOL_FAILED", spent), { usd: 40, calls: 1, ms: 500 }],
    ["a timeout", goesUnheard("do", "TOOL_TIMEOUT", spent), { usd: 40, calls: 1, ms: 500 }],
    ["the death of its worker", recovers({ id: "do", mark: "yes" }), { usd: 40, calls: 1, ms: 500 }],
    ["a death before the call", recovers({ id: "do", mark: "no" }), { usd: 0, calls: 0, ms: 0 }],
  ])("for an act is settled or kept after %s", (_, move, expected) => {
    expect(sums(told(sendMail, reserved, pass(90), move))).toEqual(expected);
  });

  it("for an act in doubt that cost more is remembered as that, and given back as that", () => {
    const doubted = told(sendMail, [toll()], goesUnheard("do", "TOOL_TIMEOUT", { cost: cost(41) }));
    expect(sums(doubted)).toEqual({ usd: 41 });
    expect(doubted.step("do").reserved).toMatchObject([{ tally: "usd", charged: 41, told: 41 }]);
  });

  it("for an act whose errors mean that nothing was done is given back after one", () => {
    const after = told({ ...sendMail, errorsMean: "not_done" }, reserved, pass(90), fails("do"));
    expect(sums(after)).toEqual({ usd: 0, calls: 0, ms: 90 });
  });

  it.each([
    ["it never happened", resolves("do", { as: "absent" }), { usd: 25, calls: 0, ms: 0 }],
    ["it happened", resolves("do", happened({ id: "1" })), { usd: 40, calls: 1, ms: 500 }],
    ["it was given up", resolves("do", { as: "give_up" }), { usd: 40, calls: 1, ms: 500 }],
  ])("for an act in doubt is as it is once %s", (_, move, expected) => {
    const after = told(sendMail, reserved, fails("do", "TOOL_FAILED", spent), move);
    expect(sums(after)).toEqual(expected);
    expect(after.step("do").reserved).toEqual([]);
  });

  it("for an act that a verifier finds absent is given back", () => {
    const verified = { ...sendMail, verifies: true };
    const looks: readonly Move[] = [pass(120_000), settles("do", absent), pass(120_000), settles("do", absent)];
    expect(sums(told(verified, reserved, fails("do"), looks))).toEqual({ usd: 0, calls: 0, ms: 0 });
  });

  it("is what the identical call stands on when it is sent again", () => {
    const idempotent = { ...sendMail, idempotentForMs: 3_600_000 };
    const doubted = told(idempotent, reserved, fails("do", "TOOL_FAILED", { cost: cost(30) }));
    const again = doubted.when(
      settles("do", null),
      starts("do", { tolls: reserved.map((each) => ({ ...each, used: 100 })) }),
    );
    expect(again.said("step.started").charges).toBeUndefined();
    expect(sums(again.when(pass(90), answers("do", 1, { cost: cost(5) })))).toEqual({ usd: 35, calls: 1, ms: 90 });
  });

  it("is settled once, for all that was told, when a value comes late", () => {
    const late = told(sendMail, [toll()], goesUnheard("do", "TOOL_TIMEOUT", { cost: cost(10) }), pass(50));
    expect(sums(late.when(answers("do", 1, { cost: cost(5) })))).toEqual({ usd: 15 });
    expect(sums(late.when(answers("do", 1)))).toEqual({ usd: 10 });
  });

  it("stays with an attempt that died, and the next one has its own", () => {
    const after = told(readPage, [toll()], recovers({ id: "do" }), starts("do", { tolls: [toll({ tally: "next" })] }));
    expect(sums(after.when(answers("do", 1, spent)))).toEqual({ usd: 40, next: 25 });
  });

  it("is settled for a handler that is at work when its run is cancelled", () => {
    expect(sums(told(readPage, reserved, cancels, pass(90), fails("do", "CANCELLED", spent)))).toEqual({
      usd: 25,
      calls: 1,
      ms: 90,
    });
  });

  it("is never a token of a rate", () => {
    expect(sums(told(sendMail, [rate()], saysNotDone("do")))).toEqual({ often: 1 });
  });
});

describe("what nobody expected", () => {
  it("is charged as it was told, without limit", () => {
    const after = told(addUp, [toll({ amount: 0 })], answers("do", 1, { cost: cost(500) }));
    expect(after.said("step.succeeded").charges).toContainEqual({ tally: "usd", amount: 500 });
    expect(sums(told(addUp, [toll({ amount: 0, tally: null })], answers("do", 1, { cost: cost(5) })))).toEqual({});
    expect(sums(told(addUp, [toll({ amount: 0 })], answers("do", 1)))).toEqual({});
  });
});

describe("an undo", () => {
  it("is counted, refused by no budget and put off by no rate", () => {
    const tool = { ...sendMail, compensates: true };
    const undo = told(tool, [toll()], answers("do", 1, { cost: cost(40) }), undoes("do"));
    const started = undo.when(starts("undo.do.1", { tolls: [toll({ used: 1000 }), rate({ used: 9 })] }));
    expect(started.said("step.started").charges).toEqual([
      { tally: "usd", amount: 40, limit: null, unit: "usd_micros" },
    ]);
    expect(started.run.accepted_at).toBe(noon);
  });
});
