import type { Put } from "../store/store.ts";
import type { ProjectLock, ProjectLockRow } from "../store/tables.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { HeldIn } from "../values/held-in.ts";
import type { Instant, RunId } from "../values/ids.ts";

/** An event in the journal of a project. Changes of its state are in the journals of its runs. */
export type ProjectLockEvent = { readonly at: Instant; readonly by: string; readonly reason: string } & HeldIn &
  ({ readonly type: "project.closed"; readonly how: ProjectLock["how"] } | { readonly type: "project.opened" });

export const unlockedProject: ProjectLockRow = { closure: null };

/** Returns the event for a request to close or open a project, null if it changes nothing, or the fault. */
export function decideProjectLock(
  { closure }: ProjectLockRow,
  request: ProjectLockEvent,
): ProjectLockEvent | Fault | null {
  if (request.type === "project.closed") return closure?.how === request.how ? null : request;
  return closure === null
    ? fault("NOT_POSSIBLE", "the project is neither locked nor archived; there is nothing to open")
    : request;
}

function evolveProjectLock(event: ProjectLockEvent): ProjectLockRow {
  if (event.type === "project.opened") return unlockedProject;
  const { how, by, reason, at } = event;
  return { closure: { how, by, reason, at } };
}

/** Returns the fault of a call in a closed project, or null if the project is open. */
export function projectLockFault(project: string, closure: ProjectLock | null): Fault | null {
  if (closure === null) return null;
  const { how, by, reason } = closure;
  const message = `project ${project} was ${how} by ${by}${reason === "" ? "" : ` (${reason})`}; open it first`;
  return fault(how === "locked" ? "PROJECT_LOCKED" : "PROJECT_ARCHIVED", message);
}

/** Returns the row of a project's journal. Each event is a version of it, so that a check of an older version fails. */
export function projectLockPut(journal: RunId, event: ProjectLockEvent, position: number): Put {
  const was = position === 1 ? null : position - 1;
  return { table: "setting", key: journal, was, row: JSON.stringify(evolveProjectLock(event)) };
}

export function projectLockPuts(journal: RunId, events: readonly ProjectLockEvent[]): readonly Put[] {
  return events.map((event, index) => projectLockPut(journal, event, index + 1));
}
