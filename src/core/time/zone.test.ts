import { describe, expect, it } from "vitest";
import { dayNumber } from "./day.ts";
import { Zone } from "./zone.ts";

const shown = (zone: string, text: string) => (Zone.of(zone) as Zone).shownAt(Date.parse(text));
const on = (month: number, day: number) => dayNumber({ year: 2026, month, day });

describe("the clock on the wall", () => {
  it.each([
    ["UTC", "2026-11-16T12:34:56Z", { day: on(11, 16), minute: 754 }],
    ["Europe/Berlin", "2026-11-16T23:30:00Z", { day: on(11, 17), minute: 30 }],
    ["America/New_York", "2026-11-16T03:00:00Z", { day: on(11, 15), minute: 22 * 60 }],
    ["Asia/Kolkata", "2026-11-16T00:00:00Z", { day: on(11, 16), minute: 330 }],
  ])("of %s at %s", (zone, text, expected) => {
    expect(shown(zone, text)).toEqual(expected);
  });

  it("is the same clock for the same name, until too many are known", () => {
    const first = Zone.of("UTC");
    expect(Zone.of("UTC")).toBe(first);
    expect(Zone.of("Nowhere/None")).toBeNull();
    // Names are told apart letter by letter, and found in any case.
    const spelt = (nth: number) =>
      [..."america/new_york"].map((letter, at) => ((nth >> at) % 2 === 1 ? letter.toUpperCase() : letter)).join("");
    // The stroke in it is none of them, whether or not it is said louder.
    for (let nth = 0; nth < 2000; nth += 1) Zone.of(spelt(nth));
    const again = Zone.of("UTC") as Zone;
    expect(again).not.toBe(first);
    expect(again.shownAt(0)).toEqual({ day: 0, minute: 0 });
  });

  it("is put forward and back, whatever it showed before", () => {
    const berlin = Zone.of("Europe/Berlin") as Zone;
    const minutes = ["2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2026-03-29T00:59:59Z"].map(
      (text) => berlin.shownAt(Date.parse(text)).minute,
    );
    expect(minutes).toEqual([119, 180, 119]);
    expect(shown("Australia/Lord_Howe", "2026-04-04T15:00:00Z").minute).toBe(90);
    expect(shown("Australia/Lord_Howe", "2026-04-04T14:59:00Z").minute).toBe(119);
  });
});
