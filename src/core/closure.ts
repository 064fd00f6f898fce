import { type Fault, fault } from "./fault.ts";
import type { Instant, RunId } from "./id.ts";
import type { Closure, ClosureRow } from "./rows.ts";
import type { Put } from "./store.ts";

/** What is written into the journal of a project, beside what its runs tell of its state. */
export type ClosureEvent = { readonly at: Instant; readonly by: string; readonly reason: string } & (
  | { readonly type: "project.closed"; readonly how: Closure["how"] }
  | { readonly type: "project.opened" }
);

export const unclosed: ClosureRow = { closure: null };

/** What becomes of the wish to close a project or to open it; null: it is so already; or why it cannot be. */
export function decideClosure({ closure }: ClosureRow, wish: ClosureEvent): ClosureEvent | Fault | null {
  if (wish.type === "project.closed") return closure?.how === wish.how ? null : wish;
  return closure === null ? fault("NOT_POSSIBLE", "the project is neither locked nor archived") : wish;
}

function evolveClosure(event: ClosureEvent): ClosureRow {
  if (event.type === "project.opened") return unclosed;
  const { how, by, reason, at } = event;
  return { closure: { how, by, reason, at } };
}

/** Why nothing is done in a project; null: it is open. */
export function closureFault(project: string, closure: Closure | null): Fault | null {
  if (closure === null) return null;
  const { how, by, reason } = closure;
  const message = `project ${project} was ${how} by ${by}${reason === "" ? "" : ` (${reason})`}; open it first`;
  return fault(how === "locked" ? "PROJECT_LOCKED" : "PROJECT_ARCHIVED", message);
}

/** The row of a project's journal: every fact is a version of it, so that whoever decided by another one is told. */
export function closurePut(journal: RunId, event: ClosureEvent, position: number): Put {
  const was = position === 1 ? null : position - 1;
  return { table: "setting", key: journal, was, row: JSON.stringify(evolveClosure(event)) };
}

export function closurePuts(journal: RunId, events: readonly ClosureEvent[]): readonly Put[] {
  return events.map((event, index) => closurePut(journal, event, index + 1));
}
