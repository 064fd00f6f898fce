import type { Put } from "../store/store.ts";
import type { NamedSessionRow, SessionClosure } from "../store/tables.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { Instant, RunId } from "../values/ids.ts";

/** An event in the journal of a session that was opened by name. The calls of the session are in the journals of its runs. */
export type NamedSessionEvent = { readonly at: Instant; readonly by: string } & (
  | { readonly type: "session.opened"; readonly session: string; readonly project: string | null }
  | { readonly type: "session.closed"; readonly reason: string }
);

/** Returns the event, or null if the request changes nothing. `row` is null if the session was never opened. */
export function decideNamedSession(row: NamedSessionRow | null, request: NamedSessionEvent): NamedSessionEvent | null {
  return isSessionOpen(row) === (request.type === "session.opened") ? null : request;
}

export function isSessionOpen(row: NamedSessionRow | null): row is NamedSessionRow {
  return row !== null && row.closed === null;
}

/** Returns the fault of a new run in a closed session. A session that was never opened is not closed. */
export function closedSessionFault(session: string, closed: SessionClosure | null): Fault | null {
  if (closed === null) return null;
  const why = closed.reason === "" ? "" : ` (${closed.reason})`;
  return fault("RUN_CLOSED", `session ${session} was closed by ${closed.by}${why}; open it first`);
}

/** Returns the rows of the journal of a session. Each event is a version of the row. */
export function namedSessionPuts(journal: RunId, events: readonly NamedSessionEvent[]): readonly Put[] {
  let row: NamedSessionRow | null = null;
  return events.map((event, index) => {
    row = evolveNamedSession(row, event);
    return namedSessionPut(journal, row, index + 1);
  });
}

export function namedSessionPut(journal: RunId, row: NamedSessionRow, position: number): Put {
  return { table: "setting", key: journal, was: position === 1 ? null : position - 1, row: JSON.stringify(row) };
}

export function evolveNamedSession(row: NamedSessionRow | null, event: NamedSessionEvent): NamedSessionRow {
  const { at, by } = event;
  if (event.type === "session.opened") {
    const { session, project } = event;
    return { session, project, opened_by: by, opened_at: at, closed: null };
  }
  return { ...(row as NamedSessionRow), closed: { by, reason: event.reason, at } };
}
