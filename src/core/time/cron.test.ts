import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Instant } from "../id.ts";
import { type Cron, momentAfter, momentUntil, readCron } from "./cron.ts";
import { Zone } from "./zone.ts";

const cron = (text: string): Cron => {
  const read = readCron(text);
  if ("wrong" in read) throw new Error(read.wrong);
  return read;
};

const zone = (name: string): Zone => Zone.of(name) as Zone;

const at = (text: string): Instant => Date.parse(text) as Instant;

const told = (moment: Instant | null): string | null =>
  moment === null ? null : new Date(moment).toISOString().slice(0, 16);

function following(text: string, place: string, after: string, count: number): readonly (string | null)[] {
  const found: (Instant | null)[] = [];
  for (let last: Instant | null = at(after); found.length < count && last !== null; found.push(last))
    last = momentAfter(cron(text), zone(place), last);
  return found.map(told);
}

describe("the moments of a schedule", () => {
  it.each([
    ["30 9 * * mon-fri", "2026-11-13T12:00Z", ["2026-11-16T09:30", "2026-11-17T09:30"]],
    ["*/20 8-9 * * *", "2026-11-13T08:39Z", ["2026-11-13T08:40", "2026-11-13T09:00"]],
    ["0 0 29 2 *", "2026-01-01T00:00Z", ["2028-02-29T00:00", "2032-02-29T00:00"]],
    ["0 0 1,15 * *", "2026-11-02T00:00Z", ["2026-11-15T00:00", "2026-12-01T00:00"]],
    ["5/20 * * * *", "2026-11-02T00:06Z", ["2026-11-02T00:25", "2026-11-02T00:45"]],
    ["@weekly", "2026-11-16T00:00Z", ["2026-11-22T00:00", "2026-11-29T00:00"]],
    ["0 0 * * 7", "2026-11-16T00:00Z", ["2026-11-22T00:00", "2026-11-29T00:00"]],
    ["0 0 * DEC *", "2026-11-16T00:00Z", ["2026-12-01T00:00", "2026-12-02T00:00"]],
  ])("of %s after %s", (text, after, moments) => {
    expect(following(text, "UTC", after, 2)).toEqual(moments);
  });

  it("are those of either, where days and weekdays are both asked for", () => {
    const moments = ["2026-11-20T00:00", "2026-11-23T00:00", "2026-11-30T00:00"];
    expect(following("0 0 20 * mon", "UTC", "2026-11-16T00:00Z", 3)).toEqual(moments);
  });

  it("are strictly after", () => {
    expect(following("0 0 * * *", "UTC", "2026-11-16T00:00Z", 1)).toEqual(["2026-11-17T00:00"]);
  });

  it("never come where there is no such day", () => {
    expect(following("0 0 31 2 *", "UTC", "2026-11-16T00:00Z", 1)).toEqual([null]);
    expect(momentUntil(cron("0 0 31 2 *"), zone("UTC"), at("2026-11-16T00:00Z"))).toBeNull();
  });

  it("are those that the clocks of its zone show", () => {
    expect(following("0 9 * * *", "Asia/Kolkata", "2026-11-16T00:00Z", 1)).toEqual(["2026-11-16T03:30"]);
    expect(following("0 9 * * *", "Pacific/Auckland", "2026-11-16T00:00Z", 1)).toEqual(["2026-11-16T20:00"]);
  });
});

describe("when clocks are put forward", () => {
  it("a time that is skipped comes as much later as they were put, and once", () => {
    const moments = ["2026-03-28T01:30", "2026-03-29T01:30", "2026-03-30T00:30"];
    expect(following("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00Z", 3)).toEqual(moments);
  });

  it("every hour comes an hour after the one before", () => {
    const moments = ["2026-03-29T00:00", "2026-03-29T01:00", "2026-03-29T02:00"];
    expect(following("0 * * * *", "Europe/Berlin", "2026-03-28T23:00Z", 3)).toEqual(moments);
  });
});

describe("when clocks are put back", () => {
  it("a time that is shown twice comes at the first", () => {
    const moments = ["2026-10-25T00:30", "2026-10-26T01:30"];
    expect(following("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", 2)).toEqual(moments);
  });

  it("every hour comes an hour after the one before", () => {
    const moments = ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"];
    expect(following("0 * * * *", "Europe/Berlin", "2026-10-24T23:00Z", 3)).toEqual(moments);
  });
});

it("the last moment up to one is the one before the next, whatever the schedule, zone and time of the year", () => {
  const part = (from: number, to: number) => fc.oneof(fc.constant("*"), fc.integer({ min: from, max: to }).map(String));
  const text = fc.tuple(part(0, 59), part(0, 23), part(1, 28), part(1, 12), part(0, 6)).map((parts) => parts.join(" "));
  const place = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia");
  const moment = fc.integer({ min: at("2011-01-01T00:00Z"), max: at("2027-01-01T00:00Z") });
  fc.assert(
    fc.property(text, place, moment, (text, place, moment) => {
      const next = momentAfter(cron(text), zone(place), moment as Instant);
      if (next === null) return;
      const last = momentUntil(cron(text), zone(place), (next - 1) as Instant);
      expect(last === null || last <= moment).toBe(true);
      expect(momentUntil(cron(text), zone(place), next)).toBe(next);
      if (last !== null) expect(momentAfter(cron(text), zone(place), last)).toBe(next);
    }),
    { numRuns: 60 },
  );
});

describe("a schedule that cannot be read", () => {
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
    expect(readCron(text)).toEqual({ wrong: expect.stringContaining(wrong) });
  });
});

it("a zone that nobody knows is none", () => {
  expect(Zone.of("Mars/Olympus")).toBeNull();
});
