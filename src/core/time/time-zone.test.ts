import { describe, expect, it } from "vitest";
import { dayNumber } from "./calendar-day.ts";
import { TimeZone } from "./time-zone.ts";

const localTime = (zone: string, text: string) => (TimeZone.of(zone) as TimeZone).localTimeAt(Date.parse(text));
const on = (month: number, day: number) => dayNumber({ year: 2026, month, day });

describe("the local time", () => {
  it.each([
    ["UTC", "2026-11-16T12:34:56Z", { day: on(11, 16), minute: 754 }],
    ["Europe/Berlin", "2026-11-16T23:30:00Z", { day: on(11, 17), minute: 30 }],
    ["America/New_York", "2026-11-16T03:00:00Z", { day: on(11, 15), minute: 22 * 60 }],
    ["Asia/Kolkata", "2026-11-16T00:00:00Z", { day: on(11, 16), minute: 330 }],
  ])("of %s at %s", (zone, text, expected) => {
    expect(localTime(zone, text)).toEqual(expected);
  });

  it("comes from a cached zone until too many zones are cached", () => {
    const first = TimeZone.of("UTC");
    expect(TimeZone.of("UTC")).toBe(first);
    expect(TimeZone.of("Nowhere/None")).toBeNull();
    // Each spelling is cached by itself, and a zone is found in upper and lower case.
    const spelling = (nth: number) =>
      [..."america/new_york"].map((letter, at) => ((nth >> at) % 2 === 1 ? letter.toUpperCase() : letter)).join("");
    // Some spellings repeat, because "/" and "_" have no upper case.
    for (let nth = 0; nth < 2000; nth += 1) TimeZone.of(spelling(nth));
    const again = TimeZone.of("UTC") as TimeZone;
    expect(again).not.toBe(first);
    expect(again.localTimeAt(0)).toEqual({ day: 0, minute: 0 });
  });

  it("changes with daylight saving time in both directions, independent of earlier queries", () => {
    const berlin = TimeZone.of("Europe/Berlin") as TimeZone;
    const minutes = ["2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2026-03-29T00:59:59Z"].map(
      (text) => berlin.localTimeAt(Date.parse(text)).minute,
    );
    expect(minutes).toEqual([119, 180, 119]);
    expect(localTime("Australia/Lord_Howe", "2026-04-04T15:00:00Z").minute).toBe(90);
    expect(localTime("Australia/Lord_Howe", "2026-04-04T14:59:00Z").minute).toBe(119);
  });
});
