import { describe, expect, it } from "vitest";
import { fakeClock } from "./fake-clock.ts";
import { manualTimers } from "./manual-timers.ts";

describe("manual timers", () => {
  it("fire in order, each at its due time", async () => {
    const clock = fakeClock(1000);
    const timers = manualTimers(clock);
    const fired: string[] = [];
    timers.after(20, () => fired.push(`late at ${clock.now()}`));
    timers.after(10, () => fired.push(`early at ${clock.now()}`));
    timers.after(10, () => fired.push(`after it at ${clock.now()}`));
    await timers.pass(19);
    expect(fired).toEqual(["early at 1010", "after it at 1010"]);
    await timers.pass(1);
    expect(fired.at(-1)).toBe("late at 1020");
    expect(clock.now()).toBe(1020);
    expect(timers.armed).toBe(0);
  });

  it("do not fire after they are cancelled", async () => {
    const timers = manualTimers(fakeClock());
    let fired = false;
    timers.after(5, () => {
      fired = true;
    })();
    await timers.pass(10);
    expect(fired).toBe(false);
  });

  it("fire a timer that async work of an earlier timer sets during the same pass", async () => {
    const clock = fakeClock(0);
    const timers = manualTimers(clock);
    const fired: number[] = [];
    const rearm = async () => {
      fired.push(clock.now());
      await new Promise((resolve) => setImmediate(resolve));
      timers.after(10, () => void rearm());
    };
    timers.after(10, () => void rearm());
    await timers.pass(35);
    expect(fired).toEqual([10, 20, 30]);
  });
});
