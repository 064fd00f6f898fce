import { ALLOW, type Guard } from "../../core/call/guard.ts";
import { isRollbackUndo, isUndoStep } from "../../core/run/step.ts";
import { utcText } from "../../core/time/utc-text.ts";

/**
 * Guard 4: holds every act of a run that was in a restored backup. The act may have been done after the backup, and no
 * record says so. A receipt in the backup is still reused. An undo that a person requested after the restore is exempt.
 */
export const restoredActsGuard: Guard = {
  id: "restored_acts",
  judge({ run, step, effect, recorded }) {
    if (effect !== "acts" || run.restored === null || recorded) return ALLOW;
    if (isUndoStep(step) && !isRollbackUndo(step) && step.index >= run.restored.steps) return ALLOW;
    const { backup_at } = run.restored;
    const which = backup_at === null ? "a backup" : `a backup of ${utcText(backup_at)}`;
    return {
      kind: "hold",
      rule: "restored_acts",
      reason: `the store was restored from ${which}, and the act may have been done after it; check the outside world before you approve`,
      demand: { role: null },
    };
  },
};
