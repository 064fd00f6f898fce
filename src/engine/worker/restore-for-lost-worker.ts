import type { Step } from "../../core/run/run.ts";
import { isUnrestorable, restoreLostResources } from "../call/call-resources.ts";
import type { RunMailbox } from "../journal/run-mailbox.ts";
import type { WorkerPorts } from "./worker-ports.ts";

/**
 * Restores the resources that the calls of the previous worker had captured. If a person must do something first, the
 * step ends with the fault, and the restore is tried again when the run is resumed.
 */
export async function restoreForLostWorker(ports: WorkerPorts, mailbox: RunMailbox): Promise<void> {
  const { clock } = ports;
  for (const step of [...mailbox.run.steps].filter(hasLostResources)) {
    const unrestored = await restoreLostResources({ ports, mailbox }, step);
    const { spec, attempts: attempt } = step;
    const { step_id } = spec;
    if (unrestored !== null)
      await mailbox.ask(() => ({ type: "unrestorable", now: clock.now(), step_id, attempt, fault: unrestored }));
  }
}

/** True if the resources of the last attempt are not restored, and no person must do something before. */
function hasLostResources({ captures, standing }: Step): boolean {
  return captures.length > 0 && !(standing.state === "failed_final" && isUnrestorable(standing.fault.code));
}
