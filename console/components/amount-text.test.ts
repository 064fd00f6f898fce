import { describe, expect, it } from "vitest";
import { amountText, countText, usdText } from "./amount-text.ts";

describe("amounts", () => {
  it.each([
    ["usd_micros", 1_250_000, "$1.25"],
    ["usd_micros", 1234, "$0.00123"],
    ["usd_micros", 178, "$0.000178"],
    ["usd_micros", 600_000, "$0.60"],
    ["usd_micros", 31_200, "$0.0312"],
    ["usd_micros", 0, "$0.00"],
    ["tokens_in", 12_340, "12.3K tokens in"],
    ["calls", 7, "7 calls"],
    ["ms", 90_000, "1 min 30 s"],
  ])("%s %d is %s", (unit, amount, text) => expect(amountText(unit, amount)).toBe(text));

  it("are short when they are large, and exact when they are small", () => {
    expect([countText(9999), countText(1_200_000), usdText(2_000_000_000)]).toEqual(["9,999", "1.2M", "$2,000.00"]);
  });
});
