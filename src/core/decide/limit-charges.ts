import { costAmount } from "../call/cost-charges.ts";
import { type CallLimit, limitText } from "../call/counted-limits.ts";
import type { LimitUnit } from "../limits/budget.ts";
import type { LimitedCharge, TallyCharge } from "../limits/tally-charge.ts";
import type { Run } from "../run/run.ts";
import type { Step } from "../run/step.ts";
import type { TimeWindow } from "../time/time-window.ts";
import type { Cost } from "../tool/tool.ts";
import { type Fault, fault } from "../values/fault.ts";

/** Returns the first budget that the call would exceed, or null. */
export function exceededBudget(limits: readonly CallLimit[]): CallLimit | null {
  return limits.find((limit) => limit.of === "budget" && isExceeded(limit)) ?? null;
}

export function budgetFault({ spec: { step_id } }: Step, limit: CallLimit): Fault {
  const { amount, most, used, tally, window } = limit;
  const spent = tally === null ? "" : ` with ${used ?? 0} used`;
  const message = `${step_id} would take ${amount} from a ${limitText(limit)}${spent}; it was not run`;
  return fault("BUDGET_EXCEEDED", message, {
    limit: most,
    used: used ?? 0,
    asked: amount,
    tally,
    window_ends: window?.until ?? null,
  });
}

/** Returns the exceeded rate whose window ends last, or null. */
export function exceededRate(limits: readonly CallLimit[]): FullRate | null {
  const full = limits.filter((limit): limit is FullRate => limit.of === "rate" && isExceeded(limit));
  return full.reduce<FullRate | null>(
    (last, limit) => (last === null || limit.window.until > last.window.until ? limit : last),
    null,
  );
}

export type FullRate = CallLimit & { readonly tally: string; readonly window: TimeWindow };

function isExceeded({ used, amount, most }: CallLimit): boolean {
  return amount > 0 && (used ?? 0) + amount > most;
}

/** Returns a fault if the deadline of the run is before the next window of the rate, else null. */
export function rateFault({ deadline_at }: Run, { spec: { step_id } }: Step, full: FullRate): Fault | null {
  const { window, used, most, tally } = full;
  if (deadline_at === null || window.until < deadline_at) return null;
  const message = `${step_id} would exceed a ${limitText(full)}, and the deadline is before the next window; it was not run`;
  return fault("RATE_EXCEEDED", message, { limit: most, used, asked: 1, tally, window_ends: window.until });
}

/** Returns the charges of a start. Charges to a rate are final; charges to a budget are settled at the end. */
export function startCharges(limits: readonly CallLimit[], limited: boolean): readonly LimitedCharge[] {
  return limits.flatMap(({ of, tally, unit, amount, most }) => {
    if (tally === null || amount === 0) return [];
    const settles = of === "budget" ? { unit } : {};
    return [{ tally, amount, limit: limited ? most : null, ...settles }];
  });
}

/** The cost of an ended attempt. */
export interface AttemptCost {
  readonly cost: Cost | null;
  readonly ms: number;
  /**
   * - all: the reported cost is complete.
   * - nothing: it is certain that the call did nothing.
   * - unknown: the call may cost up to the reserved amount.
   */
  readonly for: "all" | "nothing" | "unknown";
}

/**
 * Returns the charges at the end of an attempt. Each reserved tally is charged the difference between the actual and
 * the reserved amount. Budgets without a reservation are charged the actual amount.
 */
export function settleCharges(
  { reserved }: Pick<Step, "reserved">,
  limits: readonly CallLimit[],
  attempt: AttemptCost,
): readonly TallyCharge[] {
  const due = reserved.map(({ tally, unit, charged, reported }) => {
    const spent = spentAmount(unit, reported, attempt);
    return { tally, amount: (attempt.for === "unknown" ? Math.max(charged, spent) : spent) - charged };
  });
  const unexpected = limits
    .filter(({ of, amount }) => of === "budget" && amount === 0)
    .flatMap(({ tally, unit }) => (tally === null ? [] : [{ tally, amount: spentAmount(unit, 0, attempt) }]));
  return [...due, ...unexpected].filter(({ amount }) => amount !== 0);
}

function spentAmount(unit: LimitUnit, reported: number, attempt: AttemptCost): number {
  if (unit === "calls") return attempt.for === "nothing" ? 0 : 1;
  if (unit === "ms") return attempt.ms;
  return attempt.cost === null ? reported : reported + costAmount(unit, attempt.cost);
}
