import { describe, expect, it } from "vitest";
import type { BudgetView } from "../../../src/engine/api/engine-api.ts";
import { burnDown } from "./burn-down.ts";

const size = { width: 100, height: 50 };
const window = { name: "w", from: 0, until: 100 } as NonNullable<BudgetView["window"]>;

describe("a burn-down chart", () => {
  it("goes from the whole limit to what is left now, and on at the pace of now", () => {
    expect(burnDown({ limit: 100, used: 30, forecast: 60, window }, 50, size)).toEqual({
      past: "0,0 50,15",
      future: "50,15 100,30",
      now: { x: 50, y: 15 },
    });
  });

  it("ends where the limit is used up", () => {
    expect(burnDown({ limit: 100, used: 60, forecast: 140, window }, 50, size)?.future).toBe("50,30 75,50");
    expect(burnDown({ limit: 100, used: 120, forecast: 240, window }, 50, size)?.future).toBe("50,50 50,50");
  });

  it("does not exist without a window", () => {
    expect(burnDown({ limit: 100, used: 1, forecast: null, window: null }, 50, size)).toBeNull();
  });
});
