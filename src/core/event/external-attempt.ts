import type { Digest, Instant } from "../values/ids.ts";

/** The terms of an attempt whose work the host of the agent does itself, in any process. */
export interface ExternalAttempt {
  /** The digest of the token by which the host reports the end of the work. The token itself is never stored. */
  readonly token: Digest;
  /** An end that was not reported by then is unknown. */
  readonly until: Instant;
}
