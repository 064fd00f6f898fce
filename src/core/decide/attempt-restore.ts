import { findStep, getStep, type Run } from "../run/run.ts";
import { fault as faultOf } from "../values/fault.ts";
import type { CommandOf } from "./command.ts";
import { settleCharges } from "./limit-charges.ts";
import { NO_CHANGE, type PartialDecision } from "./partial-decision.ts";

/** Decides about the restore of the resources that an attempt changed. */
export function decideAttemptRestore(
  run: Run,
  command: CommandOf<"restoring" | "restored" | "unrestorable">,
): PartialDecision {
  if (command.type === "restoring") return beginAttemptRestore(run, command);
  return command.type === "restored" ? finishAttemptRestore(run, command) : failAttemptRestore(run, command);
}

/** Records that the resources of a failed attempt are restored next. `finishAttemptRestore` records that they are restored. */
function beginAttemptRestore(run: Run, { step_id, attempt, fault, now }: CommandOf<"restoring">): PartialDecision {
  if (!hasOpenCaptures(run, { step_id, attempt })) return NO_CHANGE;
  const why = fault ?? findStep(run, step_id)?.failure ?? null;
  const lost = { fault: faultOf("CANCELLED", "the worker of the call was lost"), lost: true } as const;
  return { events: [{ type: "step.restoring", at: now, step_id, attempt, ...(why === null ? lost : { fault: why }) }] };
}

function finishAttemptRestore(
  run: Run,
  { step_id, attempt, restored: reports, now }: CommandOf<"restored">,
): PartialDecision {
  if (!hasOpenCaptures(run, { step_id, attempt })) return NO_CHANGE;
  return { events: [{ type: "step.restored", at: now, step_id, attempt, restored: reports }] };
}

/**
 * Ends the step, because its resources need a person first. The step keeps its captures, so the restore is tried again
 * when the run is resumed.
 */
function failAttemptRestore(
  run: Run,
  { step_id, attempt, fault, now: at }: CommandOf<"unrestorable">,
): PartialDecision {
  if (!hasOpenCaptures(run, { step_id, attempt })) return NO_CHANGE;
  const step = getStep(run, { step_id });
  const { standing } = step;
  const started_at = standing.state === "running" ? standing.started_at : at;
  const charges = settleCharges(step, [], { cost: null, ms: 0, for: "unknown" });
  const ended = { retry_at: null, world: "permanent_failure", sparing: [] } as const;
  const paid = charges.length === 0 ? {} : { charges };
  return { events: [{ type: "step.failed", at, step_id, attempt, started_at, fault, ...ended, ...paid }] };
}

/** True if the captures of this attempt are not restored yet. */
function hasOpenCaptures(run: Run, { step_id, attempt }: Pick<CommandOf<"restored">, "step_id" | "attempt">): boolean {
  const step = findStep(run, step_id);
  return step !== undefined && step.attempts === attempt && step.captures.length > 0;
}
