import { describe, expect, it } from "vitest";
import { StalledWorkers } from "./stalled-workers.ts";

/** An observer whose looks are at these times. Returns whether the worker, whose beat never changes, is stalled at each. */
function stalledAt(stallMs: number, looks: readonly number[]): readonly boolean[] {
  let now = 0;
  const watch = new StalledWorkers(stallMs, () => now);
  return looks.map((at) => {
    now = at;
    watch.look(["wrk_1"]);
    return watch.isStalled("wrk_1", 7);
  });
}

describe("a worker whose beat stands still", () => {
  it("is stalled after the time that the observer has measured", () => {
    expect(stalledAt(1000, [0, 250, 500, 750, 999, 1000])).toEqual([false, false, false, false, false, true]);
  });

  it("is not stalled if the observer did not look for four intervals meanwhile, and is counted again from zero", () => {
    expect(stalledAt(2000, [0, 999, 1999, 2998, 3998])).toEqual([false, false, false, false, false]);
    expect(stalledAt(2000, [0, 1000, 1999, 2999, 3000])).toEqual([false, false, false, false, false]);
  });

  it("is stalled although a busy machine delays each look of the observer by less than that", () => {
    expect(stalledAt(2000, [0, 999, 1998, 2997])).toEqual([false, false, false, true]);
  });
});
