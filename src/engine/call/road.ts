import type { Grant } from "../../core/decide/command.ts";
import type { Step } from "../../core/run/run.ts";
import { acquire, isAct } from "./acquire.ts";
import { actAttempt } from "./acts-in-flight.ts";
import { admit } from "./admit.ts";
import type { CallContext } from "./call-context.ts";
import { CallResources } from "./call-resources.ts";
import { commit } from "./commit.ts";
import { dispatch } from "./dispatch.ts";
import { execute } from "./execute.ts";
import { propose } from "./propose.ts";

/**
 * The road: the six stages that every call passes. A stage returns a promise only if it has to wait, so the handler of a
 * plain step starts in the same turn of the event loop.
 */
export async function walkRoad(context: CallContext, step: Step): Promise<void> {
  const resources = new CallResources();
  let act: Grant | null = null;
  try {
    // Makes the call: its tool, its resolved input, its identity.
    const proposing = propose(context, step);
    const proposal = proposing instanceof Promise ? await proposing : proposing;

    // Judges it, captures resources, and records the decision, with the ledger row of an act. A plain call needs no record
    // of its start. A step without a handler, such as an assertion, ends here.
    const admitting = admit(context, step, proposal, resources);
    const { grant } = admitting instanceof Promise ? await admitting : admitting;
    resources.captured?.markOnRecord(grant !== null); // Without a grant no event names the captures, so `release` drops them.
    if (grant === null) return; // The call does not start now: it is held, refused, waiting, answered or already over.
    if (isAct(grant)) act = grant;

    // Opens a draft of the state, and writes the send marker of an act. If the call cannot be made,
    // `obstacle` is the report that `commit` records.
    const acquiring = acquire(context, step, grant, resources);
    const obstacle = acquiring instanceof Promise ? await acquiring : acquiring;

    // Checks lease, halt and cancellation once more, and calls the handler.
    const executing = obstacle ?? execute(context, step, grant, resources);
    const report = executing instanceof Promise ? await executing : executing;

    if (report === null) return; // The host of the agent works on the call, and reports its end later, with its token.

    // Restores the resources of a failed attempt, and records the outcome with the changes of the state.
    const committed = await commit(context, step, grant, report, resources);

    // Queues the notices of a success for delivery, and records budget alerts.
    const dispatching = dispatch(context, grant, report, committed);
    if (dispatching !== null) await dispatching;
  } catch (error) {
    if (act !== null) reportUnlessRunning(context, act, resources);
    throw error;
  } finally {
    if (act !== null && !resources.called) context.ports.actsInFlight.delete(actAttempt(context.mailbox.run, act));
    const releasing = resources.release();
    if (releasing !== null) await releasing;
  }
}

/**
 * Called when a stage threw after an act was granted. Reports the act as returned unless its handler still runs, so that
 * the worker that has the run now may ask a verifier.
 */
function reportUnlessRunning(context: CallContext, act: Grant, { called }: CallResources): void {
  const isRunning = called && context.ports.actsInFlight.has(actAttempt(context.mailbox.run, act));
  if (!isRunning) context.reportReturn(act);
}
