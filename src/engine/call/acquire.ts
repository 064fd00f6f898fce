import type { Grant } from "../../core/decide/command.ts";
import type { Step } from "../../core/run/run.ts";
import { fault } from "../../core/values/fault.ts";
import { FencedError, isStoreFault } from "../journal/append-errors.ts";
import { AttemptState } from "../state/attempt-state.ts";
import { actAttempt } from "./acts-in-flight.ts";
import { type AttemptReport, notCalled } from "./attempt-report.ts";
import type { CallContext } from "./call-context.ts";
import type { CallResources } from "./call-resources.ts";
import { STORE_TOO_SLOW } from "./check-before-call.ts";
import { driftFault } from "./preview-call.ts";

/**
 * Stage 3. `admit` has acquired the ledger row of an act with its `step.started` event. This stage acquires the rest: a
 * draft of the state, and the send marker of an act or of the work of a host. Returns null, or why the call is not made.
 */
export function acquire(
  context: CallContext,
  step: Step,
  grant: Grant,
  resources: CallResources,
): AttemptReport | null | Promise<AttemptReport | null> {
  const hasState = context.ports.slices.length > 0;
  if (!hasState && step.spec.expected_effects.length > 0) return NO_SLICES;
  return hasState || isMarked(grant) ? acquireStateAndMarker(context, step, grant, resources) : null;
}

const NO_SLICES = notCalled(
  fault("STATE_FORBIDDEN", "the plan expects changes of state, and this engine has no slices"),
);

/** Recovery looks for the marker of an act, and of a call that a host does itself. */
function isMarked(grant: Grant): boolean {
  return isAct(grant) || grant.proposal.external !== undefined;
}

/** Only an act has a generation: the number of times that its key was executed. */
export function isAct({ generation }: Grant): boolean {
  return generation > 0;
}

async function acquireStateAndMarker(
  context: CallContext,
  step: Step,
  grant: Grant,
  resources: CallResources,
): Promise<AttemptReport | null> {
  const { ports, mailbox } = context;
  if (ports.slices.length > 0) {
    resources.state = await AttemptState.open(ports, mailbox.run, step, grant.proposal.policy_state);
    const drift = driftFault(ports, mailbox.run, grant, resources.state);
    if (drift !== null) return notCalled(drift);
  }
  return !isMarked(grant) || (await writeMarker(context, grant)) ? null : STORE_TOO_SLOW;
}

/**
 * Writes the send marker of an act. Returns false if the store failed: whether the marker exists is then unknown, and
 * the act is not called.
 */
async function writeMarker({ ports, claim, mailbox }: CallContext, { step_id, attempt }: Grant): Promise<boolean> {
  ports.failpoint("start.after");
  ports.actsInFlight.add(actAttempt(mailbox.run, { step_id, attempt }));
  try {
    if (!(await ports.store.mark(claim, step_id, attempt)))
      throw new FencedError("another worker claimed the run before the call");
  } catch (error) {
    if (isStoreFault(error)) return false;
    throw error;
  }
  ports.failpoint("mark.after");
  return true;
}
