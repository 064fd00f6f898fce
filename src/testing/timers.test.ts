import { describe, expect, it } from "vitest";
import { fakeClock } from "./clock.ts";
import { manualTimers } from "./timers.ts";

describe("manual timers", () => {
  it("ring in their order, each at its own moment, and not before", async () => {
    const clock = fakeClock(1000);
    const timers = manualTimers(clock);
    const rung: string[] = [];
    timers.after(20, () => rung.push(`late at ${clock.now()}`));
    timers.after(10, () => rung.push(`early at ${clock.now()}`));
    timers.after(10, () => rung.push(`after it at ${clock.now()}`));
    await timers.pass(19);
    expect(rung).toEqual(["early at 1010", "after it at 1010"]);
    await timers.pass(1);
    expect(rung.at(-1)).toBe("late at 1020");
    expect(clock.now()).toBe(1020);
    expect(timers.armed).toBe(0);
  });

  it("do not ring once they are taken back", async () => {
    const timers = manualTimers(fakeClock());
    let rung = false;
    timers.after(5, () => {
      rung = true;
    })();
    await timers.pass(10);
    expect(rung).toBe(false);
  });

  it("let what a timer set off arm the next one on the way", async () => {
    const clock = fakeClock(0);
    const timers = manualTimers(clock);
    const rung: number[] = [];
    const again = async () => {
      rung.push(clock.now());
      await new Promise((resolve) => setImmediate(resolve));
      timers.after(10, () => void again());
    };
    timers.after(10, () => void again());
    await timers.pass(35);
    expect(rung).toEqual([10, 20, 30]);
  });
});
