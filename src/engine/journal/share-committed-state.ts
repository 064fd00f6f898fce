import type { Batch } from "./batch.ts";
import type { JournalPorts } from "./journal-ports.ts";

/** Publishes the state changes of committed events to the other runs of the project in this process. */
export function shareCommittedState(
  projects: JournalPorts["projects"],
  { before, events, after: { tenant, id: run_id } }: Batch,
): void {
  for (const [index, event] of events.entries())
    if ("state" in event && event.state)
      projects.applyChange(tenant, event.state, { run_id, position: before.position + index + 1 }, event.at);
}
