import { describe, expect, it } from "vitest";
import { type FaultCode, faults } from "../core/values/fault.ts";
import { exitCodeOfFault, exitCodeOfStatus, exitCodes } from "./exit-code.ts";

const faultExitCodes: Readonly<Record<FaultCode, number>> = {
  RATE_LIMIT: 4,
  NETWORK_TIMEOUT: 4,
  TEMPORARY_PROVIDER_ERROR: 4,
  TRANSIENT_DB_LOCK: 4,
  CALL_NOT_MADE: 4,
  DEPENDENCY_UNAVAILABLE: 4,
  PLAN_INVALID: 2,
  INVALID_INPUT: 2,
  SCHEMA_VALIDATION_FAILED: 4,
  SCHEMA_UNUSABLE: 2,
  MISSING_REQUIRED_CONTEXT: 2,
  TOOL_INVALID: 2,
  POLICY_INVALID: 2,
  CONFIG_INVALID: 2,
  REQUEST_KEY_REUSED: 2,
  CALL_REUSED: 2,
  CALL_HELD: 3,
  ANSWER_INCOMPLETE: 4,
  SESSION_DIFFERS: 2,
  SESSION_BUSY: 2,
  RUN_CLOSED: 2,
  LIMIT_EXCEEDED: 2,
  PROJECT_LOCKED: 4,
  PROJECT_ARCHIVED: 4,
  TOOL_UNKNOWN: 4,
  PRECONDITION_FAILED: 4,
  POLICY_DENIED: 4,
  AUTH_REQUIRED: 4,
  SERVER_BUSY: 4,
  SERVER_UNREACHABLE: 4,
  ROUTE_NOT_FOUND: 5,
  AUTH_FORBIDDEN: 4,
  MODE_FORBIDS: 4,
  DEADLINE_EXCEEDED: 4,
  BUDGET_EXCEEDED: 4,
  RATE_EXCEEDED: 4,
  GATE_REJECTED: 4,
  GATE_EXPIRED: 4,
  PREVIEW_STALE: 4,
  DUPLICATE_EFFECT: 4,
  DUPLICATE_IN_DOUBT: 4,
  EFFECT_CLOSED: 4,
  CONFIRMATION_FAILED: 4,
  ASSERTION_FAILED: 4,
  STATE_INVALID: 4,
  STATE_FORBIDDEN: 4,
  REDUCER_FAILED: 4,
  STATE_CONFLICT: 4,
  VISIBILITY_WANTED: 3,
  STATE_AFTER_ACT: 4,
  SLICE_CHANGED: 4,
  TOOL_FAILED: 4,
  TOOL_TIMEOUT: 4,
  CANCELLED: 4,
  OUTCOME_UNKNOWN: 4,
  REPLAN_REFUSED: 4,
  CHILD_FAILED: 4,
  ABORTED: 4,
  DEPENDENCY_FAILED: 4,
  HELD_FOR_APPROVAL: 3,
  TOOL_MISSING: 3,
  TOOL_AWAY: 3,
  TOOL_CHANGED: 3,
  PATH_FORBIDDEN: 4,
  FILE_NOT_FOUND: 4,
  FILE_UNFIT: 4,
  FILE_DENIED: 4,
  FILE_FAILED: 4,
  RESOURCE_BUSY: 4,
  RESOURCE_UNFIT: 4,
  RESOURCE_RESTLESS: 4,
  RESOURCE_FULL: 6,
  RESOURCE_ELSEWHERE: 3,
  RESOURCE_REPLACED: 4,
  CAPTURE_NOT_FOUND: 5,
  RESTORE_BLOCKED: 4,
  RESTORE_FAILED: 6,
  RUN_NOT_FOUND: 5,
  GATE_NOT_FOUND: 5,
  OUTCOME_NOT_FOUND: 5,
  ACT_NOT_FOUND: 5,
  SCHEDULE_NOT_FOUND: 5,
  STEP_NOT_FOUND: 5,
  CHECKPOINT_NOT_FOUND: 5,
  GATE_DECIDED: 2,
  GATE_MISMATCH: 2,
  NOT_POSSIBLE: 2,
  STORE_BUSY: 6,
  STORE_ELSEWHERE: 6,
  STORE_FULL: 6,
  STORE_READ_ONLY: 6,
  STORE_UNUSABLE: 6,
  STORE_OLDER: 6,
  STORE_NEWER: 6,
  STORE_FAILED: 6,
  STORE_UNKNOWN: 6,
  CHAIN_BROKEN: 6,
  ENGINE_CLOSED: 6,
};

describe("exit code", () => {
  it.each([
    ["completed", 0],
    ["partial", 3],
    ["failed", 4],
    ["cancelled", 4],
  ] as const)("of a run with status %s is %i", (status, code) => {
    expect(exitCodeOfStatus(status)).toBe(code);
  });

  it("of every fault is the one that scripts rely on", () => {
    const codes = (Object.keys(faults) as FaultCode[]).map((code) => [code, exitCodeOfFault(code)]);
    expect(Object.fromEntries(codes)).toEqual(faultExitCodes);
  });

  it("of every fault is documented and is neither 0 nor 1", () => {
    for (const fault of Object.keys(faults) as FaultCode[]) {
      expect(exitCodes).toHaveProperty(String(exitCodeOfFault(fault)));
      expect(exitCodeOfFault(fault)).toBeGreaterThan(1);
    }
  });
});
