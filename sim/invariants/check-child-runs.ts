import type { Notice } from "../../src/core/event/event.ts";
import { signalRequestKey } from "../../src/core/evolve/event-rows.ts";
import { childEndSignal } from "../../src/core/run/child-run-notices.ts";
import type { Run, Step } from "../../src/core/run/run.ts";
import type { RunId, StepId } from "../../src/core/values/ids.ts";
import { childRunId } from "../../src/engine/call/child-run-port.ts";
import type { ObservedEvent } from "../journal-observer.ts";
import type { SimContext } from "../sim-context.ts";

/** I16: a child run belongs to the tenant of the step that started it, and the step has the result of its child run. */
export function checkChildRuns({ sim, observedRun, before, event, after }: ObservedEvent): void {
  if (event.type === "run.ended") observedRun.endStatuses.add(event.status);
  if (event.type === "run.accepted" && event.parent !== undefined) {
    const { run_id, step_id } = event.parent;
    const parent = sim.observer.get(run_id)?.run;
    const index = parent?.index.get(step_id);
    const step = index === undefined ? undefined : parent?.steps.get(index);
    sim.counts.children += 1;
    if (step?.spec.kind !== "run" || parent?.tenant !== after.tenant)
      sim.violate(`I16: ${event.run_id} was started by no step of its tenant`);
    const continues = parent?.cancel === null && parent.stopped === null;
    if (!isReadyStep(step?.standing) && continues && event.at > lastMoveTime(sim, parent, step_id))
      sim.violate(`I16: ${event.run_id} was started by a step that is ${step?.standing.state}`);
  }
  if (event.type === "notice.delivered") checkDelivered(sim, before, before.notices.get(event.notice_id));
  if (event.type !== "step.succeeded" && event.type !== "step.failed") return;
  if ("reused" in event && before.forked !== null) return; // A fork takes over the results of child runs.
  if (before.steps.get(before.index.get(event.step_id) as number).spec.kind !== "run") return;
  const result = (event.type === "step.succeeded" ? event.output : event.fault.detail) as unknown as ChildResult;
  const child = sim.observer.get(result.run_id)?.run;
  if (child?.parent?.run_id !== before.id || child.parent.step_id !== event.step_id)
    sim.violate(`I16: ${before.id} ${event.step_id} has the result of ${result.run_id}, which is not its child run`);
  if (!sim.observer.get(result.run_id)?.endStatuses.has(result.status))
    sim.violate(
      `I16: ${before.id} ${event.step_id} has the status ${result.status} of ${result.run_id}, which never had it`,
    );
}

/** A step that waits for the end of a halt starts its child run from that state. */
function isReadyStep(standing: Step["standing"] | undefined): boolean {
  return standing?.state === "ready" || (standing?.state === "waiting" && standing.on.for === "halt");
}

/**
 * Returns the time of the last event of a step. A child run accepted later than a step moved on may have been requested
 * before it.
 */
function lastMoveTime({ tables }: SimContext, { tenant, id }: Run, step: StepId): number {
  const about = (tables.events.get(tenant, id) ?? []).filter(({ body }) => {
    const { step_id } = JSON.parse(body ?? "{}") as { readonly step_id?: string };
    return step_id === step;
  });
  return about.at(-1)?.at ?? 0;
}

/** A delivered report has reached the parent; a delivered cancellation has cancelled the child run or it had ended. */
function checkDelivered({ observer, tables, violate }: SimContext, run: Run, notice: Notice | undefined): void {
  if (notice?.kin === "report") {
    const key = signalRequestKey(childEndSignal(run.id), notice.notice_id);
    if (tables.row(run.tenant, "request", key) === null)
      violate(`I16: the parent of ${run.id} has no report of its end`);
  }
  if (notice?.kin === "cancel") {
    const { step_id } = notice.payload as { readonly step_id: StepId };
    const id = childRunId(run.id, step_id);
    const child = observer.get(id);
    const { cancel, ended } = child?.run ?? { cancel: null, ended: null };
    // A child run that had ended before the cancellation may be resumed by a person.
    if (cancel === null && ended === null && (child === undefined || child.endStatuses.size === 0))
      violate(`I16: ${run.id} was cancelled, but its child run ${id} continues or may still start`);
  }
}

interface ChildResult {
  readonly run_id: RunId;
  readonly status: string;
}
