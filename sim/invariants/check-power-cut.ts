import { findStep } from "../../src/core/run/run.ts";
import type { SimContext } from "../sim-context.ts";

/** A power cut loses nothing that has reached the world or that a caller was told. */
export function checkPowerCut({ world, observer, violate }: SimContext): void {
  for (const { run, step, attempt, tool } of world.requests()) {
    const observedRun = observer.get(run);
    const attempts = (observedRun && findStep(observedRun.run, step)?.attempts) ?? 0;
    if (attempts < attempt) violate(`I1: a power cut lost the start of ${run} ${step}.${attempt} (${tool})`);
  }
  for (const { run, reportedPosition } of observer.all())
    if (run.position < reportedPosition) violate(`I3: a power cut lost the reported result of ${run.id}`);
}
