import type { Event } from "./event.ts";
import { evolveGate } from "./evolve/gate.ts";
import { noted, taken } from "./evolve/notice.ts";
import { evolveStep } from "./evolve/step.ts";
import { StepIndex } from "./persistent/step-index.ts";
import { Vector } from "./persistent/vector.ts";
import { isIdle, resumed, withdrawn } from "./place.ts";
import { full } from "./plan/plan.ts";
import { dependents } from "./plan/plan-graph.ts";
import { isProgress } from "./poison.ts";
import { draftOf, type MutableRun, type Run } from "./run.ts";
import { isUndo, type Step } from "./step.ts";

/** What a run is after one more fact. Pure and total: the same events always add up to the same run. */
export function evolve(before: Run, event: Event): Run {
  return happened(draftOf(before), event);
}

/** Folds a whole history. Nobody keeps the runs in between, so that one copy is enough for all of it; `seen` may look at them. */
export function fold(
  before: Run,
  events: readonly Event[],
  seen: ((event: Event, after: Run) => void) | null = null,
): Run {
  const run = draftOf(before);
  for (const event of events) {
    happened(run, event);
    seen?.(event, run);
  }
  return run;
}

function happened(run: MutableRun, event: Event): MutableRun {
  run.position += 1;
  run.fresh = [];
  run.deserted = NONE;
  if (run.takeovers.length > 0 && isProgress(event)) run.takeovers = NONE;
  switch (event.type) {
    case "run.accepted":
      return born(run, event);
    case "run.closed":
      return Object.assign(run, { open: false });
    case "cancel.requested":
      noted(run, event.notices);
      return cancelled(Object.assign(run, { open: false, cancel: { by: event.by, reason: event.reason } }));
    case "run.resumed":
      return run.poison === null ? resumed(run) : Object.assign(run, { poison: null });
    case "run.taken": {
      const { type: _type, ...taken } = event;
      return Object.assign(run, { takeovers: [...run.takeovers, { ...taken, position: run.position }] });
    }
    case "run.poisoned":
      noted(run, event.notices);
      return Object.assign(run, { poison: { since: event.at } });
    case "run.ended":
      noted(run, event.notices);
      return Object.assign(run, { ended: { status: event.status, at: event.at } });
    case "budget.alerted":
      noted(run, event.notices);
      return run;
    case "run.undone":
    case "state.restored":
      return run;
    case "notice.delivered":
      return taken(run, event.notice_id);
    case "gate.opened":
    case "gate.endorsed":
    case "gate.approved":
    case "gate.amended":
    case "gate.escalated":
    case "gate.rejected":
    case "gate.expired":
    case "gate.closed":
    case "gate.contested":
      return evolveGate(run, event);
    default:
      return evolveStep(run, event);
  }
}

const NONE: readonly never[] = [];

function born(run: MutableRun, event: Extract<Event, { type: "run.accepted" }>): MutableRun {
  const plan = event.plan && { ...event.plan, steps: event.plan.steps.map(full) };
  const steps = (plan?.steps ?? []).map(
    (spec, index): Step => ({
      index,
      spec,
      pin: event.tools[spec.name] ?? null,
      cause: null,
      missing: spec.depends_on.length,
      standing: spec.depends_on.length === 0 ? { state: "ready" } : { state: "pending" },
      attempts: 0,
      forgiven: 0,
      call: null,
      gate: null,
      act: null,
      reserved: NONE,
      world: null,
      heartbeat: null,
      captures: NONE,
      checkpoint: null,
    }),
  );
  const fresh = steps.filter((step) => step.missing === 0).map((step) => step.index);
  const { type: _type, at, run_id: id, ...given } = event;
  const index = StepIndex.of(plan?.steps ?? []);
  return Object.assign(run, given, {
    id,
    accepted_at: at,
    plan,
    open: plan === null,
    steps: Vector.from(steps),
    index,
    dependents: plan === null ? [] : dependents(plan, index),
    paces: { ...run.paces, moving: fresh.length, blocked: steps.length - fresh.length },
    fresh,
  });
}

function cancelled(run: MutableRun): MutableRun {
  for (const step of run.steps) {
    if (isIdle(step) && !isUndo(step)) withdrawn(run, step, { state: "cancelled" });
  }
  return run;
}
