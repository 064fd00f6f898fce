import { describe, expect, it } from "vitest";
import { noon, plan, step } from "../../testing/given/cast.ts";
import { accepts } from "../../testing/given/moves.ts";
import { given } from "../../testing/given.ts";
import { Zone } from "../time/zone.ts";
import type { Allowance, Budget } from "./budget.ts";
import { limitText, tollsOf } from "./toll.ts";

const { run } = given(accepts(plan(step("a"))));
const allowance = (more: Partial<Allowance>): Allowance => ({
  budgets: [],
  rates: [],
  zone: Zone.of("UTC") as Zone,
  rule: null,
  ...more,
});
const budget = (more: Partial<Budget> = {}): Budget => ({ unit: "usd_micros", limit: 100, per: "user-day", ...more });
const asks = (budgets: readonly Budget[], estimate: object | null = { usd_micros: 7 }) =>
  tollsOf([allowance({ budgets })], run, { tool: "mail.send", estimate }, noon);

describe("what a budget asks of a call", () => {
  it("is what the call is expected to spend, from the tally of its window", () => {
    const window = { name: "2026-03-14", from: Date.UTC(2026, 2, 14), until: Date.UTC(2026, 2, 15) };
    const tally = "budget/usd_micros/user-day/2026-03-14/robin";
    const limit = budget();
    const toll = {
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
    expect(asks([limit])).toEqual([toll]);
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
    expect(asks([budget({ per })])).toMatchObject([{ tally }]);
  });

  it("is shared by a run with those that come of it", () => {
    const fork = { ...run, id: "run_fork" as never };
    const [toll] = tollsOf([allowance({ budgets: [budget({ per: "run" })] })], fork, { tool: "a", estimate: {} }, noon);
    expect(toll?.tally).toBe("budget/usd_micros/run/run_hire");
  });

  it("is shared by the runs of a project", () => {
    const of = { ...run, project: "website" };
    const [toll] = tollsOf(
      [allowance({ budgets: [budget({ per: "project-month" })] })],
      of,
      { tool: "a", estimate: {} },
      noon,
    );
    expect(toll?.tally).toBe("budget/usd_micros/project-month/2026-03/project:website");
  });

  it("is nothing if it is for another tool", () => {
    expect(asks([budget({ tool: "page.read" })])).toEqual([]);
    expect(asks([budget({ tool: "mail.send" })])).toMatchObject([
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
    ["ms", {}, 1], // Everything takes some time.
    ["usd_micros", null, 1], // Nobody can tell: the least there is.
    ["tokens", null, 1],
    ["calls", null, 1],
    ["ms", null, 1],
  ] as const)("in %s with an estimate of %j is %d", (unit, estimate, amount) => {
    expect(asks([budget({ unit })], estimate)).toMatchObject([{ amount }]);
  });

  it("is asked once where two are for the same tally, by the tighter one", () => {
    expect(asks([budget(), budget({ limit: 50 }), budget({ limit: 70 })])).toMatchObject([{ most: 50 }]);
    const perCall = asks([budget({ per: "call", limit: 9 }), budget({ per: "call", unit: "calls", limit: 1 })]);
    expect(perCall.map(({ unit }) => unit)).toEqual(["usd_micros", "calls"]);
  });
});

describe("what a rate asks of a call", () => {
  it("is one of the calls of its window, whatever the call costs", () => {
    const rate = { calls: 5, per: "tenant-minute", tool: "mail.send" } as const;
    const window = { name: "2026-03-14T12:00", from: noon, until: noon + 60_000 };
    const tally = "rate/calls:mail.send/tenant-minute/2026-03-14T12:00";
    expect(tollsOf([allowance({ rates: [rate] })], run, { tool: "mail.send", estimate: {} }, noon)).toEqual([
      { of: "rate", limit: rate, rule: null, unit: "calls", amount: 1, most: 5, tally, window, used: null },
    ]);
    expect(tollsOf([allowance({ rates: [rate] })], run, { tool: "other", estimate: {} }, noon)).toEqual([]);
  });

  it("is not counted with a budget of the same", () => {
    const rates = [{ calls: 5, per: "user-hour" }] as const;
    const budgets = [budget({ unit: "calls", per: "user-hour" })];
    const tolls = tollsOf([allowance({ rates, budgets })], run, { tool: "a", estimate: {} }, noon);
    expect(new Set(tolls.map(({ tally }) => tally)).size).toBe(2);
  });
});

describe("a limit", () => {
  it("is called what it is", () => {
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
  const ruled = (more: object = {}) => ({ ...rule, ...more }) as NonNullable<Allowance["rule"]>;

  it("is counted by itself, by where the rule stands", () => {
    const [toll] = tollsOf(
      [allowance({ budgets: [budget()], rule: ruled() })],
      run,
      { tool: "a", estimate: null },
      noon,
    );
    expect(toll?.tally).toBe("budget/usd_micros@tenant/house/0/user-day/2026-03-14/robin");
  });

  it("is called by its rule, with the reason if there is one", () => {
    const text = (more: object) => limitText({ of: "budget", limit: budget(), most: 100, rule: ruled(more) });
    expect(text({})).toBe("budget of 100 usd_micros per user-day (policy house/small: it is dear)");
    expect(text({ reason: null })).toBe("budget of 100 usd_micros per user-day (policy house/small)");
  });

  it("of a run, of each call and of a day are counted apart", () => {
    const tolls = asks([budget({ per: "run" }), budget({ per: "call" }), budget()]);
    expect(tolls.map(({ tally, window }) => [tally, window?.name ?? null])).toEqual([
      ["budget/usd_micros/run/run_hire", null],
      [null, null],
      ["budget/usd_micros/user-day/2026-03-14/robin", "2026-03-14"],
    ]);
  });
});
