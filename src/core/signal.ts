import type { Digest, Instant } from "./id.ts";
import type { Json } from "./json/json.ts";
import type { BoxVersion } from "./parking.ts";

/** What someone calls a wish, so that wishing it twice is wishing it once. */
export interface Request {
  readonly key: string;
  readonly digest: Digest;
}

/** A signal that a step took: out of the box, or straight from the hand of whoever sent it. */
export interface Taken extends BoxVersion {
  readonly signal_id: string;
  /** What whoever sent it calls it, so that sending it twice is sending it once; null where the box has seen to that. */
  readonly request: Request | null;
}

/** A signal that came before anyone waited for it. Its box is a journal of its own, one for each key. */
export interface SignalSent {
  readonly type: "signal.sent";
  readonly at: Instant;
  /** No two are alike, though they say the same at the same moment. */
  readonly signal_id: string;
  readonly box: BoxVersion;
  readonly payload: Json;
  readonly by: string;
  readonly request: Request | null;
}
