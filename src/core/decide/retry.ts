import { type Fault, faults, isForgiven } from "../fault.ts";
import type { Instant } from "../id.ts";
import type { ToolFacts } from "../proposal.ts";
import type { Run } from "../run.ts";
import { isUndo, type Step } from "../step.ts";

export interface Try {
  readonly attempt: number;
  readonly now: Instant;
  /** In [0, 1). */
  readonly dice: number;
}

/**
 * When to try again after this fault: exponential, full jitter, within the run's deadline; null for never. What a run
 * has done is undone however it ended and whatever time it was given.
 */
export function retryAt(
  run: Run,
  step: Step,
  tool: ToolFacts,
  fault: Fault,
  { attempt, now, dice }: Try,
): Instant | null {
  const { tries, baseMs, capMs } = patience(step, tool, fault);
  const made = isForgiven(fault) ? attempt : attempt - step.forgiven;
  const undo = isUndo(step);
  if (made >= tries || (!undo && (run.cancel !== null || run.stopped !== null))) return null;
  const ceiling = Math.min(capMs, baseMs * 2 ** (made - 1));
  const at = (now + Math.floor(dice * ceiling)) as Instant;
  return run.deadline_at !== null && at >= run.deadline_at && !undo ? null : at;
}

interface Patience {
  readonly tries: number;
  readonly baseMs: number;
  readonly capMs: number;
}

/** The fault says whether trying again makes sense at all; the plan, then the tool, then the fault say how often. */
function patience({ spec }: Step, tool: ToolFacts, fault: Fault): Patience {
  const row: { readonly tries: number; readonly baseMs?: number; readonly capMs?: number } = faults[fault.code];
  const { baseMs = 1000, capMs = 60_000 } = row;
  const asked = spec.on_failure === "retry" && fault.code === "TOOL_FAILED";
  if ((row.tries === 1 && !asked) || isNoFailure(fault)) return { tries: row.tries, baseMs, capMs };
  const usual = asked ? ASKED_TRIES : row.tries;
  return { tries: spec.retries === null ? (tool.tries ?? usual) : spec.retries + 1, baseMs, capMs };
}

const ASKED_TRIES = 4;

/** It failed at nothing, or a person has to be asked again: how often a tool that fails is tried has nothing to do with it. */
function isNoFailure(fault: Fault): boolean {
  return isForgiven(fault) || fault.code === "PREVIEW_STALE";
}
