import type { Step } from "../../core/run/run.ts";
import { acquire } from "./acquire.ts";
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
  try {
    const proposing = propose(context, step);
    const proposal = proposing instanceof Promise ? await proposing : proposing;

    const admitting = admit(context, step, proposal, resources);
    const { grant } = admitting instanceof Promise ? await admitting : admitting;
    resources.captured?.markOnRecord(grant !== null);
    if (grant === null) return; // The call does not start now: it is held, refused, parked or reused, on record.

    const acquiring = acquire(context, step, grant, resources);
    const obstacle = acquiring instanceof Promise ? await acquiring : acquiring;

    const executing = obstacle ?? execute(context, step, grant, resources);
    const report = executing instanceof Promise ? await executing : executing;

    if (report === null) return; // The host of the agent works on the call, and ends it by its token.

    const committed = await commit(context, step, grant, report, resources);

    const dispatching = dispatch(context, grant, report, committed);
    if (dispatching !== null) await dispatching;
  } finally {
    const releasing = resources.release();
    if (releasing !== null) await releasing;
  }
}
