import { findStep } from "../../src/core/run.ts";
import type { Scene } from "../scene.ts";
import type { Dispatch } from "../world.ts";

const endings: readonly string[] = ["step.succeeded", "step.failed", "evidence.kept"];

/** What a tool answered to a worker that was neither fenced nor killed is on record. */
export function judgeAnswer({ record, tables, violate }: Scene, { run, step, attempt, epoch }: Dispatch): void {
  const kept = record.get(run);
  if (kept === undefined || kept.epoch !== epoch) return;
  const events = tables.events.get(kept.tenant, run) ?? [];
  const told = events.some(({ body, type }) => {
    if (!endings.includes(type)) return false;
    const event = JSON.parse(body ?? "{}") as { readonly step_id?: string; readonly attempt?: number };
    return event.step_id === step && event.attempt === attempt;
  });
  if (told) return;
  const state = findStep(kept.run, step)?.standing.state;
  violate(`${run} ${step}.${attempt} was answered, and the answer was dropped (${state})`);
}
