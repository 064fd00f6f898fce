import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Instant } from "../id.ts";
import { exhaustedAt, forecast, spans, windowAt } from "./window.ts";
import { Zone } from "./zone.ts";

const zone = (name: string) => Zone.of(name) as Zone;
const at = (iso: string) => Date.parse(iso) as Instant;
const utc = zone("UTC");
const iso = (instant: number) => new Date(instant).toISOString();

describe("the window of a moment", () => {
  it.each([
    ["minute", "2025-11-15T10:31", "2025-11-15T10:32:00.000Z"],
    ["hour", "2025-11-15T10", "2025-11-15T11:00:00.000Z"],
    ["day", "2025-11-15", "2025-11-16T00:00:00.000Z"],
    ["month", "2025-11", "2025-12-01T00:00:00.000Z"],
  ] as const)("of a %s is called %s and lasts until %s", (span, name, until) => {
    const window = windowAt(span, at("2025-11-15T10:31:07.5Z"), utc);
    expect({ name: window.name, until: iso(window.until) }).toEqual({ name, until });
  });

  it("of a December is followed by that of a January", () => {
    expect(iso(windowAt("month", at("2025-12-31T23:59:59.999Z"), utc).until)).toBe("2026-01-01T00:00:00.000Z");
    expect(windowAt("month", at("2026-01-01T00:00:00Z"), utc).name).toBe("2026-01");
  });

  it.each([
    ["America/New_York", "2025-11-16T04:59:59.999Z", "2025-11-15[America/New_York]", "2025-11-16T05:00:00.000Z"],
    ["Asia/Kolkata", "2025-11-15T18:30:00Z", "2025-11-16[Asia/Kolkata]", "2025-11-16T18:30:00.000Z"],
    ["Europe/Berlin", "2025-10-26T12:00:00Z", "2025-10-26[Europe/Berlin]", "2025-10-26T23:00:00.000Z"], // 25 hours long.
    ["Europe/Berlin", "2025-03-30T12:00:00Z", "2025-03-30[Europe/Berlin]", "2025-03-30T22:00:00.000Z"], // 23 hours long.
    ["America/Santiago", "2025-09-07T12:00:00Z", "2025-09-07[America/Santiago]", "2025-09-08T03:00:00.000Z"], // Begins at one.
  ])("of a day in %s is that of its clocks", (name, moment, day, until) => {
    const window = windowAt("day", at(moment), zone(name));
    expect({ name: window.name, until: iso(window.until) }).toEqual({ name: day, until });
  });

  it("ends after its moment, and at its end another begins, in any zone", () => {
    const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"];
    const moments = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) });
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.constantFrom(...spans), moments, (name, span, moment) => {
        const there = zone(name);
        const window = windowAt(span, moment as Instant, there);
        expect(window.until).toBeGreaterThan(moment);
        expect(window.from).toBeLessThanOrEqual(moment);
        expect(windowAt(span, window.from, there)).toEqual(window);
        expect(windowAt(span, (window.until - 1) as Instant, there)).toEqual(window);
        expect(windowAt(span, window.until, there).name).not.toBe(window.name);
      }),
    );
  });
});

describe("a forecast", () => {
  const window = { name: "a day", from: 1000 as Instant, until: 5000 as Instant };

  it.each([
    [2000, 40],
    [3000, 20],
    [5000, 10],
    [6000, 10], // A clock was put forward: more time cannot have made it less.
    [1040, 1000],
    [1039, null], // It has hardly begun.
    [1000, null],
    [900, null], // A clock was put back.
  ])("at %d of what has been used evenly is %d", (now, expected) => {
    expect(forecast(10, window, now as Instant)).toBe(expected);
  });

  it("of a month goes by how many days it has, and waits for an hour of them", () => {
    const february = windowAt("month", Date.UTC(2025, 1, 7) as Instant, utc);
    expect(forecast(10, february, Date.UTC(2025, 1, 15) as Instant)).toBe(20);
    expect(forecast(10, february, (Date.UTC(2025, 1, 1, 1) - 1) as Instant)).toBeNull();
    expect(forecast(1, february, Date.UTC(2025, 1, 1, 1) as Instant)).toBe(28 * 24);
  });

  it("of nothing is nothing, of what was given back is not less, and of too much is a number", () => {
    const now = 2000 as Instant;
    expect([forecast(0, window, now), forecast(-5, window, now)]).toEqual([0, 0]);
    expect(forecast(Number.MAX_SAFE_INTEGER, window, now)).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe("the moment at which nothing is left", () => {
  const window = { name: "a day", from: 1000 as Instant, until: 5000 as Instant };

  it.each([
    [10, 2000, 3000],
    [19, 2000, 2053],
    [4, 2000, null], // A quarter of the time, and less than a quarter is used.
    [5, 2000, null],
    [6, 2000, 4334],
    [20, 2000, 2000], // It is used up.
    [25, 900, 900],
    [0, 2000, null],
    [19, 1039, null], // It has hardly begun.
    [10, 1000, null],
  ])("of %d used of 20 at %d is %s", (used, now, expected) => {
    expect(exhaustedAt(used, 20, window, now as Instant)).toBe(expected);
  });
});
