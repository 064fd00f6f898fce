import type { Event } from "../../src/core/event/event.ts";
import type { TallyCharge } from "../../src/core/limits/tally-charge.ts";
import { stateTools } from "../../src/core/plan/plan-context.ts";
import { findStep, type Run, type Step } from "../../src/core/run/run.ts";
import type { RunId, StepId, Tenant } from "../../src/core/values/ids.ts";
import type { ObservedEvent } from "../journal-observer.ts";
import { readEventBody } from "../read-event-body.ts";
import type { SimContext } from "../sim-context.ts";
import { EXPECTED_COST_USD_MICROS } from "../sim-limits.ts";

/** True for a tally that enforces a limit, not one that records spending. */
export function isLimitTally(tally: string): boolean {
  return tally.startsWith("budget/") || tally.startsWith("rate/") || tally.startsWith("alert/") || isTrustTally(tally);
}

/** True for the tallies of earned and lost trust, which count no cost. */
function isTrustTally(tally: string): boolean {
  return tally.startsWith("trust/") || tally.startsWith("trust-lost/");
}

/** I19: no call starts above a limit; a reservation is settled to its tally; an act in doubt keeps its reservation. */
export function checkLimits({ sim, observedRun, before, event }: ObservedEvent): void {
  if (event.type === "budget.alerted") checkAlert(sim, observedRun.tenant, event);
  if (sim.limits === null || !("step_id" in event)) return;
  const step = findStep(before, event.step_id);
  if (step === undefined || step.spec.kind !== "operator" || step.cause?.by === "undo") return;
  if (event.type === "step.started") sim.counts.reserved += 1;
  if (event.type === "step.rejected" && event.rule === "budget") sim.counts.overspent += 1;
  const wrong =
    event.type === "step.started"
      ? (chargeProblem(sim, before, step, event) ?? limitExceeded(sim, observedRun.tenant, event))
      : settlementProblem(sim, observedRun.tenant, before, event);
  if (wrong !== null) sim.violate(`I19: ${before.id} ${event.step_id} ${wrong}`);
}

/** A budget alert is recorded once per level, and only when the level is reached. */
function checkAlert(sim: SimContext, tenant: Tenant, { tally, level, limit, used }: AlertEvent): void {
  const recorded = recordedAlerts.get(sim) ?? new Set();
  recordedAlerts.set(sim, recorded);
  const name = JSON.stringify([tenant, tally, level, limit]);
  if (recorded.has(name)) sim.violate(`I19: the alert that ${tally} is past ${level} % was recorded twice`);
  if (used * 100 < limit * level)
    sim.violate(`I19: the alert that ${tally} is past ${level} % was recorded at ${used} of ${limit}`);
  recorded.add(name);
}

const recordedAlerts = new WeakMap<SimContext, Set<string>>();

type AlertEvent = Extract<Event, { type: "budget.alerted" }>;
type StartedEvent = Extract<Event, { type: "step.started" }>;
type StepEvent = Extract<Event, { readonly step_id: StepId }>;

/** A start is charged exactly as the limits say, in the window in which it starts. */
function chargeProblem(
  { limits }: SimContext,
  run: Run,
  step: Step,
  { at, charges: all = [] }: StartedEvent,
): string | null {
  const charges = all.filter(({ tally }) => !isTrustTally(tally));
  if (step.act?.doubt) return charges.length === 0 ? null : "was charged twice for a resent call";
  const time = new Date(at).toISOString();
  const named = (of: string, unit: string, per: string) => {
    if (per === "run") return `${of}/${unit}/run/${run.origin}`;
    const window = time.slice(0, per.endsWith("minute") ? "2025-11-15T10:31".length : "2025-11-15T10".length);
    return `${of}/${unit}/${per}/${window}${per.startsWith("user") ? `/${run.principal.id}` : ""}`;
  };
  // The built-in state tools have no expected cost.
  const isBuiltIn = Object.values<string>(stateTools).includes(step.spec.name);
  const budgets = (limits?.budgets ?? []).filter(({ unit }) => unit === "calls" || !isBuiltIn);
  const expected = [
    ...budgets.map(({ unit, per, limit }) => {
      const amount = unit === "calls" ? 1 : EXPECTED_COST_USD_MICROS;
      return { tally: named("budget", unit, per), amount, limit };
    }),
    ...(limits?.rates ?? []).map(({ calls, per }) => ({ tally: named("rate", "calls", per), amount: 1, limit: calls })),
  ];
  const actual = charges.map(({ tally, amount, limit }) => ({ tally, amount, limit }));
  return JSON.stringify(actual) === JSON.stringify(expected)
    ? null
    : `was charged ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`;
}

/** Sums the charges of all runs of the tenant and compares them with the limit. */
function limitExceeded({ observer }: SimContext, tenant: Tenant, { charges = [] }: StartedEvent): string | null {
  for (const { tally, limit } of charges) {
    let used = 0;
    for (const observedRun of observer.all())
      if (observedRun.tenant === tenant) used += observedRun.charges.get(tally) ?? 0;
    if (limit !== null && used > limit) return `started while ${tally} is at ${used} of ${limit}`;
  }
  return null;
}

/** A finished attempt is charged its cost; an attempt that may still cost something keeps at least its reservation. */
function settlementProblem(sim: SimContext, tenant: Tenant, run: Run, event: StepEvent): string | null {
  const settles = settlingEvents[event.type];
  if (settles === undefined || (event.type === "step.settled" && event.settled.as === "resend")) return null;
  // An attempt with an invalid answer was settled with that answer; the correction of a person costs nothing.
  if (event.type === "step.settled" && findStep(run, event.step_id)?.standing.state !== "in_doubt") return null;
  const attempt = readAttempt(sim, tenant, run.id, event.step_id, run.position + 1);
  if (attempt === null) return null;
  const { reserved, charged, reported } = attempt;
  const unreserved = charged.find(
    ({ tally }) => isLimitTally(tally) && !isTrustTally(tally) && !reserved.some((each) => each.tally === tally),
  );
  if (unreserved !== undefined) return `was settled to ${unreserved.tally}, which has no reservation`;
  for (const { tally } of reserved) {
    const sum = sumCharges(reserved, tally) + sumCharges(charged, tally);
    if (tally.startsWith("rate/") && sum !== 1) return `returned a token to ${tally}`;
    if (!tally.startsWith("budget/usd_micros")) continue;
    const most = Math.max(EXPECTED_COST_USD_MICROS, reported);
    const keeps = keepsReservation(event);
    if (sum < reported || sum > most || (keeps === true && sum !== most) || (keeps === false && sum !== reported))
      return `was charged ${sum} after ${event.type}, with an expected cost of ${EXPECTED_COST_USD_MICROS} and a reported cost of ${reported}`;
  }
  return null;
}

const settlingEvents: Readonly<Record<string, true | undefined>> = {
  "step.succeeded": true,
  "step.failed": true,
  "step.cancelled": true,
  "step.doubted": true,
  "step.settled": true,
};

/** True if the attempt keeps its reservation, false if it is charged its cost; null: this event does not decide. */
function keepsReservation(event: StepEvent): boolean | null {
  if (event.type === "step.doubted") return true;
  // A reused result does not end an earlier attempt that died; that attempt keeps its reservation.
  if (event.type === "step.succeeded") return event.reused === undefined ? false : null;
  if (event.type === "step.settled") return event.settled.as === "happened" || event.settled.as === "given_up";
  return null;
}

interface AttemptCharges {
  readonly reserved: readonly TallyCharge[];
  readonly charged: readonly TallyCharge[];
  readonly reported: number;
}

/** Returns the charges of the last attempt of a step, including resends of the same call. */
function readAttempt(sim: SimContext, tenant: Tenant, run: RunId, step: StepId, upTo: number): AttemptCharges | null {
  let attempt: { reserved: readonly TallyCharge[]; charged: TallyCharge[]; reported: number } | null = null;
  for (const { type, body } of (sim.tables.events.get(tenant, run) ?? []).slice(0, upTo)) {
    if (body === null || !type.startsWith("step.")) continue;
    const text = readEventBody(sim.tables, tenant, body);
    if (!text.includes(`"${step}"`)) continue;
    const { step_id, charges = [], cost } = JSON.parse(text) as StoredCharges;
    if (step_id !== step) continue;
    // A resent call makes no new reservation, but checks trust again.
    if (type === "step.started" && charges.some(({ tally }) => !isTrustTally(tally)))
      attempt = { reserved: charges, charged: [], reported: 0 };
    else if (type === "step.started" || attempt === null) continue;
    else {
      attempt.charged.push(...charges);
      attempt.reported += cost?.usd_micros ?? 0;
    }
  }
  return attempt;
}

interface StoredCharges {
  readonly step_id: StepId;
  readonly charges?: readonly TallyCharge[];
  readonly cost?: { readonly usd_micros: number };
}

function sumCharges(charges: readonly TallyCharge[], tally: string): number {
  return charges.reduce((sum, each) => (each.tally === tally ? sum + each.amount : sum), 0);
}
