import type { Allowance, Budget, Estimate, Rate, Unit } from "./budget.ts";
import type { Instant } from "./id.ts";
import { projectOf, type Run } from "./run.ts";
import { type Span, type Window, windowAt } from "./window.ts";
import type { Zone } from "./zone.ts";

/** What one limit asks of one call before it runs. */
export interface Toll {
  readonly of: "budget" | "rate";
  readonly limit: Budget | Rate;
  readonly unit: Unit;
  /** What is reserved. 0: nothing is expected, and nothing is refused; what is spent all the same is counted. */
  readonly amount: number;
  readonly most: number;
  /** Null: the limit is for each call by itself, and nothing is added up. */
  readonly tally: string | null;
  /** When it counts anew; null: never. */
  readonly until: Instant | null;
  /** What the tally had come to when it was looked at; null: nobody looked. */
  readonly used: number | null;
}

/** The call that is to be paid for. */
interface Fare {
  readonly tool: string;
  /** Null: nobody can tell. */
  readonly estimate: Estimate | null;
}

/** What each limit that a call falls under asks of it. Of two on the same tally the tighter one stands. */
export function tollsOf({ budgets, rates, zone }: Allowance, run: Run, fare: Fare, now: Instant): readonly Toll[] {
  const tolls = new Map<string, Toll>();
  const add = (toll: Toll) => {
    const name = toll.tally ?? `call/${toll.unit}`;
    const other = tolls.get(name);
    if (other === undefined || toll.most < other.most) tolls.set(name, toll);
  };
  for (const budget of budgets) if (isMeant(budget, fare)) add(budgetToll(budget, run, fare, now, zone));
  for (const rate of rates) if (isMeant(rate, fare)) add(rateToll(rate, run, now, zone));
  return [...tolls.values()];
}

function isMeant({ tool }: Budget | Rate, fare: Fare): boolean {
  return tool === undefined || tool === fare.tool;
}

/** Of what nobody can tell, the least there is: it is let through while anything is left. */
function asked(unit: Unit, { estimate }: Fare): number {
  if (unit === "calls") return 1;
  if (unit === "ms") return estimate?.ms ?? 1;
  if (estimate === null) return 1;
  return unit === "tokens" ? (estimate.tokens_in ?? 0) + (estimate.tokens_out ?? 0) : (estimate[unit] ?? 0);
}

function budgetToll(budget: Budget, run: Run, fare: Fare, now: Instant, zone: Zone): Toll {
  const { unit, per, limit: most } = budget;
  const amount = asked(unit, fare);
  const window = per === "call" || per === "run" ? null : windowAt(spanOf(per), now, zone);
  const tally = per === "call" ? null : tallyOf("budget", budget, run, window);
  return { of: "budget", limit: budget, unit, amount, most, tally, until: window?.until ?? null, used: null };
}

function rateToll(rate: Rate, run: Run, now: Instant, zone: Zone): Toll {
  const window = windowAt(spanOf(rate.per), now, zone);
  const tally = tallyOf("rate", { unit: "calls", ...rate }, run, window);
  return {
    of: "rate",
    limit: rate,
    unit: "calls",
    amount: 1,
    most: rate.calls,
    tally,
    until: window.until,
    used: null,
  };
}

function spanOf(per: string): Span {
  return per.slice(per.indexOf("-") + 1) as Span;
}

/** An id stands last, so that whatever it says it cannot be taken for something else. */
function tallyOf(
  of: "budget" | "rate",
  { unit, per, tool }: Pick<Budget, "unit" | "tool"> & { readonly per: string },
  run: Pick<Run, "principal" | "origin" | "project">,
  window: Window | null,
): string {
  const what = `${of}/${tool === undefined ? unit : `${unit}:${tool}`}/${per}`;
  if (window === null) return `${what}/${run.origin}`; // A fork spends from what its first run was given.
  if (per.startsWith("user")) return `${what}/${window.name}/${run.principal.id}`;
  // A run outside any project has one of its own, as it has its own state.
  return per.startsWith("project") ? `${what}/${window.name}/${projectOf(run)}` : `${what}/${window.name}`;
}

/** A limit as people call it. */
export function limitText({ of, limit, most }: Pick<Toll, "of" | "limit" | "most">): string {
  const unit = "unit" in limit ? limit.unit : "calls";
  const whose = limit.tool === undefined ? "" : ` of ${limit.tool}`;
  return `${of} of ${most} ${unit}${whose} per ${limit.per}`;
}
