import { describe, expect, it } from "vitest";
import { durationText, relativeTimeText } from "./relative-time-text.ts";

describe("the text of a time", () => {
  it.each([
    [0, "now"],
    [-4999, "now"],
    [-61_000, "1 min ago"],
    [-3 * 60 * 60_000, "3 h ago"],
    [-50 * 60 * 60_000, "2 d ago"],
    [90_000, "in 1 min"],
  ])("at %d ms from now is %s", (apart, text) => {
    expect(relativeTimeText(1_000_000_000 + apart, 1_000_000_000)).toBe(text);
  });
});

describe("the text of a length of time", () => {
  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [999.6, "1 s"],
    [1500, "1.5 s"],
    [12_900, "12 s"],
    [61_000, "1 min 1 s"],
    [12 * 60_000 + 5000, "12 min"],
    [2 * 60 * 60_000 + 5 * 60_000, "2 h 5 min"],
    [26 * 60 * 60_000, "1 d 2 h"],
  ])("of %d ms is %s", (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});
