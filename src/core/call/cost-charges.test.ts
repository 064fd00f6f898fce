import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { accepts } from "../../testing/given/commands.ts";
import { cost, noon, plan, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import type { Event } from "../event/event.ts";
import type { Instant } from "../values/ids.ts";
import { costAmount, costCharges, costTally, eventCharges, utcDate } from "./cost-charges.ts";

const { run } = given(accepts(plan(step("a"))));
const iso = (at: number) => new Date(at).toISOString();

describe("the date of an instant", () => {
  it("is the date in UTC, from the year 0 to the year 9999", () => {
    const years = { min: Date.parse("0000-01-01T00:00:00Z"), max: Date.parse("9999-12-31T23:59:59.999Z") };
    fc.assert(
      fc.property(fc.integer(years), (at) => {
        expect(utcDate(at as Instant)).toEqual({ day: iso(at).slice(0, 10), month: iso(at).slice(0, 7) });
      }),
    );
  });

  it.each(["2024-02-29", "2000-02-29", "1900-02-28", "1970-01-01", "1969-12-31", "2026-12-31"])(
    "is correct for %s",
    (day) => {
      for (const time of ["T00:00:00.000Z", "T23:59:59.999Z"])
        expect(utcDate(Date.parse(day + time) as Instant)).toEqual({ day, month: day.slice(0, 7) });
    },
  );

  it("changes at midnight", () => {
    const midnight = Date.parse("2026-03-01T00:00:00Z") as Instant;
    expect(utcDate(midnight)).toEqual({ day: "2026-03-01", month: "2026-03" });
    expect(utcDate((midnight - 1) as Instant)).toEqual({ day: "2026-02-28", month: "2026-02" });
  });
});

describe("charging a cost", () => {
  it("charges each unit to the day of the principal and to the month of the tenant", () => {
    expect(costCharges(run, cost(7, { credits: 1, tokens_in: 2, tokens_out: 3 }), noon)).toEqual([
      { tally: "usd_micros/principal/2026-03-14/robin", amount: 7 },
      { tally: "usd_micros/tenant/2026-03", amount: 7 },
      { tally: "credits/principal/2026-03-14/robin", amount: 1 },
      { tally: "credits/tenant/2026-03", amount: 1 },
      { tally: "tokens_in/principal/2026-03-14/robin", amount: 2 },
      { tally: "tokens_in/tenant/2026-03", amount: 2 },
      { tally: "tokens_out/principal/2026-03-14/robin", amount: 3 },
      { tally: "tokens_out/tenant/2026-03", amount: 3 },
    ]);
  });

  it("charges nothing for a cost of 0", () => {
    expect(costCharges(run, cost(0), noon)).toEqual([]);
  });

  it("gives different names to different tallies for every principal id", () => {
    expect(costTally("credits", "principal", "tenant/2026-03", "2026-03-14")).not.toBe(
      costTally("credits", "tenant", "", "2026-03"),
    );
    expect(costTally("credits", "tenant", "anyone", "2026-03")).toBe(costTally("credits", "tenant", "", "2026-03"));
  });
});

describe("costAmount", () => {
  it("returns the amount per unit, and adds tokens in and out", () => {
    const spent = cost(1, { credits: 2, tokens_in: 3, tokens_out: 4 });
    expect(costAmount("usd_micros", spent)).toBe(1);
    expect(costAmount("credits", spent)).toBe(2);
    expect(costAmount("tokens", spent)).toBe(7);
  });
});

describe("eventCharges", () => {
  it("returns all charges in order, each with its limit", () => {
    const charged = (charges: readonly object[]) => ({ type: "step.failed", charges }) as unknown as Event;
    const events = [
      charged([{ tally: "a", amount: 1, limit: 5, unit: "calls" }]),
      charged([{ tally: "b", amount: -2 }]),
    ];
    const without = [
      { type: "run.closed", at: noon },
      { type: "step.failed", charges: undefined },
    ] as unknown as readonly Event[];
    expect(eventCharges([...without, ...events])).toEqual([
      { tally: "a", amount: 1, limit: 5 },
      { tally: "b", amount: -2, limit: null },
    ]);
  });

  it("includes the tally of the project", () => {
    const { run } = given(accepts(plan(step("a")), { project: "p/1" }));
    expect(costCharges(run, cost(5), noon)).toEqual([
      { tally: "usd_micros/principal/2026-03-14/robin", amount: 5 },
      { tally: "usd_micros/tenant/2026-03", amount: 5 },
      { tally: "usd_micros/project/2026-03/p/1", amount: 5 },
    ]);
  });
});
