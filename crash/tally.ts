import { nameOf, type Outcome } from "./cell.ts";
import type { Finding } from "./judge.ts";
import { isDoubted } from "./verdict.ts";

/** What a part of the proof adds up to. */
export interface Tally {
  /** Cases that were killed where they should be, started again and judged. */
  cells: number;
  kills: number;
  /** States of the files that a program was started from anew. */
  prefixes: number;
  /** Stores that failed once and were judged. */
  faults: number;
  /** Kills whose place was never reached. */
  missed: number;
  duplicates: number;
  lost: number;
  untrue: number;
  stuck: number;
  /** Cases that ended with an act nobody could settle. */
  in_doubt: number;
  /** In words, each with its cell. */
  readonly findings: string[];
  /** The places where a process died, and in which stories. */
  readonly points: Map<string, Set<string>>;
}

export function emptyTally(): Tally {
  const wrongs = { duplicates: 0, lost: 0, untrue: 0, stuck: 0 };
  const counts = { cells: 0, kills: 0, prefixes: 0, faults: 0, missed: 0, ...wrongs, in_doubt: 0 };
  return { ...counts, findings: [], points: new Map() };
}

/** Adds one case. Without a kill it is none, but what is found in it counts. */
export function tallied(tally: Tally, outcome: Outcome, name = nameOf(outcome.cell)): void {
  const { cell, kills, findings, report } = outcome;
  if (kills > 0) tally.cells += 1;
  tally.kills += kills;
  tally.missed += cell.kills.length - kills;
  found(tally, name, findings);
  if (isDoubted(report)) tally.in_doubt += 1;
  if (kills < cell.kills.length) return;
  for (const kill of cell.kills) if ("point" in kill) died(tally, kill.point, cell.cast);
}

/** Notes that a process died at a point of these stories. */
export function died(tally: Tally, point: string, stories: readonly string[]): void {
  tally.points.set(point, new Set([...(tally.points.get(point) ?? []), ...stories]));
}

/** Adds what was found wrong in one case, whatever its kind. */
export function found(tally: Tally, name: string, findings: readonly Finding[]): void {
  const kinds = new Set(findings.map(({ kind }) => kind));
  if (kinds.has("twice")) tally.duplicates += 1;
  if (kinds.has("lost")) tally.lost += 1;
  if (kinds.has("untrue")) tally.untrue += 1;
  if (kinds.has("stuck")) tally.stuck += 1;
  tally.findings.push(...findings.map(({ kind, what }) => `${name}: ${kind}: ${what}`));
}
