import { describe, expect, it } from "vitest";
import { accepts } from "../../testing/given/commands.ts";
import { noon, plan, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import type { Budget, LimitSet } from "../limits/budget.ts";
import { TimeZone } from "../time/time-zone.ts";
import { callLimits, limitText } from "./counted-limits.ts";

const { run } = given(accepts(plan(step("a"))));
const limitSet = (more: Partial<LimitSet>): LimitSet => ({
  budgets: [],
  rates: [],
  zone: TimeZone.of("UTC") as TimeZone,
  rule: null,
  ...more,
});
const budget = (more: Partial<Budget> = {}): Budget => ({ unit: "usd_micros", limit: 100, per: "user-day", ...more });
const limitsFor = (budgets: readonly Budget[], estimate: object | null = { usd_micros: 7 }) =>
  callLimits([limitSet({ budgets })], run, { tool: "mail.send", estimate }, noon);

describe("the limit that a budget sets for a call", () => {
  it("reserves the expected cost in the tally of its window", () => {
    const window = { name: "2026-03-14", from: Date.UTC(2026, 2, 14), until: Date.UTC(2026, 2, 15) };
    const tally = "budget/usd_micros/user-day/2026-03-14/robin";
    const limit = budget();
    const expected = {
      of: "budget",
      limit,
      rule: null,
      unit: "usd_micros",
      amount: 7,
      most: 100,
      tally,
      window,
      used: null,
    };
    expect(limitsFor([limit])).toEqual([expected]);
  });

  it.each([
    ["call", null],
    ["run", "budget/usd_micros/run/run_hire"],
    ["user-hour", "budget/usd_micros/user-hour/2026-03-14T12/robin"],
    ["user-month", "budget/usd_micros/user-month/2026-03/robin"],
    ["project-day", "budget/usd_micros/project-day/2026-03-14/run:run_hire"],
    ["tenant-hour", "budget/usd_micros/tenant-hour/2026-03-14T12"],
    ["tenant-day", "budget/usd_micros/tenant-day/2026-03-14"],
    ["tenant-month", "budget/usd_micros/tenant-month/2026-03"],
  ] as const)("per %s is counted in %s", (per, tally) => {
    expect(limitsFor([budget({ per })])).toMatchObject([{ tally }]);
  });

  it("is shared by a run and its forks", () => {
    const fork = { ...run, id: "run_fork" as never };
    const [limit] = callLimits(
      [limitSet({ budgets: [budget({ per: "run" })] })],
      fork,
      { tool: "a", estimate: {} },
      noon,
    );
    expect(limit?.tally).toBe("budget/usd_micros/run/run_hire");
  });

  it("is shared by the runs of a project", () => {
    const payer = { ...run, project: "website" };
    const [limit] = callLimits(
      [limitSet({ budgets: [budget({ per: "project-month" })] })],
      payer,
      { tool: "a", estimate: {} },
      noon,
    );
    expect(limit?.tally).toBe("budget/usd_micros/project-month/2026-03/project:website");
  });

  it("does not apply to another tool", () => {
    expect(limitsFor([budget({ tool: "page.read" })])).toEqual([]);
    expect(limitsFor([budget({ tool: "mail.send" })])).toMatchObject([
      { tally: "budget/usd_micros:mail.send/user-day/2026-03-14/robin" },
    ]);
  });

  it.each([
    ["usd_micros", { usd_micros: 3 }, 3],
    ["credits", { usd_micros: 3 }, 0],
    ["tokens_in", { tokens_in: 4, tokens_out: 5 }, 4],
    ["tokens_out", { tokens_in: 4, tokens_out: 5 }, 5],
    ["tokens", { tokens_in: 4, tokens_out: 5 }, 9],
    ["tokens", { tokens_in: 4 }, 4],
    ["tokens", { tokens_out: 5 }, 5],
    ["calls", {}, 1],
    ["ms", { ms: 900 }, 900],
    ["ms", {}, 1], // Every call takes some time.
    ["usd_micros", null, 1], // The minimum for an unknown cost.
    ["tokens", null, 1],
    ["calls", null, 1],
    ["ms", null, 1],
  ] as const)("in %s with the estimate %j reserves %d", (unit, estimate, amount) => {
    expect(limitsFor([budget({ unit })], estimate)).toMatchObject([{ amount }]);
  });

  it("is the lower one of two limits with the same tally", () => {
    expect(limitsFor([budget(), budget({ limit: 50 }), budget({ limit: 70 })])).toMatchObject([{ most: 50 }]);
    const perCall = limitsFor([budget({ per: "call", limit: 9 }), budget({ per: "call", unit: "calls", limit: 1 })]);
    expect(perCall.map(({ unit }) => unit)).toEqual(["usd_micros", "calls"]);
  });
});

describe("the limit that a rate sets for a call", () => {
  it("counts one call in its window, independent of the cost", () => {
    const rate = { calls: 5, per: "tenant-minute", tool: "mail.send" } as const;
    const window = { name: "2026-03-14T12:00", from: noon, until: noon + 60_000 };
    const tally = "rate/calls:mail.send/tenant-minute/2026-03-14T12:00";
    expect(callLimits([limitSet({ rates: [rate] })], run, { tool: "mail.send", estimate: {} }, noon)).toEqual([
      { of: "rate", limit: rate, rule: null, unit: "calls", amount: 1, most: 5, tally, window, used: null },
    ]);
    expect(callLimits([limitSet({ rates: [rate] })], run, { tool: "other", estimate: {} }, noon)).toEqual([]);
  });

  it("has another tally than a budget with the same unit and window", () => {
    const rates = [{ calls: 5, per: "user-hour" }] as const;
    const budgets = [budget({ unit: "calls", per: "user-hour" })];
    const limits = callLimits([limitSet({ rates, budgets })], run, { tool: "a", estimate: {} }, noon);
    expect(new Set(limits.map(({ tally }) => tally)).size).toBe(2);
  });
});

describe("limitText", () => {
  it("names kind, amount, unit, tool and window", () => {
    expect(limitText({ of: "budget", limit: budget(), most: 100, rule: null })).toBe(
      "budget of 100 usd_micros per user-day",
    );
    expect(limitText({ of: "rate", limit: { calls: 5, per: "user-hour", tool: "a" }, most: 5, rule: null })).toBe(
      "rate of 5 calls of a per user-hour",
    );
  });
});

describe("a limit that a rule of a policy sets", () => {
  const rule = { id: "house/small", place: "tenant/house/0", reason: "it is dear" };
  const ruled = (more: object = {}) => ({ ...rule, ...more }) as NonNullable<LimitSet["rule"]>;

  it("has its own tally, named after the place of the rule", () => {
    const [limit] = callLimits(
      [limitSet({ budgets: [budget()], rule: ruled() })],
      run,
      { tool: "a", estimate: null },
      noon,
    );
    expect(limit?.tally).toBe("budget/usd_micros@tenant/house/0/user-day/2026-03-14/robin");
  });

  it("is described with its rule and the reason of the rule", () => {
    const text = (more: object) => limitText({ of: "budget", limit: budget(), most: 100, rule: ruled(more) });
    expect(text({})).toBe("budget of 100 usd_micros per user-day (policy house/small: it is dear)");
    expect(text({ reason: null })).toBe("budget of 100 usd_micros per user-day (policy house/small)");
  });

  it("has separate tallies per run, per call and per day", () => {
    const limits = limitsFor([budget({ per: "run" }), budget({ per: "call" }), budget()]);
    expect(limits.map(({ tally, window }) => [tally, window?.name ?? null])).toEqual([
      ["budget/usd_micros/run/run_hire", null],
      [null, null],
      ["budget/usd_micros/user-day/2026-03-14/robin", "2026-03-14"],
    ]);
  });
});
