import { findStep } from "../../src/core/run.ts";
import type { Kept } from "../record.ts";
import type { Scene } from "../scene.ts";
import type { Dispatch } from "../world.ts";

const endings: readonly string[] = ["step.succeeded", "step.failed", "evidence.kept"];

/** What a tool answered to a worker that was neither fenced nor killed is on record. */
export function judgeAnswer(scene: Scene, dispatch: Dispatch): void {
  if (isOnRecord(scene, dispatch)) return;
  const { run, step, attempt } = dispatch;
  const state = findStep((scene.record.get(run) as Kept).run, step)?.standing.state;
  scene.violate(`${run} ${step}.${attempt} was answered, and the answer was dropped (${state})`);
}

/** Or nobody has to put it there, because the worker has lost the run since. */
export function isOnRecord({ record, tables }: Scene, { run, step, attempt, epoch }: Dispatch): boolean {
  const kept = record.get(run);
  if (kept === undefined || kept.epoch !== epoch) return true;
  const events = tables.events.get(kept.tenant, run) ?? [];
  return events.some(({ body, type }) => {
    if (!endings.includes(type)) return false;
    const event = JSON.parse(body ?? "{}") as { readonly step_id?: string; readonly attempt?: number };
    return event.step_id === step && event.attempt === attempt;
  });
}
