import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Instant } from "../values/ids.ts";
import { type Cron, nextCronTime, parseCron, previousCronTime } from "./cron.ts";
import { TimeZone } from "./time-zone.ts";

const cron = (text: string): Cron => {
  const read = parseCron(text);
  if ("wrong" in read) throw new Error(read.wrong);
  return read;
};

const zone = (name: string): TimeZone => TimeZone.of(name) as TimeZone;

const at = (text: string): Instant => Date.parse(text) as Instant;

const minuteText = (time: Instant | null): string | null =>
  time === null ? null : new Date(time).toISOString().slice(0, 16);

function nextTimes(text: string, place: string, after: string, count: number): readonly (string | null)[] {
  const found: (Instant | null)[] = [];
  for (let last: Instant | null = at(after); found.length < count && last !== null; found.push(last))
    last = nextCronTime(cron(text), zone(place), last);
  return found.map(minuteText);
}

describe("the times of a cron expression", () => {
  it.each([
    ["30 9 * * mon-fri", "2026-11-13T12:00Z", ["2026-11-16T09:30", "2026-11-17T09:30"]],
    ["*/20 8-9 * * *", "2026-11-13T08:39Z", ["2026-11-13T08:40", "2026-11-13T09:00"]],
    ["0 0 29 2 *", "2026-01-01T00:00Z", ["2028-02-29T00:00", "2032-02-29T00:00"]],
    ["0 0 1,15 * *", "2026-11-02T00:00Z", ["2026-11-15T00:00", "2026-12-01T00:00"]],
    ["5/20 * * * *", "2026-11-02T00:06Z", ["2026-11-02T00:25", "2026-11-02T00:45"]],
    ["@weekly", "2026-11-16T00:00Z", ["2026-11-22T00:00", "2026-11-29T00:00"]],
    ["0 0 * * 7", "2026-11-16T00:00Z", ["2026-11-22T00:00", "2026-11-29T00:00"]],
    ["0 0 * DEC *", "2026-11-16T00:00Z", ["2026-12-01T00:00", "2026-12-02T00:00"]],
  ])("of %s after %s", (text, after, times) => {
    expect(nextTimes(text, "UTC", after, 2)).toEqual(times);
  });

  it("match either field if days of the month and weekdays are both restricted", () => {
    const times = ["2026-11-20T00:00", "2026-11-23T00:00", "2026-11-30T00:00"];
    expect(nextTimes("0 0 20 * mon", "UTC", "2026-11-16T00:00Z", 3)).toEqual(times);
  });

  it("are strictly after the given time", () => {
    expect(nextTimes("0 0 * * *", "UTC", "2026-11-16T00:00Z", 1)).toEqual(["2026-11-17T00:00"]);
  });

  it("do not exist if no such day exists", () => {
    expect(nextTimes("0 0 31 2 *", "UTC", "2026-11-16T00:00Z", 1)).toEqual([null]);
    expect(previousCronTime(cron("0 0 31 2 *"), zone("UTC"), at("2026-11-16T00:00Z"))).toBeNull();
  });

  it("are local times of the time zone", () => {
    expect(nextTimes("0 9 * * *", "Asia/Kolkata", "2026-11-16T00:00Z", 1)).toEqual(["2026-11-16T03:30"]);
    expect(nextTimes("0 9 * * *", "Pacific/Auckland", "2026-11-16T00:00Z", 1)).toEqual(["2026-11-16T20:00"]);
  });
});

describe("when clocks are set forward", () => {
  it("a skipped time runs once, later by the amount of the change", () => {
    const times = ["2026-03-28T01:30", "2026-03-29T01:30", "2026-03-30T00:30"];
    expect(nextTimes("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00Z", 3)).toEqual(times);
  });

  it("an hourly expression runs every hour", () => {
    const times = ["2026-03-29T00:00", "2026-03-29T01:00", "2026-03-29T02:00"];
    expect(nextTimes("0 * * * *", "Europe/Berlin", "2026-03-28T23:00Z", 3)).toEqual(times);
  });
});

describe("when clocks are set back", () => {
  it("a repeated time runs at its first occurrence", () => {
    const times = ["2026-10-25T00:30", "2026-10-26T01:30"];
    expect(nextTimes("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", 2)).toEqual(times);
  });

  it("an hourly expression runs every hour", () => {
    const times = ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"];
    expect(nextTimes("0 * * * *", "Europe/Berlin", "2026-10-24T23:00Z", 3)).toEqual(times);
  });
});

it("the previous and next times agree for every expression, zone and time of the year", () => {
  const part = (from: number, to: number) => fc.oneof(fc.constant("*"), fc.integer({ min: from, max: to }).map(String));
  const text = fc.tuple(part(0, 59), part(0, 23), part(1, 28), part(1, 12), part(0, 6)).map((parts) => parts.join(" "));
  const place = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia");
  const start = fc.integer({ min: at("2011-01-01T00:00Z"), max: at("2027-01-01T00:00Z") });
  fc.assert(
    fc.property(text, place, start, (text, place, start) => {
      const next = nextCronTime(cron(text), zone(place), start as Instant);
      if (next === null) return;
      const last = previousCronTime(cron(text), zone(place), (next - 1) as Instant);
      expect(last === null || last <= start).toBe(true);
      expect(previousCronTime(cron(text), zone(place), next)).toBe(next);
      if (last !== null) expect(nextCronTime(cron(text), zone(place), last)).toBe(next);
    }),
    { numRuns: 60 },
  );
});

describe("an invalid cron expression", () => {
  it.each([
    ["* * * *", "five fields"],
    ["", "five fields"],
    [`${"1,".repeat(100)}1 * * * *`, "five fields"],
    ["@reboot", "five fields"],
    ["60 * * * *", "60 is no minute"],
    ["-1 * * * *", "-1 is no minute"],
    ["1,,2 * * * *", "1,,2 is no minute"],
    ["* 24 * * *", "24 is no hour"],
    ["* * 0 * *", "0 is no day of the month"],
    ["* * * foo *", "foo is no month"],
    ["* * * * 8", "8 is no weekday"],
    ["*/0 * * * *", "*/0 is no minute"],
    ["5-1 * * * *", "5-1 is no minute"],
    ["1-x * * * *", "1-x is no minute"],
    ["+5 * * * *", "+5 is no minute"],
  ])("%j is refused: %s", (text, wrong) => {
    expect(parseCron(text)).toEqual({ wrong: expect.stringContaining(wrong) });
  });
});

it("an unknown time zone gives null", () => {
  expect(TimeZone.of("Mars/Olympus")).toBeNull();
});
