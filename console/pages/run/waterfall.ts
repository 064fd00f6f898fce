import type { RunView } from "./run-view.ts";
import type { PhaseKind, StepHistory } from "./step-history.ts";

/** The bar of a step in the waterfall: what it did when. */
export interface WaterfallRow {
  readonly index: number;
  readonly from: number;
  readonly until: number;
}

/** The time that a step spent in each kind of phase, in milliseconds. */
export type PhaseTotals = Readonly<Record<PhaseKind, number>>;

/** Returns a row for each step that was ready at some time, in the order in which they became ready. */
export function waterfallRows(view: RunView, now: number): readonly WaterfallRow[] {
  const rows: WaterfallRow[] = [];
  for (let index = 0; index < view.length; index += 1) {
    const { phases } = view.history(index);
    const first = phases[0];
    if (first !== undefined) rows.push({ index, from: first.from, until: phases.at(-1)?.until ?? now });
  }
  return rows.sort((one, two) => one.from - two.from || one.index - two.index);
}

export function phaseTotals({ phases }: StepHistory, now: number): PhaseTotals {
  const totals = { queued: 0, running: 0, person: 0, waiting: 0, retrying: 0, doubt: 0, undoing: 0 };
  for (const { kind, from, until } of phases) totals[kind] += Math.max(0, (until ?? now) - from);
  return totals;
}

/** Returns the time in which a step waited for a worker before its first execution. Null: it has not started. */
export function queueDelay({ phases }: StepHistory): number | null {
  const [first] = phases;
  if (first?.kind !== "queued" || first.until === null) return null;
  return first.until - first.from;
}
