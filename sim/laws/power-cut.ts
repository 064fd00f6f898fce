import { findStep } from "../../src/core/run.ts";
import type { Scene } from "../scene.ts";

/** A power cut takes nothing that the world has felt or anyone outside was told. */
export function judgePowerCut({ world, record, violate }: Scene): void {
  for (const { run, step, attempt, tool } of world.dispatches()) {
    const kept = record.get(run);
    const attempts = (kept && findStep(kept.run, step)?.attempts) ?? 0;
    if (attempts < attempt) violate(`I1: the power cut took the start of ${run} ${step}.${attempt} (${tool})`);
  }
  for (const { run, told } of record.all())
    if (run.position < told) violate(`I3: the power cut took what was told of ${run.id}`);
}
