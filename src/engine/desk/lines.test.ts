import { describe, expect, it } from "vitest";
import { Lines } from "./lines.ts";

describe("a line", () => {
  it("lets those who stand in it go one after the other, in the order in which they came", () => {
    const lines = new Lines();
    const called: string[] = [];
    const turns = ["first", "second", "third"].map((name) => lines.join("p", () => called.push(name)));
    expect(turns.map(({ isNow }) => isNow)).toEqual([true, false, false]);
    turns[0]?.leave();
    expect(called).toEqual(["second"]);
    expect(turns.map(({ isNow }) => isNow)).toEqual([false, true, false]);
  });

  it("closes up behind who leaves before it is its turn", () => {
    const lines = new Lines();
    const called: string[] = [];
    const [first, second, third] = ["a", "b", "c"].map((name) => lines.join("p", () => called.push(name)));
    second?.leave();
    expect(called).toEqual([]);
    first?.leave();
    expect(called).toEqual(["c"]);
    expect(third?.isNow).toBe(true);
  });

  it("is one of many, and is forgotten when nobody stands in it", () => {
    const lines = new Lines();
    const here = lines.join("p", () => {});
    const there = lines.join("q", () => {});
    expect([here.isNow, there.isNow, lines.size]).toEqual([true, true, 2]);
    here.leave();
    here.leave();
    there.leave();
    expect(lines.size).toBe(0);
  });
});
