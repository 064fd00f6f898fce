import type { Ask } from "../command.ts";
import { NOTHING, type Ruling } from "../ruling.ts";
import { findStep, type Run } from "../run.ts";

/** An attempt that changed resources has failed: before its step moves on, they are put back, and both is on record. */
export function restoring(run: Run, { step_id, attempt, fault, now }: Ask<"restoring">): Ruling {
  if (!isOwed(run, { step_id, attempt })) return NOTHING;
  return { events: [{ type: "step.restoring", at: now, step_id, attempt, fault }] };
}

export function restored(run: Run, { step_id, attempt, restored: reports, now }: Ask<"restored">): Ruling {
  if (!isOwed(run, { step_id, attempt })) return NOTHING;
  return { events: [{ type: "step.restored", at: now, step_id, attempt, restored: reports }] };
}

/** Whether that attempt is the one whose captures are still to be answered for. */
function isOwed(run: Run, { step_id, attempt }: Pick<Ask<"restored">, "step_id" | "attempt">): boolean {
  const step = findStep(run, step_id);
  return step !== undefined && step.attempts === attempt && step.captures.length > 0;
}
