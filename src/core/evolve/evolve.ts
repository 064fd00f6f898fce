import type { RunRestored } from "../event/backup-restore.ts";
import type { Event, EventType } from "../event/event.ts";
import { StepIndex } from "../persistent/step-index.ts";
import { Vector } from "../persistent/vector.ts";
import { type LeanPlan, planStep } from "../plan/plan.ts";
import { NO_ORDER, planOrder } from "../plan/plan-order.ts";
import { isProgress, type Parked } from "../run/parked-run.ts";
import { copyRun, type MutableRun, type Run, type RunRecord, runStatus } from "../run/run.ts";
import { isReversal, newStep } from "../run/step.ts";
import { isIdleStep, moveStep, replaceStep, resumeSteps, withdrawStep } from "../run/step-transition.ts";
import { summarizeRun } from "../run/summarize-run.ts";
import type { HeldIn } from "../values/held-in.ts";
import type { Digest } from "../values/ids.ts";
import { evolveGate } from "./evolve-gate.ts";
import { addLeftActs, applyBranched, applySubAgentLeft, applyTurnFinished } from "./evolve-model.ts";
import { acceptedReplanning, applyReplanned, endReplanning } from "./evolve-replan.ts";
import { applyVerified, evolveStep } from "./evolve-step.ts";
import { addNotices, removeNotice } from "./pending-notices.ts";

/** Returns the run after one more event. Pure: the same events always give the same run. */
export function evolve(before: Run, event: Event): Run {
  return applyEvent(copyRun(before), event);
}

/** Applies a list of events to one copy of the run. `onEvent` sees the run after each event and must not keep it. */
export function foldEvents(
  before: Run,
  events: readonly Event[],
  onEvent: ((event: Event, after: Run) => void) | null = null,
): Run {
  const run = copyRun(before);
  for (const event of events) {
    applyEvent(run, event);
    onEvent?.(event, run);
  }
  return run;
}

/** Applies an event, and renews the summary of the run if lists show another status or another wait for a person. */
function applyEvent(run: MutableRun, event: Event): MutableRun {
  const status = runStatus(run);
  const end = run.ended;
  changeRun(run, event);
  if (status !== runStatus(run) || end?.at !== run.ended?.at || renewsSummary.has(event.type))
    run.listing = { ...run.listing, summary: summarizeRun(run, event.at) };
  return run;
}

/** The events that change for which people a run waits, beside those that change its status. */
const renewsSummary: ReadonlySet<EventType> = new Set<EventType>([
  "run.accepted",
  "run.replanned",
  "run.released",
  "gate.opened",
  "gate.approved",
  "gate.rejected",
  "gate.expired",
  "gate.closed",
  "step.doubted",
  "step.settled",
]);

function changeRun(run: MutableRun, event: Event): MutableRun {
  run.position += 1;
  run.fresh = [];
  run.abandonedGates = NONE;
  if (run.takeovers.length > 0 && isProgress(event)) run.takeovers = NONE;
  if ("gate_id" in event) return evolveGate(run, event);
  switch (event.type) {
    case "run.accepted":
      return applyAccepted(run, event);
    case "run.refused":
    case "run.simulated":
      return Object.assign(run, { open: false, recordOf: recordOf(event) });
    case "run.closed":
    case "run.released":
    case "run.turn_finished":
    case "run.branched":
    case "run.sub_agent_left":
    case "run.acts_left_above":
      return applySessionEvent(run, event);
    case "cancel.requested":
      return applyCancelRequested(run, event);
    case "run.restored":
      return applyRunRestored(run, event);
    case "run.resumed":
      return applyResumed(run, event);
    case "run.rolling_back":
      return Object.assign(run, { rollback: { ...event.cause, since: event.at } });
    case "run.verified":
      return applyVerified(run, event);
    case "run.replanned":
      return applyReplanned(run, event);
    case "run.taken":
      return applyTaken(run, event);
    case "run.rules_adopted":
      return adoptRules(run, event.to);
    case "run.parked":
    case "run.poisoned":
      return applyParked(run, event);
    case "run.ended":
      return Object.assign(endReplanning(addNotices(run, event.notices), true), { ended: endOf(event) });
    case "budget.alerted":
      return addNotices(run, event.notices);
    case "run.undone":
    case "state.restored":
      return noteExecutedRequest(run, event);
    case "notice.delivered":
    case "notice.withdrawn":
      return removeNotice(run, event.notice_id);
    default:
      return evolveStep(run, event);
  }
}

function applyResumed(run: MutableRun, event: Extract<Event, { type: "run.resumed" }>): MutableRun {
  run.confirmations = { ...run.confirmations, resumed: run.position };
  noteExecutedRequest(run, event);
  return run.parked === null ? resumeSteps(endReplanning(run, false)) : unpark(run, run.parked);
}

function recordOf(event: Extract<Event, { type: "run.refused" | "run.simulated" }>): RunRecord {
  if (event.type === "run.simulated") return { of: "dry_run", simulation: event.simulation };
  return { of: "refusal", fault: event.fault };
}

function applyCancelRequested(
  run: MutableRun,
  { by, reason, notices }: Extract<Event, { type: "cancel.requested" }>,
): MutableRun {
  addNotices(run, notices);
  return cancelIdleSteps(Object.assign(run, { open: false, cancel: { by, reason } }));
}

function applyParked(run: MutableRun, event: Extract<Event, { type: "run.parked" | "run.poisoned" }>): MutableRun {
  addNotices(run, event.notices);
  const { at: since } = event;
  const parked: Parked =
    event.type === "run.poisoned"
      ? { for: "takeovers", since }
      : { for: "rules", since, from: event.from, to: event.to };
  return Object.assign(run, { parked });
}

function applyTaken(run: MutableRun, event: Extract<Event, { type: "run.taken" }>): MutableRun {
  const { type: _type, ...taken } = event;
  return Object.assign(run, { takeovers: [...run.takeovers, { ...taken, position: run.position }] });
}

function applySessionEvent(
  run: MutableRun,
  event: Extract<
    Event,
    {
      type:
        | "run.closed"
        | "run.released"
        | "run.turn_finished"
        | "run.branched"
        | "run.sub_agent_left"
        | "run.acts_left_above";
    }
  >,
): MutableRun {
  if (event.type === "run.turn_finished") return applyTurnFinished(run, event);
  if (event.type === "run.sub_agent_left") return applySubAgentLeft(run, event);
  if (event.type === "run.acts_left_above") return addLeftActs(run, event.acts);
  if (event.type === "run.branched") {
    addNotices(run, event.notices);
    return applyBranched(run, event);
  }
  if (event.type === "run.released") return Object.assign(run, { driven: false });
  addNotices(run, event.notices);
  const { as, reason, continues } = event;
  const closed = { as, reason, ...(continues && { continues }) };
  return cancelIdleSteps(Object.assign(run, { open: false, closed }));
}

function noteExecutedRequest(run: MutableRun, { held_in }: HeldIn): MutableRun {
  if (held_in !== undefined) run.executedRequests = [...run.executedRequests, held_in];
  return run;
}

function endOf({ status, at, as }: Extract<Event, { type: "run.ended" }>): Run["ended"] {
  return as === undefined ? { status, at } : { status, at, as };
}

const NONE: readonly never[] = [];

/** A run that is parked for another reason than its rules stays parked until a person resumes it. */
function adoptRules(run: MutableRun, digest: Digest): MutableRun {
  const parked = run.parked?.for === "rules" ? null : run.parked;
  return Object.assign(run, { rules: { ...run.rules, digest }, parked });
}

/** Continues a parked run. A person who resumes a run with pinned rules accepts the rules that were found. */
function unpark(run: MutableRun, parked: Parked): MutableRun {
  if (parked.for === "rules") run.rules = { ...run.rules, digest: parked.to };
  return Object.assign(run, { parked: null });
}

/** The parts of a run that depend on its plan alone. */
type PlannedSteps = Pick<Run, "plan" | "index" | "order">;

const NO_PLAN: PlannedSteps = { plan: null, index: StepIndex.of([]), order: NO_ORDER };

/** Returns the parts of a run that depend on its plan alone. Runs of one plan share them. */
function plannedSteps(lean: LeanPlan): PlannedSteps {
  const known = knownPlans.get(lean);
  if (known !== undefined) return known;
  const plan = { ...lean, steps: lean.steps.map(planStep) };
  const index = StepIndex.of(plan.steps);
  const planned = { plan, index, order: planOrder(plan, index) };
  knownPlans.set(lean, planned);
  return planned;
}

const knownPlans = new WeakMap<LeanPlan, PlannedSteps>();

function applyAccepted(run: MutableRun, event: Extract<Event, { type: "run.accepted" }>): MutableRun {
  const { plan, index, order } = event.plan === null ? NO_PLAN : plannedSteps(event.plan);
  const steps = (plan?.steps ?? []).map((spec, index) =>
    newStep(
      index,
      spec,
      event.tools[spec.name] ?? null,
      null,
      spec.depends_on.length + Number((order.sequence?.previous[index] ?? null) !== null),
    ),
  );
  const fresh = steps.filter((step) => step.missing === 0).map((step) => step.index);
  const { type: _type, at, run_id: id, title = null, labels = NONE, ...rest } = event;
  const { confirmed = null, budgets = null, replan, fallbacks, ...given } = rest;
  addLeftActs(run, event.opened?.left ?? NONE);
  return Object.assign(run, given, {
    id,
    accepted_at: at,
    terms: { confirmed, budgets },
    listing: { ...run.listing, title, labels },
    restored: event.restored ? { ...event.restored, steps: 0 } : null,
    plan,
    replanning: acceptedReplanning(event, plan),
    open: plan === null,
    steps: Vector.from(steps),
    index,
    order,
    paces: { ...run.paces, moving: fresh.length, blocked: steps.length - fresh.length },
    fresh,
  });
}

/** Approvals from before the backup may have been used after it, so they no longer count. */
function applyRunRestored(run: MutableRun, event: RunRestored & Pick<Event, "at">): MutableRun {
  const { incarnation, backup_at } = event;
  run.restored = { incarnation, backup_at, steps: run.steps.length };
  if (run.ended === null) run.parked = { for: "restore", since: event.at, incarnation, backup_at };
  for (const step of run.steps) {
    if (step.gate === null) continue;
    const unapproved = { ...step, gate: null };
    if (step.standing.state === "waiting_approval") moveStep(run, unapproved, { state: "ready" });
    else replaceStep(run, unapproved);
  }
  return run;
}

function cancelIdleSteps(run: MutableRun): MutableRun {
  for (const step of run.steps) {
    if (isIdleStep(step) && !isReversal(step)) withdrawStep(run, step, { state: "cancelled" });
  }
  return run;
}
