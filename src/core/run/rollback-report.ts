import type { RollbackCause } from "../event/run-rolling-back.ts";
import type { UndoneAct } from "../event/undone-act.ts";
import type { LeftPlace, RevertReport } from "../ports/revert-report.ts";
import type { Instant } from "../values/ids.ts";
import { RESTORE_STEP } from "./changes-to-roll-back.ts";
import { findStep, type Run } from "./run.ts";
import { undoReport } from "./undo-report.ts";

/** How far the rollback of an atomic plan is, and what it has left as it is. */
export interface RollbackReport {
  readonly since: Instant;
  /** The step that ended the plan, or the principal that cancelled it. */
  readonly cause: RollbackCause;
  /** Each act of the plan, the latest first. */
  readonly acts: readonly UndoneAct[];
  /** The places of the state and the files. Null until they are put back, or if the plan wrote none. */
  readonly state: RevertReport | null;
  readonly files: RevertReport | null;
}

/** Returns null if the run is not rolled back. */
export function rollbackReport(run: Run): RollbackReport | null {
  if (run.rollback === null) return null;
  const { since, ...cause } = run.rollback;
  const reversible = new Set([...run.steps].filter(({ act }) => act?.reversible).map(({ spec }) => spec.name));
  const acts = undoReport(run, (tool) => reversible.has(tool));
  return { since, cause, acts, ...restoreReport(run) };
}

function restoreReport(run: Run): Pick<RollbackReport, "state" | "files"> {
  const standing = findStep(run, RESTORE_STEP)?.standing;
  if (standing?.state === "succeeded") return standing.output as unknown as Pick<RollbackReport, "state" | "files">;
  if (standing?.state !== "failed_final" && standing?.state !== "rejected") return { state: null, files: null };
  const { code, message } = standing.fault;
  const places: readonly LeftPlace[] = [{ path: "/", why: `${code}: ${message}` }];
  const nothing = { restored: 0, left: 1, places };
  return { state: nothing, files: nothing };
}
