import type { Instant } from "../id.ts";
import { projectOf, type Run } from "../run.ts";
import { type Span, type Window, windowAt } from "../time/window.ts";
import { type Alert, levelsReached } from "./alert.ts";
import type { Allowance, Budget, Estimate, LimitRule, Rate, Unit } from "./budget.ts";

/** A limit, and where it is counted for someone at a moment. */
export interface Counted {
  readonly of: "budget" | "rate";
  readonly limit: Budget | Rate;
  /** Null: it is a setting. */
  readonly rule: LimitRule | null;
  readonly unit: Unit;
  readonly most: number;
  /** Null: the limit is for each call by itself, and nothing is added up. */
  readonly tally: string | null;
  /** Null: it never counts anew. */
  readonly window: Window | null;
}

/** What one limit asks of one call before it runs. */
export interface Toll extends Counted {
  /** What is reserved. 0: nothing is expected, and nothing is refused; what is spent all the same is counted. */
  readonly amount: number;
  /** What the tally had come to when it was looked at; null: nobody looked. */
  readonly used: number | null;
}

/** The call that is to be paid for. */
interface Fare {
  readonly tool: string;
  /** Null: nobody can tell. */
  readonly estimate: Estimate | null;
}

/** Who pays. */
export type Payer = Pick<Run, "origin" | "project"> & { readonly principal: Pick<Run["principal"], "id"> };

/** Every limit that someone is under, with what it is counted in. */
export function limitsOn({ budgets, rates, zone, rule }: Allowance, who: Payer, now: Instant): readonly Counted[] {
  return [
    ...budgets.map((limit): Counted => {
      const { unit, per, limit: most } = limit;
      const window = per === "call" || per === "run" ? null : windowAt(spanOf(per), now, zone);
      const tally = per === "call" ? null : tallyOf("budget", { ...limit, rule }, who, window);
      return { of: "budget", limit, rule, unit, most, tally, window };
    }),
    ...rates.map((limit): Counted => {
      const window = windowAt(spanOf(limit.per), now, zone);
      const tally = tallyOf("rate", { unit: "calls", ...limit, rule }, who, window);
      return { of: "rate", limit, rule, unit: "calls", most: limit.calls, tally, window };
    }),
  ];
}

/** What there is to tell of a budget that has come to this. Of one that lets nothing pass there never is. */
export function alertsOf({ of, tally, unit, limit, most, rule, window }: Counted, used: number): readonly Alert[] {
  if (of !== "budget" || tally === null || most === 0) return [];
  const { per, tool = null } = limit;
  const about = { unit, per, tool, rule: rule?.id ?? null, limit: most, used, window_ends: window?.until ?? null };
  return levelsReached(used, most).map((level) => ({ tally, level, ...about }));
}

/** What each limit that a call falls under asks of it. Of two on the same tally the tighter one stands. */
export function tollsOf(allowances: readonly Allowance[], who: Payer, fare: Fare, now: Instant): readonly Toll[] {
  const tolls = new Map<string, Toll>();
  for (const counted of allowances.flatMap((allowance) => limitsOn(allowance, who, now))) {
    if (counted.limit.tool !== undefined && counted.limit.tool !== fare.tool) continue;
    const name = counted.tally ?? `call/${counted.unit}`;
    const other = tolls.get(name);
    if (other !== undefined && other.most <= counted.most) continue;
    tolls.set(name, { ...counted, amount: asked(counted.unit, fare), used: null });
  }
  return [...tolls.values()];
}

/** Of what nobody can tell, the least there is: it is let through while anything is left. */
function asked(unit: Unit, { estimate }: Fare): number {
  if (unit === "calls") return 1;
  if (unit === "ms") return estimate?.ms ?? 1;
  if (estimate === null) return 1;
  return unit === "tokens" ? (estimate.tokens_in ?? 0) + (estimate.tokens_out ?? 0) : (estimate[unit] ?? 0);
}

function spanOf(per: string): Span {
  return per.slice(per.indexOf("-") + 1) as Span;
}

/** An id stands last, so that whatever it says it cannot be taken for something else. */
function tallyOf(
  of: "budget" | "rate",
  { unit, per, tool, rule }: Pick<Budget, "unit" | "tool"> & Pick<Counted, "rule"> & { readonly per: string },
  who: Payer,
  window: Window | null,
): string {
  const of_what = rule === null ? (tool === undefined ? unit : `${unit}:${tool}`) : `${unit}@${rule.place}`;
  const what = `${of}/${of_what}/${per}`;
  if (window === null) return `${what}/${who.origin}`; // A fork spends from what its first run was given.
  if (per.startsWith("user")) return `${what}/${window.name}/${who.principal.id}`;
  // A run outside any project has one of its own, as it has its own state.
  return per.startsWith("project") ? `${what}/${window.name}/${projectOf(who)}` : `${what}/${window.name}`;
}

/** A limit as people call it. */
export function limitText({ of, limit, most, rule }: Pick<Toll, "of" | "limit" | "most" | "rule">): string {
  const unit = "unit" in limit ? limit.unit : "calls";
  const whose = limit.tool === undefined ? "" : ` of ${limit.tool}`;
  const why = rule === null ? "" : ` (policy ${rule.id}${rule.reason === null ? "" : `: ${rule.reason}`})`;
  return `${of} of ${most} ${unit}${whose} per ${limit.per}${why}`;
}
