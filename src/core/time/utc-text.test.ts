import { describe, expect, it } from "vitest";
import type { Instant } from "../values/ids.ts";
import { utcText } from "./utc-text.ts";

describe("a time as text", () => {
  it.each([
    0, 1, 999, 86_399_999, 86_400_000, 951_782_400_000, 1_767_323_045_006, 4_102_444_799_999, 253_402_300_799_999,
  ])("is the time in UTC with milliseconds: %i", (at) => {
    expect(utcText(at as Instant)).toBe(new Date(at).toISOString());
  });
});
