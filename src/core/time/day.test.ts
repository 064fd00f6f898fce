import fc from "fast-check";
import { expect, it } from "vitest";
import { DAY_MS, dayNumber, dayOf, weekdayOf } from "./day.ts";

it("a day is the one that the platform's calendar has, and has its number", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1_000_000, max: 1_000_000 }), (number) => {
      const date = new Date(number * DAY_MS);
      const day = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
      expect([dayOf(number), dayNumber(day), weekdayOf(number)]).toEqual([day, number, date.getUTCDay()]);
    }),
  );
});
