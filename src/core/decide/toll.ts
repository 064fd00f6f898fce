import { type Fault, fault } from "../fault.ts";
import type { Unit } from "../limits/budget.ts";
import type { Charged, Reserved } from "../limits/charged.ts";
import { amountOf } from "../limits/tally.ts";
import { limitText, type Toll } from "../limits/toll.ts";
import type { Run } from "../run.ts";
import type { Step } from "../step.ts";
import type { Window } from "../time/window.ts";
import type { Cost } from "../tool.ts";

/** The budget that a call cannot be paid from; null: it can be, as far as is known. */
export function overspent(tolls: readonly Toll[]): Toll | null {
  return tolls.find((each) => each.of === "budget" && isShort(each)) ?? null;
}

export function tooDear({ spec: { step_id } }: Step, toll: Toll): Fault {
  const { amount, most, used, tally, window } = toll;
  const left = tally === null ? "" : `, of which ${used ?? 0} are used`;
  const message = `${step_id} would take ${amount} from a ${limitText(toll)}${left}; it was not run`;
  return fault("BUDGET_EXCEEDED", message, {
    limit: most,
    used: used ?? 0,
    asked: amount,
    tally,
    window_ends: window?.until ?? null,
  });
}

/** The rate that is used up for now, and is so for longest. */
export function tooOften(tolls: readonly Toll[]): Full | null {
  const full = tolls.filter((toll): toll is Full => toll.of === "rate" && isShort(toll));
  return full.reduce<Full | null>(
    (last, toll) => (last === null || toll.window.until > last.window.until ? toll : last),
    null,
  );
}

export type Full = Toll & { readonly tally: string; readonly window: Window };

function isShort({ used, amount, most }: Toll): boolean {
  return amount > 0 && (used ?? 0) + amount > most;
}

/** The window opens too late for the run. */
export function neverInTime({ deadline_at }: Run, { spec: { step_id } }: Step, full: Full): Fault | null {
  const { window, used, most, tally } = full;
  if (deadline_at === null || window.until < deadline_at) return null;
  const message = `${step_id} would pass a ${limitText(full)}, and the deadline is over before that counts anew; it was not run`;
  return fault("RATE_EXCEEDED", message, { limit: most, used, asked: 1, tally, window_ends: window.until });
}

/** What a start is charged. A token of a rate is used up; the rest is reserved, and settled when the attempt is over. */
export function reservations(tolls: readonly Toll[], limited: boolean): readonly Reserved[] {
  return tolls.flatMap(({ of, tally, unit, amount, most }) => {
    if (tally === null || amount === 0) return [];
    const settles = of === "budget" ? { unit } : {};
    return [{ tally, amount, limit: limited ? most : null, ...settles }];
  });
}

/** What an attempt that is over has cost. */
export interface Bill {
  readonly cost: Cost | null;
  readonly ms: number;
  /** nothing: it is certain that nothing happened. unknown: it may have cost what was reserved, or still be about to. */
  readonly for: "all" | "nothing" | "unknown";
}

/**
 * What is left to charge when an attempt is over. What was reserved is settled by the difference, to the very tally it was
 * charged to; what nobody expected is charged as it was told.
 */
export function settlement(
  { reserved }: Pick<Step, "reserved">,
  tolls: readonly Toll[],
  bill: Bill,
): readonly Charged[] {
  const due = reserved.map(({ tally, unit, charged, told }) => {
    const spent = spentOf(unit, told, bill);
    return { tally, amount: (bill.for === "unknown" ? Math.max(charged, spent) : spent) - charged };
  });
  const unexpected = tolls
    .filter(({ of, amount }) => of === "budget" && amount === 0)
    .flatMap(({ tally, unit }) => (tally === null ? [] : [{ tally, amount: spentOf(unit, 0, bill) }]));
  return [...due, ...unexpected].filter(({ amount }) => amount !== 0);
}

function spentOf(unit: Unit, told: number, bill: Bill): number {
  if (unit === "calls") return bill.for === "nothing" ? 0 : 1;
  if (unit === "ms") return bill.ms;
  return bill.cost === null ? told : told + amountOf(unit, bill.cost);
}
