import type { Grant } from "../../core/decide/command.ts";
import { stepKinds } from "../../core/plan/step-kinds.ts";
import { findStep, type Run, type Step } from "../../core/run/run.ts";
import { startsNoMore } from "../../core/run/starts-no-more.ts";
import { CALL_WITHIN_MS, isReversal } from "../../core/run/step.ts";
import { waitTimes } from "../../core/time/wait-times.ts";
import { worseEffect } from "../../core/values/effect.ts";
import { fault } from "../../core/values/fault.ts";
import type { Instant } from "../../core/values/ids.ts";
import { FencedError, isStoreFault } from "../journal/append-errors.ts";
import { type AttemptReport, notCalled } from "./attempt-report.ts";
import type { CallContext } from "./call-context.ts";

/**
 * Checks right before the call what may have changed while the store was slow or this process was suspended. Returns
 * null if the call may be made now. Else returns a promise: the reason why the call is not made, or null, which means
 * check again, because another fact may have grown old meanwhile.
 */
export function checkBeforeCall(context: CallContext, step: Step, grant: Grant): Promise<AttemptReport | null> | null {
  const { ports, mailbox, claim } = context;
  const now = ports.clock.now();
  if (isCancelled(mailbox.run, step)) return Promise.resolve(CANCELLED);
  if (ports.toolbox.pinned(step.spec.name, step.pin) === null) return Promise.resolve(TOOL_GONE);
  if (grant.generation > 0 && isTooLate(mailbox.run, grant, now)) return Promise.resolve(STORE_TOO_SLOW);
  if (!mailbox.isAccepted) {
    if (observesOutside(context, step)) return waitForAcceptance(context);
  } else if (!ports.leases.isProven(claim)) {
    return confirmLease(context, grant);
  }
  if (isReversal(step) || !stepKinds[step.spec.kind].haltable) return null;
  if (!haltsAreFresh(context, grant, now) || ports.halts.isOutdated(mailbox.run)) return refreshHalts(context, grant);
  return ports.halts.of(mailbox.run).halt === null ? null : Promise.resolve(HALTED);
}

/** Returns whether the handler may look at or change anything but its input and the state of its project. */
function observesOutside({ ports }: CallContext, { spec: { name, effect } }: Step): boolean {
  const effects = worseEffect(effect, ports.toolbox.facts(name)?.effect ?? "acts");
  return effects === "reads" || effects === "acts";
}

/** No other worker knows a run that is not accepted yet, but a call that can be observed is made only for a run on record. */
async function waitForAcceptance({ mailbox }: CallContext): Promise<null> {
  await mailbox.storeResults();
  return null;
}

/**
 * Asks the store for the lease, because this process may have been suspended for longer than the lease lasts. If the
 * store fails, a call whose start is on record is not made. Without a recorded start there is nothing to end, so the
 * fault of the store is thrown.
 */
async function confirmLease({ ports, claim }: CallContext, { recorded }: Grant): Promise<AttemptReport | null> {
  try {
    if (await ports.leases.confirm(claim)) return null;
  } catch (error) {
    if (recorded && isStoreFault(error)) return STORE_TOO_SLOW;
    throw error;
  }
  throw new FencedError("another worker claimed the run while this process was suspended");
}

/** Reads the halts again: a halt may have been set after the start was decided. */
async function refreshHalts(context: CallContext, grant: Grant): Promise<AttemptReport | null> {
  const { ports, mailbox } = context;
  try {
    await ports.halts.refresh(mailbox.run);
  } catch (error) {
    // Only this process knows that the call was not made, so it records that.
    if (grant.recorded && isStoreFault(error)) return HALTED;
    throw error;
  }
  return haltsAreFresh(context, grant, ports.clock.now()) ? null : HALTED;
}

/** True if the halts were read recently enough. The append of a recorded start has checked the halt rows, too. */
function haltsAreFresh({ ports, mailbox }: CallContext, { recorded, started_at }: Grant, now: Instant): boolean {
  if (!recorded) return ports.halts.isFresh(mailbox.run);
  const since = now - started_at;
  const freshMs = waitTimes.recordedCallHaltCacheMs;
  return (since >= 0 && since < freshMs) || ports.halts.isFresh(mailbox.run, freshMs);
}

/**
 * True if the run was cancelled or closed after the start, or a branch has left the call. Neither stops a call that is
 * sent again to settle a doubt.
 */
function isCancelled(run: Run, step: Step): boolean {
  return startsNoMore(run, step) && !isReversal(step) && !step.act?.doubt;
}

/** True if the start is so old that recovery could not tell this call from one never made, or the promise has expired. */
function isTooLate(run: Run, { step_id, started_at }: Grant, now: Instant): boolean {
  const until = findStep(run, step_id)?.act?.doubt?.doubt.exits.resend_until ?? null;
  return now - started_at > CALL_WITHIN_MS || (until !== null && now >= until);
}

export const STORE_TOO_SLOW = notCalled(
  fault("CALL_NOT_MADE", "the call was not made: the store failed, or took too long to record its start"),
);

const HALTED = notCalled(
  fault("CALL_NOT_MADE", "the call was not made: a halt was set, or could not be ruled out, before it was sent"),
);

const TOOL_GONE = notCalled(fault("CALL_NOT_MADE", "the call was not made: its tool was removed or replaced before"));

const CANCELLED = notCalled(
  fault("CANCELLED", "the run was cancelled or closed, or a branch left the call, before it was made"),
);
