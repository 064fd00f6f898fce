import { describe, expect, it } from "vitest";
import { judged, kind, part, shown, why } from "../../testing/given/rules.ts";
import { RuleBook } from "../rule-book.ts";

describe("a window", () => {
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
    expect(kind([hours], at(text))).toBe(answer);
  });

  it("that ends before it begins ends on the day after", () => {
    const night = { ...hours, days: ["mon"], from: "22:00", to: "06:00", zone: "UTC" };
    expect(kind([night], at("2026-11-16T21:59:00Z"))).toBe("refuse");
    expect(kind([night], at("2026-11-16T22:00:00Z"))).toBe("allow");
    expect(kind([night], at("2026-11-17T05:59:00Z"))).toBe("allow");
    expect(kind([night], at("2026-11-17T06:00:00Z"))).toBe("refuse");
    expect(kind([night], at("2026-11-17T22:30:00Z"))).toBe("refuse");
    expect(kind([night], at("2026-11-16T03:00:00Z"))).toBe("refuse");
  });

  it("of whole days, in UTC and on every day unless said otherwise", () => {
    const daily = { id: "w", kind: "window", from: "00:00", to: "24:00" };
    expect(kind([daily], at("2026-11-18T23:59:59Z"))).toBe("allow");
    expect(kind([{ ...daily, days: ["thu"] }], at("2026-11-18T23:59:59Z"))).toBe("refuse");
  });

  it("says when it is open, and may leave the rest to a person", () => {
    expect(why(judged([hours], at("2026-11-17T10:00:00Z")))).toBe(
      "policy global/house/w: mail.send is only called mon, fri from 09:00 to 17:30 (Europe/Berlin)",
    );
    const asks = { ...hours, outside: "hold", role: "cfo", reason: "after hours" };
    expect(judged([asks], at("2026-11-17T10:00:00Z"))).toMatchObject({
      kind: "hold",
      reason: "after hours",
      demand: { role: "cfo" },
    });
    expect(kind([asks], at("2026-11-16T10:00:00Z"))).toBe("allow");
  });

  it("goes by the moment alone: clocks that are put back close it again, and open nothing", () => {
    const book = new RuleBook("v", [part([hours])]);
    const verdicts = ["2026-11-16T08:00:00Z", "2026-11-16T07:00:00Z", "2026-11-16T08:00:00Z"].map(
      (text) => book.judge(shown(at(text))).kind,
    );
    expect(verdicts).toEqual(["allow", "refuse", "allow"]);
  });
});
