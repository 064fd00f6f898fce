import { unreachable } from "../core/assert.ts";
import type { StepResult } from "../core/result.ts";
import type { LedgerState } from "../core/rows.ts";
import type { Failpoint } from "../engine/failpoint.ts";

/** Where the process of an act is killed, along the road, and what is true at that moment. First of all, nowhere. */
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
 * What the record says of an act at rest. Happened: it did, but its answer fits no schema. Running: it had not come to
 * rest when nobody waited any longer.
 */
export type Recorded = "succeeded" | "happened" | "in_doubt" | "running" | "failed" | "not_started";

export function recordedOf(state: StepResult["state"], ledger: LedgerState | null): Recorded {
  if (state === "succeeded" || state === "in_doubt" || state === "running") return state;
  if (ledger === "committed") return "happened";
  if (ledger === "started") return "running";
  return state === "failed_final" || state === "failed_retryable" ? "failed" : "not_started";
}

export type CrashVerdict = "ok" | "DUPLICATE" | "LIE";

/** Compares what the record says with what the world counted. A doubt says nothing, so nothing contradicts it but two. */
export function crashVerdict(effects: number, recorded: Recorded): CrashVerdict {
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
