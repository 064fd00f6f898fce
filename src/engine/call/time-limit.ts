import type { Run, Step } from "../../core/run/run.ts";
import { isReversal } from "../../core/run/step.ts";
import type { Tool } from "../../core/tool/tool.ts";
import type { Instant } from "../../core/values/ids.ts";

/** The time limit of a handler. */
export interface TimeLimit {
  readonly timeoutMs: number;
  /** True if the deadline of the run ends the handler, which is no fault of the tool. */
  readonly endsByDeadline: boolean;
}

/** The timeout of the plan or the tool, at most until the deadline of the run. The deadline does not limit an undo. */
export function timeLimitFor(run: Run, step: Step, tool: Tool, now: Instant): TimeLimit {
  const own = step.spec.timeout_ms ?? tool.timeoutMs;
  const left = run.deadline_at === null || isReversal(step) ? own : Math.max(1, run.deadline_at - now);
  return { timeoutMs: Math.min(own, left), endsByDeadline: left < own };
}
