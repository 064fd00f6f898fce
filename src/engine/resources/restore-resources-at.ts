import type { StateRestore } from "../../core/state/state-change.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import { isStoreFault } from "../journal/append-errors.ts";
import type { ResourceRestorePorts } from "./resource-restore-ports.ts";
import { RestorePoints, type RestoreTarget } from "./restore-points.ts";

/** The fields of the event that records restored resources. Null: no resource had changed. */
export type RestoredResources = Required<Pick<StateRestore, "captures" | "closings">> | null;

/**
 * Restores resources to the moment before or after a call, then calls `record`, which appends the event. If the event
 * is refused, the resources are reverted. After a crash in between, the next process reads the journal, so the restore
 * happens completely or not at all.
 */
export async function restoreResourcesAt<Answer>(
  ports: ResourceRestorePorts,
  target: RestoreTarget,
  tag: string,
  record: (files: RestoredResources) => Promise<Answer>,
): Promise<Answer> {
  assertOnThisHost(ports, target);
  const points = new RestorePoints(ports, target);
  const { captured, closings } = await ports.resources.rewind((resource) => points.find(resource), tag);
  try {
    const { captures } = captured;
    ports.failpoint("rewind.after");
    const answer = await record(captures.length === 0 ? null : { captures, closings });
    ports.failpoint("keep.before");
    captured.markSucceeded();
    return answer;
  } catch (error) {
    // A refused event was not appended. After a store fault only the journal tells whether it was.
    if (error instanceof FaultError && !isStoreFault(error)) await captured.restore();
    throw error;
  } finally {
    await captured.release();
  }
}

/** Throws if the run changed resources on another host: they cannot be restored here. */
function assertOnThisHost({ resources }: ResourceRestorePorts, { run }: RestoreTarget): void {
  for (const [name, host] of Object.entries(run.bound))
    if (!resources.byName.some(([, resource]) => resource.name === name && resource.host === host))
      throw new FaultError(otherHostFault(name, host));
}

function otherHostFault(name: string, host: string): Fault {
  const message = `${name} of this run is on ${host}; restore with an engine on that host that has it`;
  return fault("RESOURCE_ELSEWHERE", message);
}
