import { describe, expect, it } from "vitest";
import { type FaultCode, faults } from "../core/fault.ts";
import { exitCodes, exitOfFault, exitOfStatus } from "./exit-code.ts";

describe("the exit code", () => {
  it.each([
    ["completed", 0],
    ["partial", 3],
    ["failed", 4],
    ["cancelled", 4],
  ] as const)("of a run that is %s is %i", (status, code) => {
    expect(exitOfStatus(status)).toBe(code);
  });

  it.each([
    ["PLAN_INVALID", 2],
    ["CONFIG_INVALID", 2],
    ["GATE_DECIDED", 2],
    ["TOOL_MISSING", 3],
    ["GATE_REJECTED", 4],
    ["RUN_NOT_FOUND", 5],
    ["GATE_NOT_FOUND", 5],
    ["STEP_NOT_FOUND", 5],
    ["STORE_BUSY", 6],
    ["CHAIN_BROKEN", 6],
  ] as const)("of %s is %i", (fault, code) => {
    expect(exitOfFault(fault)).toBe(code);
  });

  it("of every fault is documented, and no fault is success or a bug", () => {
    for (const fault of Object.keys(faults) as FaultCode[]) {
      expect(exitCodes).toHaveProperty(String(exitOfFault(fault)));
      expect(exitOfFault(fault)).toBeGreaterThan(1);
    }
  });
});
