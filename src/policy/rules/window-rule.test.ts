import { describe, expect, it } from "vitest";
import { callAdmission, policyWith, refusalMessage, verdictKind, verdictOn } from "../../testing/given/policy-rules.ts";
import { CompiledPolicy } from "../compiled-policy.ts";

describe("a window rule", () => {
  const hours = { id: "w", kind: "window", days: ["mon", "fri"], from: "09:00", to: "17:30", zone: "Europe/Berlin" };
  const at = (text: string) => ({ now: Date.parse(text) });

  it.each([
    ["2026-11-16T07:59:59Z", "refuse"], // Monday, 8:59 in Berlin
    ["2026-11-16T08:00:00Z", "allow"],
    ["2026-11-16T16:29:59Z", "allow"],
    ["2026-11-16T16:30:00Z", "refuse"],
    ["2026-11-17T10:00:00Z", "refuse"], // Tuesday
    ["2026-11-20T10:00:00Z", "allow"], // Friday
    ["2026-07-06T07:00:00Z", "allow"], // A Monday in summer, 9:00 in Berlin
    ["2026-07-06T06:59:00Z", "refuse"],
  ] as const)("%s: %s", (text, answer) => {
    expect(verdictKind([hours], at(text))).toBe(answer);
  });

  it("with an end before its start ends on the next day", () => {
    const night = { ...hours, days: ["mon"], from: "22:00", to: "06:00", zone: "UTC" };
    expect(verdictKind([night], at("2026-11-16T21:59:00Z"))).toBe("refuse");
    expect(verdictKind([night], at("2026-11-16T22:00:00Z"))).toBe("allow");
    expect(verdictKind([night], at("2026-11-17T05:59:00Z"))).toBe("allow");
    expect(verdictKind([night], at("2026-11-17T06:00:00Z"))).toBe("refuse");
    expect(verdictKind([night], at("2026-11-17T22:30:00Z"))).toBe("refuse");
    expect(verdictKind([night], at("2026-11-16T03:00:00Z"))).toBe("refuse");
  });

  it("applies in UTC and on every day by default", () => {
    const daily = { id: "w", kind: "window", from: "00:00", to: "24:00" };
    expect(verdictKind([daily], at("2026-11-18T23:59:59Z"))).toBe("allow");
    expect(verdictKind([{ ...daily, days: ["thu"] }], at("2026-11-18T23:59:59Z"))).toBe("refuse");
  });

  it("names its hours, and can hold calls outside them for a person", () => {
    expect(refusalMessage(verdictOn([hours], at("2026-11-17T10:00:00Z")))).toBe(
      "policy global/house/w: mail.send may only be called mon, fri from 09:00 to 17:30 (Europe/Berlin)",
    );
    const holds = { ...hours, outside: "hold", role: "cfo", reason: "after hours" };
    expect(verdictOn([holds], at("2026-11-17T10:00:00Z"))).toMatchObject({
      kind: "hold",
      reason: "after hours",
      demand: { role: "cfo" },
    });
    expect(verdictKind([holds], at("2026-11-16T10:00:00Z"))).toBe("allow");
  });

  it("uses only the time of the call: a clock that is set back closes it again", () => {
    const policy = new CompiledPolicy("v", [policyWith([hours])]);
    const verdicts = ["2026-11-16T08:00:00Z", "2026-11-16T07:00:00Z", "2026-11-16T08:00:00Z"].map(
      (text) => policy.judge(callAdmission(at(text))).kind,
    );
    expect(verdicts).toEqual(["allow", "refuse", "allow"]);
  });
});
