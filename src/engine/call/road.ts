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
 * The road: the six stages that every call passes. The first three return a promise only if they have to wait, so the
 * handler of a plain step starts in the same turn of the event loop.
 */
export async function walkRoad(context: CallContext, step: Step): Promise<void> {
  const resources = new CallResources();
  let act: Grant | null = null;
  try {
    const proposing = propose(context, step);
    const proposal = proposing instanceof Promise ? await proposing : proposing;

    const admitting = admit(context, step, proposal, resources);
    const { grant } = admitting instanceof Promise ? await admitting : admitting;
    resources.captured?.markOnRecord(grant !== null);
    if (grant === null) return; // The call does not start now: it is held, refused, parked or reused, on record.
    if (isAct(grant)) act = grant;

    const acquiring = acquire(context, step, grant, resources);
    const obstacle = acquiring instanceof Promise ? await acquiring : acquiring;

    const executing = obstacle ?? execute(context, step, grant, resources);
    const report = executing instanceof Promise ? await executing : executing;

    if (report === null) return; // The host of the agent works on the call, and ends it by its token.

    const committed = await commit(context, step, grant, report, resources);

    const dispatching = dispatch(context, grant, report, committed);
    if (dispatching !== null) await dispatching;
  } catch (error) {
    if (act !== null) reportIfReturned(context, act, resources);
    throw error;
  } finally {
    if (act !== null && !resources.called) context.ports.actsInFlight.delete(actAttempt(context.mailbox.run, act));
    const releasing = resources.release();
    if (releasing !== null) await releasing;
  }
}

/** The end of the act could not be recorded under the lease. If its handler has returned, another worker has to know. */
function reportIfReturned(context: CallContext, act: Grant, { called }: CallResources): void {
  const isRunning = called && context.ports.actsInFlight.has(actAttempt(context.mailbox.run, act));
  if (!isRunning) context.reportReturn(act);
}
