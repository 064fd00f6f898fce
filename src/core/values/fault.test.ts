import { describe, expect, it } from "vitest";
import { type FaultCode, FaultError, fault, faults, NotDoneError, notDone } from "./fault.ts";

describe("a fault", () => {
  it("is data: a code, a message, and detail only where there is some", () => {
    expect(fault("RATE_LIMIT", "slow down")).toEqual({ code: "RATE_LIMIT", message: "slow down" });
    expect(Object.keys(fault("RATE_LIMIT", "slow down"))).not.toContain("detail");
    expect(fault("RATE_LIMIT", "slow down", { after: 5 }).detail).toEqual({ after: 5 });
    expect(fault("RATE_LIMIT", "slow down", null).detail).toBeNull();
  });

  it("is thrown as an error whose message begins with the code and which keeps the cause", () => {
    const cause = new Error("socket closed");
    const error = new FaultError(fault("NETWORK_TIMEOUT", "no answer"), { cause });
    expect(error).toMatchObject({ name: "FaultError", message: "NETWORK_TIMEOUT: no answer", cause });
    expect(error).toBeInstanceOf(Error);
  });

  it("can carry the tool's assurance that nothing happened, made from a code or from a fault", () => {
    expect(notDone("RATE_LIMIT")).toMatchObject({
      done: false,
      fault: { code: "RATE_LIMIT", message: "the tool says that nothing happened" },
    });
    expect(notDone("RATE_LIMIT", "queue is full").fault.message).toBe("queue is full");
    const given = fault("INVALID_INPUT", "no such address", { field: "to" });
    expect(notDone(given).fault).toBe(given);
    expect(notDone(given)).toBeInstanceOf(NotDoneError);
    expect(notDone(given)).toBeInstanceOf(FaultError);
  });
});

describe("the table of faults", () => {
  const codes = Object.keys(faults) as readonly FaultCode[];

  it("allows retries after these faults and no others", () => {
    const again = codes.filter((code) => faults[code].tries > 1);
    expect(again).toEqual([
      "RATE_LIMIT",
      "NETWORK_TIMEOUT",
      "TEMPORARY_PROVIDER_ERROR",
      "TRANSIENT_DB_LOCK",
      "CALL_NOT_MADE",
      "DEPENDENCY_UNAVAILABLE",
      "PREVIEW_STALE",
      "STATE_CONFLICT",
      "TOOL_TIMEOUT",
      "RESOURCE_BUSY",
    ]);
  });

  it("allows five tries for a rate limit, after 2^n seconds and two minutes at most, and three for the network", () => {
    expect(faults.RATE_LIMIT).toMatchObject({ tries: 5, baseMs: 2000, capMs: 120_000 });
    expect(faults.NETWORK_TIMEOUT.tries).toBe(3);
    expect(faults.TEMPORARY_PROVIDER_ERROR.tries).toBe(3);
  });

  it.each(codes)("has a description for %s", (code) => {
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    expect(faults[code].about).not.toBe("");
  });
});
