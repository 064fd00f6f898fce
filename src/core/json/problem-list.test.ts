import { describe, expect, it } from "vitest";
import { ProblemList, REASONS_MAX } from "./problem-list.ts";

describe("reasons", () => {
  it("are listed in the order they were found", () => {
    const reasons = new ProblemList();
    expect(reasons.isEmpty).toBe(true);
    reasons.add("/b", "one");
    reasons.add("/a", "two");
    expect(reasons.isEmpty).toBe(false);
    expect(reasons.list).toEqual([
      { path: "/b", message: "one" },
      { path: "/a", message: "two" },
    ]);
  });

  it("are only counted beyond the limit, and their messages are not computed", () => {
    let computed = 0;
    const computeMessage = () => {
      computed += 1;
      return "no";
    };
    const reasons = new ProblemList();
    for (let index = 0; index < REASONS_MAX + 7; index += 1) reasons.add(`/${index}`, computeMessage);
    expect(computed).toBe(REASONS_MAX);
    expect(reasons.list).toHaveLength(REASONS_MAX + 1);
    expect(reasons.list.at(-1)).toEqual({ path: "", message: "and 7 more; fix these first" });
  });

  it("can be stored even if they quote lone surrogates or long texts", () => {
    const reasons = new ProblemList();
    reasons.add(`/${"x".repeat(10_000)}`, "bad \ud800");
    expect(reasons.list[0]?.path.length).toBeLessThan(600);
    expect(reasons.list[0]?.message).toBe("bad \ufffd");
  });
});
