import type { Event } from "../event/event.ts";
import type { RollbackCause } from "../event/run-rolling-back.ts";
import { leanStep, planStep } from "../plan/plan.ts";
import { RESTORE_STEP, ROLLBACK_TOOL } from "../run/changes-to-roll-back.ts";
import { isRollbackDue, needsRestore, nextAct } from "../run/rollback-progress.ts";
import { getStep, type Run } from "../run/run.ts";
import type { Instant } from "../values/ids.ts";
import { undoEvents } from "./settle-doubt.ts";

const NONE: readonly never[] = [];

/**
 * Returns the events with which the rollback of an atomic plan begins or goes on. It goes on when nothing of the run is
 * under way or in doubt: it undoes the acts one by one, the latest first, then puts state and files back. `shared` are the
 * earlier events of the same append, which puts each row of the ledger once.
 */
export function rollbackEvents(run: Run, at: Instant, shared: readonly Event[]): readonly Event[] {
  if (run.plan?.atomicity !== "plan" || run.ended !== null || run.recordOf !== null) return NONE;
  const { rollback } = run;
  if (rollback === null) {
    const cause = abortCause(run);
    return cause === null ? NONE : [{ type: "run.rolling_back", at, cause }];
  }
  if (!isRollbackDue(run)) return NONE;
  const act = nextAct(run);
  if (act !== null && shared.some((event) => "ledger" in event && event.step_id === act.spec.step_id)) return NONE;
  if (act !== null)
    return undoEvents(run, act, { by: run.principal.id, reason: rollbackReason(rollback), at, rollback: true });
  return needsRestore(run) ? [restoreEvent(at)] : NONE;
}

function abortCause(run: Run): RollbackCause | null {
  const { stopped, cancel } = run;
  if (stopped !== null) {
    const { standing } = getStep(run, { step_id: stopped });
    return { by: "step", step_id: stopped, fault: "fault" in standing ? standing.fault : null };
  }
  return cancel === null ? null : { by: "cancel", principal: cancel.by, reason: cancel.reason };
}

function rollbackReason(cause: RollbackCause): string {
  if (cause.by === "step") return `the plan is rolled back: ${cause.step_id} ended it`;
  return `the plan is rolled back: ${cause.principal} cancelled it`;
}

function restoreEvent(at: Instant): Event {
  const step = planStep({
    step_id: RESTORE_STEP,
    kind: "rollback",
    name: ROLLBACK_TOOL,
    effect: "writes",
    on_failure: "skip",
    on_rejected: "continue",
  });
  return {
    type: "step.proposed",
    at,
    step_id: RESTORE_STEP,
    step: leanStep(step),
    pin: null,
    cause: { by: "rollback" },
  };
}
