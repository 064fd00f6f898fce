import type { SessionSegment } from "../event/session.ts";
import type { Budget, CostEstimate, LimitRule, LimitSet, LimitUnit, Rate } from "../limits/budget.ts";
import { alertLevelsReached, type BudgetAlert } from "../limits/budget-alert.ts";
import { type Run, runProjectKey } from "../run/run.ts";
import { partWindowAt, type TimeWindow, timeWindowAt, type WindowSpan } from "../time/time-window.ts";
import type { Instant, RunId } from "../values/ids.ts";

/** A limit with the tally and the time window in which it is counted for a run. */
export interface CountedLimit {
  readonly of: "budget" | "rate";
  readonly limit: Budget | Rate;
  /** Null for a limit from the settings. */
  readonly rule: LimitRule | null;
  readonly unit: LimitUnit;
  readonly most: number;
  /** Null if the limit applies to each call separately. */
  readonly tally: string | null;
  /** Null if the count never starts again. */
  readonly window: TimeWindow | null;
}

/** The amount that one call reserves from one limit before it runs. */
export interface CallLimit extends CountedLimit {
  /** The reserved amount. If 0, the call is not refused, and the actual cost is still counted. */
  readonly amount: number;
  /** The value of the tally when it was read. Null if it was not read. */
  readonly used: number | null;
}

interface PricedCall {
  readonly tool: string;
  /** Null if the cost is unknown. */
  readonly estimate: CostEstimate | null;
}

/** The fields of a run that select its tallies. */
export type Payer = Pick<Run, "origin" | "project" | "session"> & {
  readonly principal: Pick<Run["principal"], "id">;
  readonly opened: Pick<SessionSegment, "root"> | null;
};

/** Returns every limit of a set with the tally in which it is counted. */
export function countedLimits(
  { budgets, rates, zone, rule, submission }: LimitSet,
  payer: Payer,
  now: Instant,
): readonly CountedLimit[] {
  return [
    ...budgets.map((limit): CountedLimit => {
      const { unit, per, limit: most } = limit;
      const window = isTimeless(per) ? null : timeWindowAt(windowSpanOf(per), now, zone);
      const tally = per === "call" ? null : limitTally("budget", { ...limit, rule, submission }, payer, window);
      return { of: "budget", limit, rule, unit, most, tally, window };
    }),
    ...rates.map((limit): CountedLimit => {
      const { calls, burst = calls, per } = limit;
      const span = windowSpanOf(per);
      const window = burst === calls ? timeWindowAt(span, now, zone) : partWindowAt(span, burst / calls, now);
      const tally = limitTally("rate", { unit: "calls", ...limit, rule, submission }, payer, window);
      return { of: "rate", limit, rule, unit: "calls", most: burst, tally, window };
    }),
  ];
}

/** Returns the alerts for the levels that a budget has reached. A budget of 0 has none. */
export function budgetAlerts(
  { of, tally, unit, limit, most, rule, window }: CountedLimit,
  used: number,
): readonly BudgetAlert[] {
  if (of !== "budget" || tally === null || most === 0) return [];
  const { per, tool = null } = limit;
  const details = { unit, per, tool, rule: rule?.id ?? null, limit: most, used, window_ends: window?.until ?? null };
  return alertLevelsReached(used, most).map((level) => ({ tally, level, ...details }));
}

/** Returns the limits that apply to a call. Of two limits with the same tally, the lower one applies. */
export function callLimits(
  sets: readonly LimitSet[],
  payer: Payer,
  call: PricedCall,
  now: Instant,
): readonly CallLimit[] {
  const limits = new Map<string, CallLimit>();
  for (const counted of sets.flatMap((set) => countedLimits(set, payer, now))) {
    if (counted.limit.tool !== undefined && counted.limit.tool !== call.tool) continue;
    const name = counted.tally ?? `call/${counted.unit}`;
    const other = limits.get(name);
    if (other !== undefined && other.most <= counted.most) continue;
    limits.set(name, { ...counted, amount: amountToReserve(counted.unit, call), used: null });
  }
  return [...limits.values()];
}

/** Without an estimate, a call reserves 1, so that it can start while any amount remains. */
function amountToReserve(unit: LimitUnit, { estimate }: PricedCall): number {
  if (unit === "calls") return 1;
  if (unit === "ms") return estimate?.ms ?? 1;
  if (estimate === null) return 1;
  return unit === "tokens" ? (estimate.tokens_in ?? 0) + (estimate.tokens_out ?? 0) : (estimate[unit] ?? 0);
}

function windowSpanOf(per: string): WindowSpan {
  return per.slice(per.indexOf("-") + 1) as WindowSpan;
}

type TallySubject = Pick<Budget, "unit" | "tool"> &
  Pick<CountedLimit, "rule"> & { readonly per: string; readonly submission: RunId | undefined };

/** The id comes last, so its content cannot be confused with another part of the name. */
function limitTally(
  of: "budget" | "rate",
  { unit, per, tool, rule, submission }: TallySubject,
  payer: Payer,
  window: TimeWindow | null,
): string {
  const subject = rule === null ? (tool === undefined ? unit : `${unit}:${tool}`) : `${unit}@${rule.place}`;
  if (submission !== undefined) return `${of}/${subject}/submission/${submission}`;
  const prefix = `${of}/${subject}/${per}`;
  if (per === "session") return `${prefix}/${sessionOf(payer)}`;
  if (window === null) return `${prefix}/${payer.origin}`; // A fork shares the budget of its first run.
  if (per.startsWith("user")) return `${prefix}/${window.name}/${payer.principal.id}`;
  // A run without a project has its own tally, as it has its own state.
  return per.startsWith("project") ? `${prefix}/${window.name}/${runProjectKey(payer)}` : `${prefix}/${window.name}`;
}

/** The count of such a limit never starts again. */
function isTimeless(per: Budget["per"]): per is "call" | "run" | "session" {
  return per === "call" || per === "run" || per === "session";
}

/** A sub-agent is paid for by the session of the topmost agent. A run without a session is one of its own. */
function sessionOf({ opened, session, principal, project, origin }: Payer): string {
  const root = opened?.root ?? session;
  return root === null ? origin : JSON.stringify([principal.id, project, root]);
}

/** Describes a limit in messages. */
export function limitText({ of, limit, most, rule }: Pick<CallLimit, "of" | "limit" | "most" | "rule">): string {
  const unit = "unit" in limit ? limit.unit : "calls";
  const tool = limit.tool === undefined ? "" : ` of ${limit.tool}`;
  const why = rule === null ? "" : ` (policy ${rule.id}${rule.reason === null ? "" : `: ${rule.reason}`})`;
  const all = "calls" in limit && limit.calls !== most ? `${limit.calls} ${unit}${tool}, ${most} at once,` : null;
  return `${of} of ${all ?? `${most} ${unit}${tool}`} per ${limit.per}${why}`;
}
