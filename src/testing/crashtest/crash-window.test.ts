import { describe, expect, it } from "vitest";
import { crashVerdict, recordedOutcome } from "./crash-window.ts";

describe("recordedOutcome", () => {
  it.each([
    ["succeeded", "committed", "succeeded"],
    ["in_doubt", "in_doubt", "in_doubt"],
    ["running", "started", "running"],
    ["failed_final", "committed", "happened"],
    ["failed_final", "not_done", "failed"],
    ["failed_retryable", "not_done", "failed"],
    ["ready", "started", "running"],
    ["rejected", null, "not_started"],
    ["waiting_approval", null, "not_started"],
    ["pending", null, "not_started"],
  ] as const)("is, for a step in state %s with ledger row %s: %s", (state, ledger, recorded) => {
    expect(recordedOutcome(state, ledger)).toBe(recorded);
  });
});

describe("crashVerdict", () => {
  it.each([
    [1, "succeeded", "ok"],
    [1, "happened", "ok"],
    [0, "failed", "ok"],
    [0, "not_started", "ok"],
    [0, "in_doubt", "ok"],
    [1, "in_doubt", "ok"],
    [1, "running", "ok"],
    [0, "succeeded", "LIE"],
    [0, "happened", "LIE"],
    [1, "failed", "LIE"],
    [1, "not_started", "LIE"],
    [2, "succeeded", "DUPLICATE"],
    [2, "in_doubt", "DUPLICATE"],
    [3, "failed", "DUPLICATE"],
  ] as const)("is, for %i effects and record %s: %s", (effects, recorded, verdict) => {
    expect(crashVerdict(effects, recorded)).toBe(verdict);
  });
});
