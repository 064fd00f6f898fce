import { describe, expect, it } from "vitest";
import { nearest } from "./nearest.ts";

describe("the nearest name", () => {
  const names = ["payload", "policy_tags", "depends_on", "gate"];

  it.each([
    ["paylod", "payload"],
    ["Payload", "payload"],
    ["policy_tag", "policy_tags"],
    ["dependson", "depends_on"],
    ["gates", "gate"],
  ])("to %s is %s", (word, name) => {
    expect(nearest(word, names)).toBe(name);
  });

  it.each(["zebra", "", "g", "x".repeat(100)])("to %j is none", (word) => {
    expect(nearest(word, names)).toBeNull();
  });

  it("is the closer of two", () => {
    expect(nearest("mail.sent", ["mail.seed", "mail.send"])).toBe("mail.send");
  });

  it("is not a short name that has no letter in common", () => {
    expect(nearest("xy", ["ab", "q"])).toBeNull();
  });
});
