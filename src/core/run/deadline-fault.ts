import { type Fault, fault } from "../values/fault.ts";
import type { Run, Step } from "./run.ts";

export function deadlineFault(run: Run, { spec: { step_id } }: Step): Fault {
  return fault("DEADLINE_EXCEEDED", `${step_id} was not started: the deadline of run ${run.id} has passed`);
}
