import type { NamedSessionRow } from "../../core/store/tables.ts";
import type { PrincipalOptions, ReasonOptions } from "./request-options.ts";

/** The place of a session. A session is a name inside a project, or outside any project. */
export interface SessionPlace {
  readonly project?: string;
}

/**
 * Sessions that are opened and closed by name. A run may name any session, opened or not; a session that was closed takes
 * no more runs until it is opened again.
 */
export interface NamedSessions {
  /** Opens a session, under a new name unless one is given. An open session stays as it is. */
  open(options: PrincipalOptions & SessionPlace & { readonly session?: string }): Promise<NamedSessionRow>;
  /** Returns whether a session was opened and is not closed. */
  exists(session: string, options: PrincipalOptions & SessionPlace): Promise<boolean>;
  /**
   * Closes a session: new runs in it are refused (`RUN_CLOSED`), and runs at work go on. Returns false if it was not open.
   * An agent closes only sessions that it has opened.
   */
  close(session: string, options: ReasonOptions & SessionPlace): Promise<boolean>;
}
