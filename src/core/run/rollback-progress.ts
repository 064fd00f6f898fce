import { changesToRollBack, RESTORE_STEP } from "./changes-to-roll-back.ts";
import type { Run } from "./run.ts";
import type { Step } from "./step.ts";
import { actsLatestFirst } from "./undo-report.ts";

/** True if the rollback of a run has something to do, and nothing of the run is under way, in doubt or waiting. */
export function isRollbackDue(run: Run): boolean {
  const { rollback, ended, parked, paces } = run;
  if (rollback === null || ended !== null || parked !== null) return false;
  return paces.moving + paces.retrying + paces.waiting === 0 && isRollbackUnfinished(run);
}

/** True if the rollback of a run has not done everything yet. */
export function isRollbackUnfinished(run: Run): boolean {
  return run.rollback !== null && (nextAct(run) !== null || needsRestore(run));
}

/** Returns the latest act that stands and that its tool can undo, or null. A failed undo is not tried again. */
export function nextAct(run: Run): Step | null {
  const stands = ({ act, standing }: Step) =>
    act?.state === "committed" && act.reversible === true && standing.state !== "compensation_failed";
  return actsLatestFirst(run).find(stands) ?? null;
}

/** True if the run has changed state or files, and they are not put back yet. */
export function needsRestore(run: Run): boolean {
  if (run.index.has(RESTORE_STEP)) return false;
  const { versions, captures } = changesToRollBack(run);
  return versions.size > 0 || captures.length > 0;
}
