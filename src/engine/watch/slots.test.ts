import { describe, expect, it } from "vitest";
import { Slots } from "./slots.ts";

describe("a slot", () => {
  it("is given to the next one who waits when the first has gone", () => {
    const slots = new Slots(1);
    let served = false;
    slots.take(() => {});
    expect(slots.take(() => {})).toBe(false); // Gone by the time it is called, so it takes nothing.
    slots.take(() => {
      served = slots.take(() => {});
    });
    slots.give();
    expect(served).toBe(true);
  });

  it("is given once", () => {
    const slots = new Slots(1);
    const served: string[] = [];
    const ask = (name: string) => () => {
      if (slots.take(ask(name))) served.push(name);
    };
    ask("first")();
    ask("second")();
    ask("third")();
    slots.give();
    expect(served).toEqual(["first", "second"]);
    slots.give();
    expect(served).toEqual(["first", "second", "third"]);
  });
});
