import { type CellOutcome, cellName } from "./cell.ts";
import { hasActInDoubt } from "./check-folder.ts";
import type { CrashFinding } from "./check-run.ts";

/** The totals of one part. */
export interface PartTotals {
  /** Cells that were killed at their points, started again and checked. */
  cells: number;
  kills: number;
  /** File states from which a program was started. */
  prefixes: number;
  /** Stores that failed once and were checked. */
  faults: number;
  /** Kills whose point was never reached. */
  missed: number;
  duplicates: number;
  lost: number;
  untrue: number;
  stuck: number;
  /** Cells that ended with an act in doubt. */
  in_doubt: number;
  /** Each finding as text, with its cell. */
  readonly findings: string[];
  /** By kill point: the scenarios in which a process was killed there. */
  readonly points: Map<string, Set<string>>;
}

export function newPartTotals(): PartTotals {
  const violations = { duplicates: 0, lost: 0, untrue: 0, stuck: 0 };
  const counts = { cells: 0, kills: 0, prefixes: 0, faults: 0, missed: 0, ...violations, in_doubt: 0 };
  return { ...counts, findings: [], points: new Map() };
}

/** Adds a cell. A cell without a kill is not counted, but its findings are. */
export function addOutcome(totals: PartTotals, outcome: CellOutcome, name = cellName(outcome.cell)): void {
  const { cell, kills, findings, report } = outcome;
  if (kills > 0) totals.cells += 1;
  totals.kills += kills;
  totals.missed += cell.kills.length - kills;
  addFindings(totals, name, findings);
  if (hasActInDoubt(report)) totals.in_doubt += 1;
  if (kills < cell.kills.length) return;
  for (const kill of cell.kills) if ("point" in kill) addKillPoint(totals, kill.point, cell.scenarioNames);
}

/** Records that a process was killed at a point in these scenarios. */
export function addKillPoint(totals: PartTotals, point: string, scenarioNames: readonly string[]): void {
  totals.points.set(point, new Set([...(totals.points.get(point) ?? []), ...scenarioNames]));
}

/** Adds the findings of one cell. */
export function addFindings(totals: PartTotals, name: string, findings: readonly CrashFinding[]): void {
  const kinds = new Set(findings.map(({ kind }) => kind));
  if (kinds.has("twice")) totals.duplicates += 1;
  if (kinds.has("lost")) totals.lost += 1;
  if (kinds.has("untrue")) totals.untrue += 1;
  if (kinds.has("stuck")) totals.stuck += 1;
  totals.findings.push(...findings.map(({ kind, what }) => `${name}: ${kind}: ${what}`));
}
