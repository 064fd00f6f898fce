import { describe, expect, it } from "vitest";
import type { Instant } from "../core/values/ids.ts";
import { preciseTimeText, timeText } from "./time-text.ts";

const winter = Date.UTC(2025, 0, 15, 23, 5, 9, 7) as Instant;
const summer = Date.UTC(2025, 6, 15, 23, 5, 9, 7) as Instant;

describe("time", () => {
  it.each([
    ["UTC", winter, "2025-01-15 23:05:09 UTC"],
    ["Europe/Berlin", winter, "2025-01-16 00:05:09 +01:00"],
    ["Europe/Berlin", summer, "2025-07-16 01:05:09 +02:00"],
    ["Asia/Kolkata", winter, "2025-01-16 04:35:09 +05:30"],
    ["America/New_York", summer, "2025-07-15 19:05:09 -04:00"],
  ])("is printed in %s with its offset", (zone, at, text) => {
    expect(timeText(at, { zone })).toBe(text);
    expect(Date.parse(timeText(at, { zone }))).toBe(at - 7);
  });

  it("of an event has milliseconds", () => {
    expect(preciseTimeText(winter, { zone: "UTC" })).toBe("2025-01-15 23:05:09.007 UTC");
  });

  it("that is no time is printed as its number", () => {
    expect(timeText(Number.MAX_VALUE as Instant, { zone: "UTC" })).toBe(String(Number.MAX_VALUE));
  });
});
