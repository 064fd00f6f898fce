import { describe, expect, it } from "vitest";
import { HandlerSlots } from "./handler-slots.ts";

describe("a handler slot", () => {
  it("is offered to the next caller if the first no longer needs it", () => {
    const slots = new HandlerSlots(1);
    let served = false;
    slots.take(() => {});
    expect(slots.take(() => {})).toBe(false); // No longer needs the slot when it is called.
    slots.take(() => {
      served = slots.take(() => {});
    });
    slots.release();
    expect(served).toBe(true);
  });

  it("is given to one caller only", () => {
    const slots = new HandlerSlots(1);
    const served: string[] = [];
    const ask = (name: string) => () => {
      if (slots.take(ask(name))) served.push(name);
    };
    ask("first")();
    ask("second")();
    ask("third")();
    slots.release();
    expect(served).toEqual(["first", "second"]);
    slots.release();
    expect(served).toEqual(["first", "second", "third"]);
  });
});
