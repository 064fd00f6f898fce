import type { ToolFacts } from "../call/proposal.ts";
import type { Run } from "../run/run.ts";
import { startsNoMore } from "../run/starts-no-more.ts";
import { isReversal, type Step } from "../run/step.ts";
import { toolDefaults } from "../tool/tool-defaults.ts";
import { type Fault, faults, isFreeRetry } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";

export interface FailedAttempt {
  readonly attempt: number;
  readonly now: Instant;
  /** A random number in [0, 1). */
  readonly dice: number;
}

/**
 * Returns the time of the next attempt after this fault, with exponential backoff and full jitter, or null for no
 * attempt. Cancellation, the end of the plan and the deadline stop retries, except those of an undo.
 */
export function retryAt(
  run: Run,
  step: Step,
  tool: RetryTerms,
  fault: Fault,
  { attempt, now, dice }: FailedAttempt,
): Instant | null {
  const { tries, baseMs, capMs } = retryLimits(step, tool, fault);
  const counted = isFreeRetry(fault) ? attempt : attempt - step.forgiven;
  const undo = isReversal(step);
  if (counted >= tries || (!undo && (startsNoMore(run, step) || run.stopped !== null))) return null;
  const ceiling = Math.min(capMs, baseMs * 2 ** (counted - 1));
  const at = (now + Math.floor(dice * ceiling)) as Instant;
  return run.deadline_at !== null && at >= run.deadline_at && !undo ? null : at;
}

/** The terms of a tool that decide about retries. */
type RetryTerms = Pick<ToolFacts, "tries" | "retry" | "asks">;

interface RetryLimits {
  readonly tries: number;
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * The fault decides whether a retry makes sense; plan or tool can ask for retries after any error. The plan, then the
 * tool, then the fault decide how many attempts. A model call that timed out is not repeated, because it is paid for.
 */
function retryLimits({ spec }: Step, tool: RetryTerms, fault: Fault): RetryLimits {
  const row: { readonly tries: number; readonly baseMs?: number; readonly capMs?: number } = faults[fault.code];
  const { baseMs = 1000, capMs = 60_000 } = row;
  const requested = fault.code === "TOOL_FAILED" && (spec.on_failure === "retry" || tool.retry === "any");
  if (fault.code === "TOOL_TIMEOUT" && tool.asks === "model") return { tries: 1, baseMs, capMs };
  if ((row.tries === 1 && !requested) || isFreeOrStale(fault)) return { tries: row.tries, baseMs, capMs };
  const usual = requested ? toolDefaults.triesOfAnyError : row.tries;
  return { tries: spec.retries === null ? (tool.tries ?? usual) : spec.retries + 1, baseMs, capMs };
}

/** True if the tool did not fail, or if a new approval is needed. The retry settings then do not apply. */
function isFreeOrStale(fault: Fault): boolean {
  return isFreeRetry(fault) || fault.code === "PREVIEW_STALE";
}
