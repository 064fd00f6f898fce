import type { Run } from "../run/run.ts";

/** The session that a retention erases: its name, and the principal that it belongs to. */
export interface SessionToForget {
  readonly session: string;
  readonly owner: string;
  readonly project?: string;
  readonly subject?: string;
}

/** Returns whether a run is one of the runs of a session. */
export function isRunOf({ session, owner, project, subject }: SessionToForget, run: Run): boolean {
  if (run.opened === null || run.session !== session || run.principal.id !== owner) return false;
  return run.project === (project ?? null) && run.opened.subject === subject;
}
