import type { Instant } from "../../core/id.ts";
import type { Run, Step } from "../../core/run.ts";
import { isUndo } from "../../core/step.ts";
import type { Tool } from "../../core/tool.ts";

/** How long a handler may take. */
export interface TimeLimit {
  readonly timeoutMs: number;
  /** Its time is the run's: when it is over, that is no fault of the tool. */
  readonly lastOfRun: boolean;
}

/** As long as its plan or its tool says, and no longer than its run. What was done is undone whatever time that takes. */
export function timeFor(run: Run, step: Step, tool: Tool, now: Instant): TimeLimit {
  const own = step.spec.timeout_ms ?? tool.timeoutMs;
  const left = run.deadline_at === null || isUndo(step) ? own : Math.max(1, run.deadline_at - now);
  return { timeoutMs: Math.min(own, left), lastOfRun: left < own };
}
