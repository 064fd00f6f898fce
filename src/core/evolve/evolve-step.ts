import type { Call, Event, StepEvent } from "../event/event.ts";
import type { LedgerRowVersion } from "../event/ledger-row-version.ts";

import { planStep } from "../plan/plan.ts";
import { callKey } from "../run/find-call-step.ts";
import { outputProvenance } from "../run/output-provenance.ts";
import { isReplanStep } from "../run/plan-in-force.ts";
import { findStep, getStep, type MutableRun } from "../run/run.ts";
import { type Act, copyStep, isReversal, newStep, type Step, stepPace, undoStepId } from "../run/step.ts";
import { addAttemptTime } from "../run/step-times.ts";
import { applyFailurePolicy, moveStep, reopenStep, replaceStep } from "../run/step-transition.ts";
import type { Cost } from "../tool/tool.ts";
import { assert, unreachable } from "../values/assert.ts";
import { fault, isFreeRetry } from "../values/fault.ts";
import type { StepId } from "../values/ids.ts";
import { addExternalChanges } from "./add-external-changes.ts";
import { putGate } from "./evolve-gate.ts";
import { applyModelProposed, followModelStep, settleBranchAct } from "./evolve-model.ts";
import { applyReplanAnswer, applyReplanAsked, endReplanning } from "./evolve-replan.ts";
import { addNotices } from "./pending-notices.ts";
import { stepCheckpoint, watchedCheckpoint } from "./step-checkpoint.ts";
import { toReservations, updateReservations } from "./step-reservations.ts";

/** Applies an event of a step to the run. */
export function evolveStep(run: MutableRun, event: Event & StepEvent): MutableRun {
  if (event.type === "step.proposed") return applyProposed(run, event);
  const step = getStep(run, event);
  switch (event.type) {
    case "step.started":
      return applyStarted(run, step, event);
    case "step.succeeded":
      return applySucceeded(run, step, event);
    case "step.failed":
      return applyFailed(run, step, event);
    case "step.cancelled":
      return applyCancelled(run, step, event);
    case "step.doubted":
      return applyDoubted(run, step, event);
    case "step.probed":
      return applyProbed(run, step, event);
    case "step.settled":
      return applySettled(run, step, event);
    case "step.readied":
      return reopenStep(run, stepPace(step.standing) === "done" ? { ...step, forgiven: step.attempts } : step);
    case "step.restoring":
      return event.lost ? run : replaceStep(run, { ...step, failure: event.fault });
    case "step.restored":
      return replaceStep(run, { ...step, captures: NONE, checkpoint: watchedCheckpoint(run, step) });
    case "step.rejected": {
      if (event.fault.code === "ABORTED") return moveStep(run, step, { state: "skipped", fault: event.fault });
      const rejected = { ...step, world: "permanent_failure" as const };
      return applyFailurePolicy(
        moveStep(run, rejected, { state: "rejected", fault: event.fault, rule: event.rule }),
        step,
        event,
      );
    }
    case "step.parked":
      return moveStep(run, step, { state: "waiting", on: event.on });
    case "step.compensating":
      return applyCompensating(run, step, event);
    case "step.compensated":
      return applyCompensated(run, step, event);
    case "step.uncompensated": {
      const act = actWithLedger(step, event.ledger, "compensation_failed");
      return applyFailurePolicy(
        moveStep(run, { ...step, act }, { state: "compensation_failed", fault: event.fault }),
        step,
        event,
      );
    }
    case "step.superseded":
      return replaceStep(run, { ...step, act: { ...requireAct(step), superseded: true } });
    case "step.delegated":
      return replaceStep(run, { ...step, delegated: event.run_id });
    case "step.delivered":
      return Object.assign(run, { delivered: run.delivered.set(event.step_id, true) });
    case "evidence.kept":
      return run;
    default:
      return unreachable(event);
  }
}

/**
 * Records what verifiers found. "unknown" does not replace an earlier answer if a principal asked, so that a request
 * never stops a run because a verifier was unreachable.
 */
export function applyVerified(run: MutableRun, { by, acts }: EventOf<"run.verified">): MutableRun {
  const { position } = run;
  run.confirmations = { ...run.confirmations, verified: position };
  for (const { step_id, found, why } of acts) {
    const step = getStep(run, { step_id });
    if (step.act === null || (by !== null && (found === "unknown" || found === "not_verifiable"))) continue;
    replaceStep(run, { ...step, act: { ...step.act, verified: { position, found, why } } });
  }
  return run;
}

type EventOf<Type extends Event["type"]> = Extract<Event, { type: Type }>;

/** In a run that is cancelled or stopped, the new step is cancelled or skipped at once, unless it is an undo. */
function applyProposed(run: MutableRun, event: EventOf<"step.proposed">): MutableRun {
  assert(!run.index.has(event.step_id), `no other step has the id ${event.step_id}`);
  const step = newStep(run.steps.length, planStep(event.step), event.pin, event.cause, 0);
  run.steps = run.steps.push(step);
  run.index = run.index.set(event.step_id, step.index);
  run.paces = { ...run.paces, moving: run.paces.moving + 1 };
  if (event.cause.by === "agent") {
    run.driven = true;
    const { call, reuses } = event.cause;
    if (call !== undefined) run.calls = run.calls.set(callKey(call, reuses), step.index);
    if (event.cause.model !== undefined) applyModelProposed(run, step, event.cause.model);
  }
  if (event.cause.by === "replan") applyReplanAsked(run);
  return reopenStep(run, step);
}

function sentCalls({ attempt, worker }: EventOf<"step.started">): Act["sent"] {
  return worker === undefined ? NONE : [{ attempt, worker }];
}

function applyStarted(run: MutableRun, step: Step, event: EventOf<"step.started">): MutableRun {
  const resent = step.act?.doubt ? step.act : null;
  const act: Act | null = event.ledger && {
    state: "started",
    attempt: event.attempt,
    started_at: event.at,
    boot: event.boot,
    receipt: null,
    output: null,
    changes: resent?.changes ?? NONE,
    usable: true,
    sent_at: resent?.sent_at ?? event.at,
    sends: (resent?.sends ?? 0) + 1,
    sent: [...(resent?.sent ?? NONE), ...sentCalls(event)],
    confirm: event.confirm ?? null,
    ...(event.reversible && { reversible: true }),
    verified: null,
    doubt: resent?.doubt ?? null,
    ...event.ledger,
  };
  const started = copyStep(step);
  started.captures = event.captures ?? NONE;
  started.failure = null;
  for (const { resource, host } of started.captures) if (host !== null) run.bound = { ...run.bound, [resource]: host };
  started.attempts = event.attempt;
  started.call = event.call;
  started.act = act;
  started.external =
    event.external === undefined ? null : { ...event.external, attempt: event.attempt, boot: event.boot };
  if (event.confirm !== undefined) run.confirmations = { ...run.confirmations, wanted: true };
  started.reserved = resent === null ? toReservations(event.charges) : step.reserved;
  const running = { state: "running", attempt: event.attempt, started_at: event.at } as const;
  const standing = event.external === undefined ? running : { ...running, until: event.external.until };
  const gate = event.gate && run.gates.get(event.gate.gate_id);
  if (gate) putGate(run, { ...gate, status: "consumed" });
  return moveStep(countAttempt(run, step, event), started, standing);
}

const NONE: readonly never[] = [];

function applySucceeded(run: MutableRun, step: Step, event: EventOf<"step.succeeded">): MutableRun {
  const act =
    event.ledger === undefined
      ? step.act
      : {
          ...actWithLedger(step, event.ledger, "committed"),
          receipt: run.position,
          output: event.output,
          ...addExternalChanges(step, event),
        };
  const done = copyStep(step);
  done.attempts = event.attempt;
  done.act = act;
  done.reserved = NONE;
  done.world = event.world;
  done.captures = NONE;
  done.checkpoint = stepCheckpoint(run, step, event, step.captures);
  done.times = addAttemptTime(step.times, event.started_at, event.at);
  moveStep(countAttempt(run, step, event), done, {
    state: "succeeded",
    output: event.output,
    reused: event.reused ?? null,
    outcome: event.outcome ?? null,
    at: event.at,
  });
  for (const notice of event.notices ?? []) run.notices = run.notices.set(notice.notice_id, notice);
  followModelStep(run, step);
  if (isReplanStep(step)) applyReplanAnswer(run, event);
  settleBranchAct(run, event.step_id, event.reused);
  return releaseDependents(run, step);
}

/** Counts the step as done for its dependents; those without another missing dependency become ready. */
function releaseDependents(run: MutableRun, done: Step): MutableRun {
  if (!isReversal(done) && !isReplanStep(done)) run.succeeded += 1;
  for (const at of run.order.dependents[done.index] ?? []) {
    const step = run.steps.get(at);
    if (step.standing.state !== "pending") continue;
    const dependent = copyStep(step);
    dependent.missing -= 1;
    if (dependent.missing === 0) moveStep(run, dependent, { state: "ready" });
    else replaceStep(run, dependent);
  }
  return run;
}

function applyFailed(run: MutableRun, step: Step, event: EventOf<"step.failed">): MutableRun {
  const happened = event.output !== undefined;
  const act =
    event.ledger === undefined
      ? step.act
      : {
          ...actWithLedger(step, event.ledger, happened ? "committed" : "not_done"),
          receipt: happened ? run.position : null,
          output: event.output ?? null,
          usable: !happened,
          ...addExternalChanges(step, event),
        };
  const heartbeat = event.heartbeat ?? step.heartbeat;
  const checkpoint = stepCheckpoint(run, step, event, NONE);
  const forgiven = isFreeRetry(event.fault) ? step.forgiven + 1 : step.forgiven;
  const times = addAttemptTime(step.times, event.started_at, event.at);
  const ended = { attempts: event.attempt, world: event.world, heartbeat, checkpoint, times };
  // The approval was for a preview that no longer holds.
  const gate = event.fault.code === "PREVIEW_STALE" ? null : step.gate;
  const failed = { ...step, ...ended, forgiven, act, gate, reserved: NONE };
  const after = countAttempt(run, step, event);
  if (event.retry_at !== null) {
    return moveStep(after, failed, { state: "failed_retryable", fault: event.fault, retry_at: event.retry_at });
  }
  const state = event.skips === true ? "skipped" : "failed_final";
  return applyFailurePolicy(moveStep(after, failed, { state, fault: event.fault }), step, event);
}

function applyDoubted(run: MutableRun, step: Step, event: EventOf<"step.doubted">): MutableRun {
  addNotices(run, event.notices);
  const known = { ...actWithLedger(step, event.ledger, "in_doubt"), ...addExternalChanges(step, event) };
  const act = event.alive ? known : { ...known, sent: NONE };
  const { exits } = event;
  const next = exits.verify || exits.resend_until !== null ? ({ do: "settle" } as const) : ({ do: "ask" } as const);
  return moveStep(
    countAttempt(run, step, event),
    {
      ...step,
      act,
      reserved: updateReservations(step, event),
      world: "in_doubt",
      heartbeat: event.heartbeat ?? step.heartbeat,
      times: addAttemptTime(step.times, act.started_at, event.at),
    },
    {
      state: "in_doubt",
      fault: event.fault,
      since: event.at,
      doubt: { exits, alive: event.alive ?? false, absent_at: null, next },
    },
  );
}

function applyProbed(run: MutableRun, step: Step, event: EventOf<"step.probed">): MutableRun {
  const standing = step.standing.state === "in_doubt" ? step.standing : step.act?.doubt;
  assert(standing != null, "only an act in doubt is probed");
  const next = event.next_at === null ? ({ do: "ask" } as const) : ({ do: "look_again", at: event.next_at } as const);
  const absent_at = event.saw === "absent" ? event.at : null;
  return moveStep(run, step, { ...standing, doubt: { ...standing.doubt, absent_at, next } });
}

function applySettled(run: MutableRun, doubted: Step, event: EventOf<"step.settled">): MutableRun {
  const { settled, ledger } = event;
  if (settled.as === "resend") return applyResend(run, doubted);
  const step = { ...doubted, reserved: NONE };
  // A person has put the resources of a call that does not act in order.
  if (step.captures.length > 0 && ledger === null) return replaceStep(run, { ...step, captures: NONE });
  assert(ledger !== null, "settling an act changes its ledger row");
  if (settled.as === "happened") {
    const act = {
      ...actWithLedger(step, ledger, "committed"),
      receipt: run.position,
      output: settled.output,
      usable: settled.fault === null,
    };
    if (settled.fault !== null) {
      const failed = { ...step, act, world: "compensatable_failure" as const };
      return applyFailurePolicy(moveStep(run, failed, { state: "failed_final", fault: settled.fault }), step, event);
    }
    const succeeded = { ...step, act, world: "side_effect_committed" as const };
    const after = moveStep(run, succeeded, {
      state: "succeeded",
      output: settled.output,
      reused: null,
      outcome: outputProvenance(run.id, step, (step.call as Call).digest, null),
      at: event.at,
    });
    return releaseDependents(after, step);
  }
  if (settled.as === "given_up") {
    const unknown = fault(
      "OUTCOME_UNKNOWN",
      `${event.by} gave up on ${step.spec.step_id}: ${event.reason || "no reason given"}`,
    );
    const givenUp = { ...step, act: actWithLedger(step, ledger, "given_up"), world: "permanent_failure" as const };
    return applyFailurePolicy(moveStep(run, givenUp, { state: "failed_final", fault: unknown }), step, event);
  }
  return reopenStep(run, { ...step, act: actWithLedger(step, ledger, settled.as), world: null });
}

/** The identical call is sent again. Until it ends, only a person can settle whether the first call happened. */
function applyResend(run: MutableRun, step: Step): MutableRun {
  const { standing } = step;
  assert(standing.state === "in_doubt", "only an act in doubt is sent again");
  const doubt = { ...standing, doubt: { ...standing.doubt, next: { do: "ask" } as const } };
  return moveStep(run, { ...step, act: { ...requireAct(step), doubt } }, { state: "ready" });
}

function applyCompensating(run: MutableRun, step: Step, event: EventOf<"step.compensating">): MutableRun {
  const act = actWithLedger(step, event.ledger, "compensating");
  const undo = undoStepId(step, act.generation);
  if (step.standing.state === "succeeded") withholdFromDependents(run, step);
  updateUndoRequester(run, undo, event.by);
  endReplanning(run, true);
  return moveStep(run, { ...step, act }, { state: "compensating", undo });
}

/** If an undo is requested again, its requester is the principal of the latest request. */
function updateUndoRequester(run: MutableRun, undo: StepId, asked_by: string): void {
  const step = findStep(run, undo);
  if (step?.cause?.by === "undo") replaceStep(run, { ...step, cause: { ...step.cause, asked_by } });
}

/** The step no longer counts as succeeded, so its pending dependents wait for it again. */
function withholdFromDependents(run: MutableRun, { index }: Step): void {
  run.succeeded -= 1;
  for (const at of run.order.dependents[index] ?? []) {
    const step = run.steps.get(at);
    if (step.standing.state === "pending") replaceStep(run, { ...step, missing: step.missing + 1 });
  }
}

function applyCompensated(run: MutableRun, step: Step, event: EventOf<"step.compensated">): MutableRun {
  const act = actWithLedger(step, event.ledger, "compensated");
  return applyFailurePolicy(
    moveStep(run, { ...step, act, world: "compensated" }, { state: "compensated", confirmed: event.confirmed }),
    step,
    event,
  );
}

function requireAct(step: Step): Act {
  assert(step.act !== null, `${step.spec.step_id} has a ledger row`);
  return step.act;
}

function actWithLedger(step: Step, { version, generation, superseded }: LedgerRowVersion, state: Act["state"]): Act {
  const act = { ...requireAct(step), version, generation, state, doubt: null };
  return superseded ? { ...act, superseded } : act;
}

/** The handler of a cancelled or skipped step has ended. Only its cost is recorded. */
function applyCancelled(run: MutableRun, step: Step, event: EventOf<"step.cancelled">): MutableRun {
  const times = addAttemptTime(step.times, event.started_at, event.at);
  const cancelled = { ...step, attempts: event.attempt, reserved: NONE, times };
  const after = countAttempt(run, step, event);
  if (step.standing.state === "skipped" || step.standing.state === "cancelled") return replaceStep(after, cancelled);
  return applyFailurePolicy(moveStep(after, cancelled, { state: "cancelled" }), step, event);
}

/** Counts an attempt once, at its first event, and adds the cost that each event reports. */
function countAttempt(
  run: MutableRun,
  step: Step,
  { attempt, cost }: { readonly attempt: number; readonly cost?: Cost },
): MutableRun {
  const newAttempts = attempt > step.attempts ? 1 : 0;
  if (newAttempts === 0 && cost === undefined) return run;
  const { usd_micros, credits, tokens_in, tokens_out, attempts } = run.spent;
  run.spent = {
    usd_micros: usd_micros + (cost?.usd_micros ?? 0),
    credits: credits + (cost?.credits ?? 0),
    tokens_in: tokens_in + (cost?.tokens_in ?? 0),
    tokens_out: tokens_out + (cost?.tokens_out ?? 0),
    attempts: attempts + newAttempts,
  };
  return run;
}
