import fc from "fast-check";
import { expect, it } from "vitest";
import { calendarDay, DAY_MS, dayNumber, weekdayOf } from "./calendar-day.ts";

it("days, day numbers and weekdays match the platform's calendar", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1_000_000, max: 1_000_000 }), (number) => {
      const date = new Date(number * DAY_MS);
      const day = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
      expect([calendarDay(number), dayNumber(day), weekdayOf(number)]).toEqual([day, number, date.getUTCDay()]);
    }),
  );
});
