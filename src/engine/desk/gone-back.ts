import { type Fault, FaultError, fault } from "../../core/fault.ts";
import type { GoneBack } from "../../core/state/state-change.ts";
import type { Ports } from "../ports.ts";
import { isStoreFault } from "../record/mailbox.ts";
import { Moments, type Target } from "./moments.ts";

/** What the record is told of resources that were gone back with; null: they are as they were. */
export type FilesBack = Required<Pick<GoneBack, "captures" | "closings">> | null;

/**
 * Makes resources what they were before or after a call, and then has it put on record. Until that has landed they can be put back; whoever
 * finds them after a crash asks the record, so that either all of it has happened or nothing.
 */
export async function withFilesBack<Answer>(
  ports: Ports,
  target: Target,
  tag: string,
  record: (files: FilesBack) => Promise<Answer>,
): Promise<Answer> {
  mustBeHere(ports, target);
  const moments = new Moments(ports, target);
  const { borrowed, closings } = await ports.resources.rewind((resource) => moments.in(resource), tag);
  try {
    const { captures } = borrowed;
    ports.failpoint("rewind.after");
    const answer = await record(captures.length === 0 ? null : { captures, closings });
    ports.failpoint("keep.before");
    borrowed.keep();
    return answer;
  } catch (error) {
    // It was refused, so that it never was; whether a store that failed has it is for the record to say.
    if (error instanceof FaultError && !isStoreFault(error)) await borrowed.restore();
    throw error;
  } finally {
    await borrowed.giveBack();
  }
}

/** What the run changed elsewhere cannot be gone back with here. */
function mustBeHere({ resources }: Ports, { run }: Target): void {
  for (const [name, host] of Object.entries(run.bound))
    if (!resources.byName.some(([, resource]) => resource.name === name && resource.host === host))
      throw new FaultError(elsewhere(name, host));
}

function elsewhere(name: string, host: string): Fault {
  const message = `${name} of this run is on ${host}; go back to it with an engine there that has it`;
  return fault("RESOURCE_ELSEWHERE", message);
}
