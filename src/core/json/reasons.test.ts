import { describe, expect, it } from "vitest";
import { Reasons, reasonsMax } from "./reasons.ts";

describe("reasons", () => {
  it("are listed in the order they were found", () => {
    const reasons = new Reasons();
    expect(reasons.none).toBe(true);
    reasons.add("/b", "one");
    reasons.add("/a", "two");
    expect(reasons.none).toBe(false);
    expect(reasons.list).toEqual([
      { path: "/b", message: "one" },
      { path: "/a", message: "two" },
    ]);
  });

  it("are only counted beyond the limit, and their messages not even asked for", () => {
    let asked = 0;
    const ask = () => {
      asked += 1;
      return "no";
    };
    const reasons = new Reasons();
    for (let index = 0; index < reasonsMax + 7; index += 1) reasons.add(`/${index}`, ask);
    expect(asked).toBe(reasonsMax);
    expect(reasons.list).toHaveLength(reasonsMax + 1);
    expect(reasons.list.at(-1)).toEqual({ path: "", message: "and 7 more; fix these first" });
  });

  it("can be stored whatever they quote", () => {
    const reasons = new Reasons();
    reasons.add(`/${"x".repeat(10_000)}`, "bad \ud800");
    expect(reasons.list[0]?.path.length).toBeLessThan(600);
    expect(reasons.list[0]?.message).toBe("bad \ufffd");
  });
});
