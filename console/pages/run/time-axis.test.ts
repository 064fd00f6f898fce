import { describe, expect, it } from "vitest";
import { TimeAxis } from "./time-axis.ts";

const day = 86_400_000;

describe("the axis of time", () => {
  it("gives executions most of its width, also beside a wait of days", () => {
    const axis = TimeAxis.between(0, 3 * day, [
      [0, 100],
      [3 * day - 100, 3 * day],
    ]);
    expect(axis.place(100)).toBeCloseTo(0.325, 2);
    expect(axis.place(3 * day - 100)).toBeCloseTo(0.675, 2);
    expect(axis.breaks).toEqual([expect.objectContaining({ from: 100, until: 3 * day - 100 })]);
  });

  it("is even without a long wait", () => {
    const axis = TimeAxis.between(0, 100, [
      [0, 50],
      [40, 100],
    ]);
    expect([0, 25, 50, 100].map((at) => axis.place(at))).toEqual([0, 0.25, 0.5, 1]);
    expect(axis.breaks).toEqual([]);
  });

  it("returns the time at a place, and keeps times outside at its ends", () => {
    const axis = TimeAxis.between(1000, 2000, [[1000, 2000]]);
    expect(axis.timeAt(0.5)).toBe(1500);
    expect([axis.place(0), axis.place(9999)]).toEqual([0, 1]);
  });

  it("shows a run in which nothing executes", () => {
    const axis = TimeAxis.between(0, 10, []);
    expect([axis.place(0), axis.place(5), axis.place(10)]).toEqual([0, 0.5, 1]);
  });
});
