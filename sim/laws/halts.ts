import type { HaltRow } from "../../src/core/rows.ts";
import { findStep, type Run, type Step } from "../../src/core/run.ts";
import type { Fact } from "../record.ts";
import type { Scene } from "../scene.ts";

/** So long after it was halted nothing begins any more, whatever worker would. */
const PROMISED_MS = 1000;

/** I22: what is halted does not begin on record, and nothing waits for a halt that nobody has set. */
export function judgeHalts({ scene, before, event }: Fact): void {
  if (event.type === "step.started") {
    const stop = scene.standstill.over(scene, before);
    const step = findStep(before, event.step_id) as Step;
    if (stop !== null && step.cause?.by !== "undo")
      scene.violate(`I22: ${before.id} ${event.step_id} was started though ${stop.over} is halted`);
  }
  if (event.type === "step.parked" && event.on.for === "halt") {
    scene.counts.halted += 1;
    if (scene.standstill.over(scene, before) === null)
      scene.violate(`I22: ${before.id} ${event.step_id} waits for a halt, and nothing is halted`);
  }
}

/** I22: no act is called once it has been halted for as long as it takes to be heard. */
export function judgeAct(scene: Scene, run: Run, { spec, cause }: Step): void {
  const { standstill, agenda, violate } = scene;
  const stop = standstill.over(scene, run);
  if (stop === null || cause?.by === "undo") return;
  const since = agenda.now() - stop.since;
  if (since > PROMISED_MS)
    violate(`I22: ${run.id} ${spec.step_id} (${spec.name}) was called ${since} ms after ${stop.over} was halted`);
}

/** I22: nothing else is called by a worker that knows that it is halted, or has not been told for so long how that is. */
export function judgeAsking(scene: Scene, run: Run, { spec }: Step, worker: number): void {
  const { standstill, agenda, violate } = scene;
  const stop = standstill.over(scene, run);
  if (stop === null) return;
  const look = standstill.lookOf(worker, stop);
  const where = `I22: ${run.id} ${spec.step_id} (${spec.name}) was called though ${stop.over} is halted`;
  if (look === undefined) violate(`${where}, and nobody looked`);
  else if (standstill.isKnownTo(worker, run.tenant, stop)) violate(`${where}, which its worker knew`);
  else if (agenda.now() - look.answered > PROMISED_MS)
    violate(`${where}; its worker looked ${agenda.now() - look.answered} ms ago`);
}

/** At rest: nothing stands still any more, and the rows say so. */
export function judgeStandstill({ standstill, tables, violate }: Scene): void {
  for (const { tenant, over } of standstill.all()) violate(`I22: ${over} of ${tenant} is halted for good`);
  for (const [[tenant, key], { row }] of tables.rows("setting").sorted()) {
    if (key !== "hlt_all") continue;
    const { halts } = JSON.parse(row) as HaltRow;
    for (const { over } of halts) violate(`I22: ${over} of ${tenant} is halted as the row has it, and was lifted`);
  }
}
