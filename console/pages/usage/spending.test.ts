import { describe, expect, it } from "vitest";
import { amountsByDay, amountsByPrincipal, axisTop, daysUntil } from "./spending.ts";

const rows = [
  { day: "2026-11-17", by: "ana", usd_micros: 5 },
  { day: "2026-11-18", by: "ana", usd_micros: 1 },
  { day: "2026-11-18", by: "bo", usd_micros: 9, credits: 2 },
];

describe("spending", () => {
  it("has every day of a range that ends today, also those without spending", () => {
    const days = daysUntil(Date.parse("2026-11-18T23:59:59Z"), 3);
    expect(days).toEqual(["2026-11-16", "2026-11-17", "2026-11-18"]);
    expect(amountsByDay(rows, days, "usd_micros").map(({ amount }) => amount)).toEqual([0, 5, 10]);
  });

  it("is listed by principal, the highest first, without those that spent nothing", () => {
    expect(amountsByPrincipal(rows, "usd_micros")).toEqual([
      { name: "bo", amount: 9 },
      { name: "ana", amount: 6 },
    ]);
    expect(amountsByPrincipal(rows, "credits")).toEqual([{ name: "bo", amount: 2 }]);
  });

  it("has an axis that ends at a round number", () => {
    const top = (amount: number) => axisTop([{ name: "a", amount }]);
    expect([top(0), top(7), top(10), top(11), top(230), top(260)]).toEqual([1, 10, 10, 20, 250, 500]);
  });
});
