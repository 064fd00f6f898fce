import { describe, expect, it } from "vitest";
import { nearestName } from "./nearest-name.ts";

describe("the nearest name", () => {
  const names = ["payload", "policy_tags", "depends_on", "gate", "step_id", "on_failure", "on_rejected"];

  it.each([
    ["paylod", "payload"],
    ["Payload", "payload"],
    ["policy_tag", "policy_tags"],
    ["dependson", "depends_on"],
    ["gates", "gate"],
    ["id", "step_id"],
    ["tags", "policy_tags"],
  ])("to %s is %s", (word, name) => {
    expect(nearestName(word, names)).toBe(name);
  });

  it.each(["zebra", "", "g", "on", "x".repeat(100)])("to %j does not exist", (word) => {
    expect(nearestName(word, names)).toBeNull();
  });

  it("is the closer of two", () => {
    expect(nearestName("mail.sent", ["mail.seed", "mail.send"])).toBe("mail.send");
  });

  it("is not a short name that has no letter in common", () => {
    expect(nearestName("xy", ["ab", "q"])).toBeNull();
  });
});
