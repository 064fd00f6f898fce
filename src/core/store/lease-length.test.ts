import { describe, expect, it } from "vitest";
import { FaultError } from "../values/fault.ts";
import { leaseLength } from "./lease-length.ts";

describe("the length of a lease", () => {
  it("is fifteen seconds, unless the store was given another length", () => {
    expect(leaseLength(undefined)).toBe(15_000);
    expect(leaseLength(1000)).toBe(1000);
    expect(leaseLength(3_600_000)).toBe(3_600_000);
  });

  it.each([999, 3_600_001, 0, -1, 1500.5, Number.NaN, Number.POSITIVE_INFINITY, "2000" as unknown as number])(
    "is not %s",
    (given) => {
      expect(() => leaseLength(given)).toThrow(FaultError);
      expect(() => leaseLength(given)).toThrow(
        "CONFIG_INVALID: the store was not opened: leaseMs must be a whole number of milliseconds, 1000 to 3600000",
      );
    },
  );
});
