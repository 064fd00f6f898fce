import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Instant } from "../values/ids.ts";
import { forecastUse, limitExhaustedAt, timeWindowAt, windowSpans } from "./time-window.ts";
import { TimeZone } from "./time-zone.ts";

const zone = (name: string) => TimeZone.of(name) as TimeZone;
const at = (iso: string) => Date.parse(iso) as Instant;
const utc = zone("UTC");
const iso = (instant: number) => new Date(instant).toISOString();

describe("the window of a time", () => {
  it.each([
    ["minute", "2025-11-15T10:31", "2025-11-15T10:32:00.000Z"],
    ["hour", "2025-11-15T10", "2025-11-15T11:00:00.000Z"],
    ["day", "2025-11-15", "2025-11-16T00:00:00.000Z"],
    ["month", "2025-11", "2025-12-01T00:00:00.000Z"],
  ] as const)("of a %s is called %s and lasts until %s", (span, name, until) => {
    const window = timeWindowAt(span, at("2025-11-15T10:31:07.5Z"), utc);
    expect({ name: window.name, until: iso(window.until) }).toEqual({ name, until });
  });

  it("of a month ends at the start of January after December", () => {
    expect(iso(timeWindowAt("month", at("2025-12-31T23:59:59.999Z"), utc).until)).toBe("2026-01-01T00:00:00.000Z");
    expect(timeWindowAt("month", at("2026-01-01T00:00:00Z"), utc).name).toBe("2026-01");
  });

  it.each([
    ["America/New_York", "2025-11-16T04:59:59.999Z", "2025-11-15[America/New_York]", "2025-11-16T05:00:00.000Z"],
    ["Asia/Kolkata", "2025-11-15T18:30:00Z", "2025-11-16[Asia/Kolkata]", "2025-11-16T18:30:00.000Z"],
    ["Europe/Berlin", "2025-10-26T12:00:00Z", "2025-10-26[Europe/Berlin]", "2025-10-26T23:00:00.000Z"], // 25 hours long.
    ["Europe/Berlin", "2025-03-30T12:00:00Z", "2025-03-30[Europe/Berlin]", "2025-03-30T22:00:00.000Z"], // 23 hours long.
    ["America/Santiago", "2025-09-07T12:00:00Z", "2025-09-07[America/Santiago]", "2025-09-08T03:00:00.000Z"], // Begins at one.
  ])("of a day in %s follows local midnight", (name, time, day, until) => {
    const window = timeWindowAt("day", at(time), zone(name));
    expect({ name: window.name, until: iso(window.until) }).toEqual({ name: day, until });
  });

  it("contains its time and ends where the next window begins, in any zone", () => {
    const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"];
    const times = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) });
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.constantFrom(...windowSpans), times, (name, span, time) => {
        const timeZone = zone(name);
        const window = timeWindowAt(span, time as Instant, timeZone);
        expect(window.until).toBeGreaterThan(time);
        expect(window.from).toBeLessThanOrEqual(time);
        expect(timeWindowAt(span, window.from, timeZone)).toEqual(window);
        expect(timeWindowAt(span, (window.until - 1) as Instant, timeZone)).toEqual(window);
        expect(timeWindowAt(span, window.until, timeZone).name).not.toBe(window.name);
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
    [6000, 10], // The clock was set forward past the end of the window: the forecast is at least the use.
    [1040, 1000],
    [1039, null], // Too early to forecast.
    [1000, null],
    [900, null], // The clock was set back.
  ])("at %d of a use of 10 is %d", (now, expected) => {
    expect(forecastUse(10, window, now as Instant)).toBe(expected);
  });

  it("of a month follows the number of its days, and is null in the first hour", () => {
    const february = timeWindowAt("month", Date.UTC(2025, 1, 7) as Instant, utc);
    expect(forecastUse(10, february, Date.UTC(2025, 1, 15) as Instant)).toBe(20);
    expect(forecastUse(10, february, (Date.UTC(2025, 1, 1, 1) - 1) as Instant)).toBeNull();
    expect(forecastUse(1, february, Date.UTC(2025, 1, 1, 1) as Instant)).toBe(28 * 24);
  });

  it("of no use or a negative use is 0, and of a very large use is a safe integer", () => {
    const now = 2000 as Instant;
    expect([forecastUse(0, window, now), forecastUse(-5, window, now)]).toEqual([0, 0]);
    expect(forecastUse(Number.MAX_SAFE_INTEGER, window, now)).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe("the time at which a limit is exhausted", () => {
  const window = { name: "a day", from: 1000 as Instant, until: 5000 as Instant };

  it.each([
    [10, 2000, 3000],
    [19, 2000, 2053],
    [4, 2000, null], // A quarter of the time, and less than a quarter is used.
    [5, 2000, null],
    [6, 2000, 4334],
    [20, 2000, 2000], // The limit is exhausted.
    [25, 900, 900],
    [0, 2000, null],
    [19, 1039, null], // Too early to forecast.
    [10, 1000, null],
  ])("of %d used of 20 at %d is %s", (used, now, expected) => {
    expect(limitExhaustedAt(used, 20, window, now as Instant)).toBe(expected);
  });
});
