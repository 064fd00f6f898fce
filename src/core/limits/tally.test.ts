import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cost, noon, plan, step } from "../../testing/given/cast.ts";
import { accepts } from "../../testing/given/moves.ts";
import { given } from "../../testing/given.ts";
import type { Event } from "../event.ts";
import type { Instant } from "../id.ts";
import { amountOf, chargesFor, chargesOf, dateOf, tallyOf } from "./tally.ts";

const { run } = given(accepts(plan(step("a"))));
const iso = (at: number) => new Date(at).toISOString();

describe("the date of an instant", () => {
  it("is the date in UTC, from the year 0 to the year 9999", () => {
    const years = { min: Date.parse("0000-01-01T00:00:00Z"), max: Date.parse("9999-12-31T23:59:59.999Z") };
    fc.assert(
      fc.property(fc.integer(years), (at) => {
        expect(dateOf(at as Instant)).toEqual({ day: iso(at).slice(0, 10), month: iso(at).slice(0, 7) });
      }),
    );
  });

  it.each(["2024-02-29", "2000-02-29", "1900-02-28", "1970-01-01", "1969-12-31", "2026-12-31"])("knows %s", (day) => {
    for (const time of ["T00:00:00.000Z", "T23:59:59.999Z"])
      expect(dateOf(Date.parse(day + time) as Instant)).toEqual({ day, month: day.slice(0, 7) });
  });

  it("begins a new one at midnight", () => {
    const midnight = Date.parse("2026-03-01T00:00:00Z") as Instant;
    expect(dateOf(midnight)).toEqual({ day: "2026-03-01", month: "2026-03" });
    expect(dateOf((midnight - 1) as Instant)).toEqual({ day: "2026-02-28", month: "2026-02" });
  });
});

describe("charging a cost", () => {
  it("adds it to the day of whoever asked and to the month of the tenant, unit by unit", () => {
    expect(chargesFor(run, cost(7, { credits: 1, tokens_in: 2, tokens_out: 3 }), noon)).toEqual([
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

  it("charges nothing for nothing", () => {
    expect(chargesFor(run, cost(0), noon)).toEqual([]);
  });

  it("gives no two tallies the same name, whatever a principal is called", () => {
    expect(tallyOf("credits", "principal", "tenant/2026-03", "2026-03-14")).not.toBe(
      tallyOf("credits", "tenant", "", "2026-03"),
    );
    expect(tallyOf("credits", "tenant", "anyone", "2026-03")).toBe(tallyOf("credits", "tenant", "", "2026-03"));
  });
});

describe("a cost", () => {
  it("is told by unit, tokens in and out together", () => {
    const spent = cost(1, { credits: 2, tokens_in: 3, tokens_out: 4 });
    expect(amountOf("usd_micros", spent)).toBe(1);
    expect(amountOf("credits", spent)).toBe(2);
    expect(amountOf("tokens", spent)).toBe(7);
  });
});

describe("what events charge", () => {
  it("is all that they say, in order, each within the limit that it names", () => {
    const charged = (charges: readonly object[]) => ({ type: "step.failed", charges }) as unknown as Event;
    const events = [
      charged([{ tally: "a", amount: 1, limit: 5, unit: "calls" }]),
      charged([{ tally: "b", amount: -2 }]),
    ];
    const silent = [
      { type: "run.closed", at: noon },
      { type: "step.failed", charges: undefined },
    ] as unknown as readonly Event[];
    expect(chargesOf([...silent, ...events])).toEqual([
      { tally: "a", amount: 1, limit: 5 },
      { tally: "b", amount: -2, limit: null },
    ]);
  });

  it("is counted for the project of the run, too", () => {
    const { run } = given(accepts(plan(step("a")), { project: "p/1" }));
    expect(chargesFor(run, cost(5), noon)).toEqual([
      { tally: "usd_micros/principal/2026-03-14/robin", amount: 5 },
      { tally: "usd_micros/tenant/2026-03", amount: 5 },
      { tally: "usd_micros/project/2026-03/p/1", amount: 5 },
    ]);
  });
});
