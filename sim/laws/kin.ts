import { endSignal } from "../../src/core/child.ts";
import type { Notice } from "../../src/core/event.ts";
import type { RunId, StepId } from "../../src/core/id.ts";
import { signalRequestKey } from "../../src/core/rows-of.ts";
import type { Run, Step } from "../../src/core/run.ts";
import { childOf } from "../../src/engine/road/kin.ts";
import type { Fact } from "../record.ts";
import type { Scene } from "../scene.ts";

/** I16: a run that a step asked for is of its tenant and was asked for, and what the step has of it is what became of it. */
export function judgeKin({ scene, kept, before, event, after }: Fact): void {
  if (event.type === "run.ended") kept.ends.add(event.status);
  if (event.type === "run.accepted" && event.parent !== undefined) {
    const { run_id, step_id } = event.parent;
    const asking = scene.record.get(run_id)?.run;
    const index = asking?.index.get(step_id);
    const step = index === undefined ? undefined : asking?.steps.get(index);
    scene.counts.children += 1;
    if (step?.spec.kind !== "run" || asking?.tenant !== after.tenant)
      scene.violate(`I16: ${event.run_id} was asked for by nobody`);
    const stands = asking?.cancel === null && asking.stopped === null;
    if (!isReady(step?.standing) && stands && event.at > lastMoved(scene, asking, step_id))
      scene.violate(`I16: ${event.run_id} was asked for by a step that is ${step?.standing.state}`);
  }
  if (event.type === "notice.delivered") carried(scene, before, before.notices.get(event.notice_id));
  if (event.type !== "step.succeeded" && event.type !== "step.failed") return;
  if ("reused" in event && before.forked !== null) return; // What another run was told is taken over with the rest.
  if (before.steps.get(before.index.get(event.step_id) as number).spec.kind !== "run") return;
  const told = (event.type === "step.succeeded" ? event.output : event.fault.detail) as unknown as Told;
  const child = scene.record.get(told.run_id)?.run;
  if (child?.parent?.run_id !== before.id || child.parent.step_id !== event.step_id)
    scene.violate(`I16: ${before.id} ${event.step_id} was told of ${told.run_id}, which is none of its own`);
  if (!scene.record.get(told.run_id)?.ends.has(told.status))
    scene.violate(
      `I16: ${before.id} ${event.step_id} was told that ${told.run_id} is ${told.status}, which it never was`,
    );
}

/** What was halted goes on from where it waited. */
function isReady(standing: Step["standing"] | undefined): boolean {
  return standing?.state === "ready" || (standing?.state === "waiting" && standing.on.for === "halt");
}

/** When a step last moved. What was asked for before that and arrived behind it, late, was asked for all the same. */
function lastMoved({ tables }: Scene, { tenant, id }: Run, step: StepId): number {
  const about = (tables.events.get(tenant, id) ?? []).filter(({ body }) => {
    const { step_id } = JSON.parse(body ?? "{}") as { readonly step_id?: string };
    return step_id === step;
  });
  return about.at(-1)?.at ?? 0;
}

/** Word was carried: what is said to be told was told, and what is said to be cancelled was, or has ended. */
function carried({ record, tables, violate }: Scene, run: Run, notice: Notice | undefined): void {
  if (notice?.kin === "report") {
    const key = signalRequestKey(endSignal(run.id), notice.notice_id);
    if (tables.row(run.tenant, "request", key) === null) violate(`I16: nobody was told that ${run.id} has ended`);
  }
  if (notice?.kin === "cancel") {
    const { step_id } = notice.payload as { readonly step_id: StepId };
    const id = childOf(run.id, step_id);
    const child = record.get(id);
    const { cancel, ended } = child?.run ?? { cancel: null, ended: null };
    // One that had ended when the word came is nobody's any more: whoever resumes it wants it to go on.
    if (cancel === null && ended === null && (child === undefined || child.ends.size === 0))
      violate(`I16: ${run.id} was cancelled, and ${id} goes on or may still come`);
  }
}

interface Told {
  readonly run_id: RunId;
  readonly status: string;
}
