import type { StepResult } from "../../core/run/step-result.ts";
import type { LedgerState } from "../../core/store/tables.ts";
import { unreachable } from "../../core/values/assert.ts";
import type { Failpoint } from "../../engine/ports/failpoint.ts";

/** The points of a call at which the process is killed, in their order, and the state at each. `none`: not killed. */
export const crashWindows = {
  none: "not killed",
  "start.before": "nothing recorded but the request",
  "start.after": "start recorded, tool not called",
  "mark.after": "call marked as sent, tool not called",
  "tool.after": "tool has answered, answer not recorded",
  "end.after": "answer recorded",
} as const satisfies Partial<Record<Failpoint | "none", string>>;

export type CrashWindow = keyof typeof crashWindows;

/**
 * The recorded outcome of an act. `happened`: the act happened, but its output does not match the schema.
 * `running`: the act had not ended at the time limit.
 */
export type RecordedOutcome = "succeeded" | "happened" | "in_doubt" | "running" | "failed" | "not_started";

export function recordedOutcome(state: StepResult["state"], ledger: LedgerState | null): RecordedOutcome {
  if (state === "succeeded" || state === "in_doubt" || state === "running") return state;
  if (ledger === "committed") return "happened";
  if (ledger === "started") return "running";
  return state === "failed_final" || state === "failed_retryable" ? "failed" : "not_started";
}

export type CrashVerdict = "ok" | "DUPLICATE" | "LIE";

/**
 * Compares the record with the number of effects in the outside world. An act in doubt claims nothing, so only a
 * second effect contradicts it.
 */
export function crashVerdict(effects: number, recorded: RecordedOutcome): CrashVerdict {
  if (effects > 1) return "DUPLICATE";
  switch (recorded) {
    case "in_doubt":
    case "running":
      return "ok";
    case "succeeded":
    case "happened":
      return effects === 1 ? "ok" : "LIE";
    case "failed":
    case "not_started":
      return effects === 0 ? "ok" : "LIE";
    default:
      return unreachable(recorded);
  }
}
