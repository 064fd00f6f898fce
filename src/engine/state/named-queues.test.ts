import { describe, expect, it } from "vitest";
import { NamedQueues } from "./named-queues.ts";

describe("a queue", () => {
  it("gives turns one after the other, in the order of joining", () => {
    const lines = new NamedQueues();
    const called: string[] = [];
    const turns = ["first", "second", "third"].map((name) => lines.join("p", () => called.push(name)));
    expect(turns.map(({ isFirst: isNow }) => isNow)).toEqual([true, false, false]);
    turns[0]?.leave();
    expect(called).toEqual(["second"]);
    expect(turns.map(({ isFirst: isNow }) => isNow)).toEqual([false, true, false]);
  });

  it("skips a member that left before its turn", () => {
    const lines = new NamedQueues();
    const called: string[] = [];
    const [first, second, third] = ["a", "b", "c"].map((name) => lines.join("p", () => called.push(name)));
    second?.leave();
    expect(called).toEqual([]);
    first?.leave();
    expect(called).toEqual(["c"]);
    expect(third?.isFirst).toBe(true);
  });

  it("is one of many, and is dropped when it is empty", () => {
    const lines = new NamedQueues();
    const here = lines.join("p", () => {});
    const there = lines.join("q", () => {});
    expect([here.isFirst, there.isFirst, lines.size]).toEqual([true, true, 2]);
    here.leave();
    here.leave();
    there.leave();
    expect(lines.size).toBe(0);
  });
});
