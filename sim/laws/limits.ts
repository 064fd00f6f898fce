import type { Event } from "../../src/core/event.ts";
import type { RunId, StepId, Tenant } from "../../src/core/id.ts";
import type { Charged } from "../../src/core/limits/charged.ts";
import { stateTools } from "../../src/core/plan/plan-roster.ts";
import { findStep, type Run, type Step } from "../../src/core/run.ts";
import { bodyText } from "../body.ts";
import { EXPECTED_USD } from "../limits.ts";
import type { Fact } from "../record.ts";
import type { Scene } from "../scene.ts";

/** A tally that is there for a limit, not to tell what was spent. */
export function isOfLimit(tally: string): boolean {
  return tally.startsWith("budget/") || tally.startsWith("rate/") || tally.startsWith("alert/") || isTrust(tally);
}

/** What was earned, and how often that was lost: nobody's money. */
function isTrust(tally: string): boolean {
  return tally.startsWith("trust/") || tally.startsWith("trust-lost/");
}

/** I19: nothing begins that a limit has no room for; what was reserved is settled to the same tally; what is in doubt keeps it. */
export function judgeLimits({ scene, kept, before, event }: Fact): void {
  if (event.type === "budget.alerted") judgeAlert(scene, kept.tenant, event);
  if (scene.limits === null || !("step_id" in event)) return;
  const step = findStep(before, event.step_id);
  if (step === undefined || step.spec.kind !== "operator" || step.cause?.by === "undo") return;
  if (event.type === "step.started") scene.counts.reserved += 1;
  if (event.type === "step.rejected" && event.rule === "budget") scene.counts.overspent += 1;
  const wrong =
    event.type === "step.started"
      ? (wrongCharge(scene, before, step, event) ?? passed(scene, kept.tenant, event))
      : wrongSettlement(scene, kept.tenant, before, event);
  if (wrong !== null) scene.violate(`I19: ${before.id} ${event.step_id} ${wrong}`);
}

/** That a budget is used up so far is told when it is, and once. */
function judgeAlert(scene: Scene, tenant: Tenant, { tally, level, limit, used }: Alerted): void {
  const told = alerted.get(scene) ?? new Set();
  alerted.set(scene, told);
  const name = JSON.stringify([tenant, tally, level, limit]);
  if (told.has(name)) scene.violate(`I19: ${tally} was told to be past ${level} % twice`);
  if (used * 100 < limit * level)
    scene.violate(`I19: ${tally} was told to be past ${level} % with ${used} of ${limit}`);
  told.add(name);
}

const alerted = new WeakMap<Scene, Set<string>>();

type Alerted = Extract<Event, { type: "budget.alerted" }>;
type Started = Extract<Event, { type: "step.started" }>;
type About = Extract<Event, { readonly step_id: StepId }>;

/** What a start is charged is what the limits say, in the window in which it starts. */
function wrongCharge({ limits }: Scene, run: Run, step: Step, { at, charges: all = [] }: Started): string | null {
  const charges = all.filter(({ tally }) => !isTrust(tally));
  if (step.act?.doubt) return charges.length === 0 ? null : "was charged again for a call that was sent again";
  const time = new Date(at).toISOString();
  const named = (of: string, unit: string, per: string) => {
    if (per === "run") return `${of}/${unit}/run/${run.origin}`;
    const window = time.slice(0, per.endsWith("minute") ? "2025-11-15T10:31".length : "2025-11-15T10".length);
    return `${of}/${unit}/${per}/${window}${per.startsWith("user") ? `/${run.principal.id}` : ""}`;
  };
  // What an engine has by itself costs nothing that could be expected.
  const free = Object.values<string>(stateTools).includes(step.spec.name);
  const budgets = (limits?.budgets ?? []).filter(({ unit }) => unit === "calls" || !free);
  const expected = [
    ...budgets.map(({ unit, per, limit }) => {
      const amount = unit === "calls" ? 1 : EXPECTED_USD;
      return { tally: named("budget", unit, per), amount, limit };
    }),
    ...(limits?.rates ?? []).map(({ calls, per }) => ({ tally: named("rate", "calls", per), amount: 1, limit: calls })),
  ];
  const told = charges.map(({ tally, amount, limit }) => ({ tally, amount, limit }));
  return JSON.stringify(told) === JSON.stringify(expected)
    ? null
    : `was charged ${JSON.stringify(told)}, not ${JSON.stringify(expected)}`;
}

/** All that was ever charged to a tally, by whoever. */
function passed({ record }: Scene, tenant: Tenant, { charges = [] }: Started): string | null {
  for (const { tally, limit } of charges) {
    let used = 0;
    for (const kept of record.all()) if (kept.tenant === tenant) used += kept.charges.get(tally) ?? 0;
    if (limit !== null && used > limit) return `began though ${tally} has come to ${used} of ${limit}`;
  }
  return null;
}

/** What an attempt comes to is what it cost; what is not known to be over keeps at least what was reserved. */
function wrongSettlement(scene: Scene, tenant: Tenant, run: Run, event: About): string | null {
  const settles = SETTLING[event.type];
  if (settles === undefined || (event.type === "step.settled" && event.settled.as === "resend")) return null;
  // What came to nothing but an answer that did not fit was settled when it was heard; that a person mends it costs nothing.
  if (event.type === "step.settled" && findStep(run, event.step_id)?.standing.state !== "in_doubt") return null;
  const attempt = attemptOf(scene, tenant, run.id, event.step_id, run.position + 1);
  if (attempt === null) return null;
  const { reserved, charged, told } = attempt;
  const stray = charged.find(
    ({ tally }) => isOfLimit(tally) && !isTrust(tally) && !reserved.some((each) => each.tally === tally),
  );
  if (stray !== undefined) return `was settled to ${stray.tally}, from which nothing was reserved`;
  for (const { tally } of reserved) {
    const sum = sumOf(reserved, tally) + sumOf(charged, tally);
    if (tally.startsWith("rate/") && sum !== 1) return `gave ${tally} its token back`;
    if (!tally.startsWith("budget/usd_micros")) continue;
    const most = Math.max(EXPECTED_USD, told);
    const kept = keeps(event);
    if (sum < told || sum > most || (kept === true && sum !== most) || (kept === false && sum !== told))
      return `was charged ${sum} after ${event.type}, was expected to cost ${EXPECTED_USD} and did cost ${told}`;
  }
  return null;
}

const SETTLING: Readonly<Record<string, true | undefined>> = {
  "step.succeeded": true,
  "step.failed": true,
  "step.cancelled": true,
  "step.doubted": true,
  "step.settled": true,
};

/** Whether it may have cost what was reserved; null: from this event alone nobody can tell. */
function keeps(event: About): boolean | null {
  if (event.type === "step.doubted") return true;
  // An answer from the record is no end of an attempt that died before: that one keeps what it reserved.
  if (event.type === "step.succeeded") return event.reused === undefined ? false : null;
  if (event.type === "step.settled") return event.settled.as === "happened" || event.settled.as === "given_up";
  return null;
}

interface Attempt {
  readonly reserved: readonly Charged[];
  readonly charged: readonly Charged[];
  readonly told: number;
}

/** What the journal says of a step's last attempt, those that only sent the same call again included. */
function attemptOf(scene: Scene, tenant: Tenant, run: RunId, step: StepId, upTo: number): Attempt | null {
  let attempt: { reserved: readonly Charged[]; charged: Charged[]; told: number } | null = null;
  for (const { type, body } of (scene.tables.events.get(tenant, run) ?? []).slice(0, upTo)) {
    if (body === null || !type.startsWith("step.")) continue;
    const text = bodyText(scene.tables, tenant, body);
    if (!text.includes(`"${step}"`)) continue;
    const { step_id, charges = [], cost } = JSON.parse(text) as Told;
    if (step_id !== step) continue;
    // What is sent again reserves nothing anew, though that it is trusted is asked once more.
    if (type === "step.started" && charges.some(({ tally }) => !isTrust(tally)))
      attempt = { reserved: charges, charged: [], told: 0 };
    else if (type === "step.started" || attempt === null) continue;
    else {
      attempt.charged.push(...charges);
      attempt.told += cost?.usd_micros ?? 0;
    }
  }
  return attempt;
}

interface Told {
  readonly step_id: StepId;
  readonly charges?: readonly Charged[];
  readonly cost?: { readonly usd_micros: number };
}

function sumOf(charges: readonly Charged[], tally: string): number {
  return charges.reduce((sum, each) => (each.tally === tally ? sum + each.amount : sum), 0);
}
