import type { Digest, Instant } from "../values/ids.ts";
import type { Json, JsonObject } from "../values/json.ts";
import type { SignalBoxVersion } from "./step-parking.ts";

/** The idempotency key of a request: the same request under the same key is executed once. */
export interface Request {
  readonly key: string;
  readonly digest: Digest;
  /** 2: the row of the request is also keyed by project and session. Absent in older events and for signals. */
  readonly form?: 2;
  /** Present if the request names the intent that its plan answers. */
  readonly intent?: RecordedIntent;
}

/** The intent of a principal, apart from the plan that answers it. */
export interface Intent {
  readonly type: string;
  readonly payload?: JsonObject;
  /** The contexts that it was stated in, such as the digests of documents. Only their digest is recorded. */
  readonly contexts?: JsonObject;
}

/** The intent of a request: what its principal wants, apart from the plan that answers it. */
export interface RecordedIntent {
  readonly type: string;
  readonly payload: JsonObject;
  /** The digest of the contexts that the intent was stated in, such as the versions of documents. */
  readonly contexts_hash: Digest;
}

/** A signal that a step took from its box, or received directly from the sender. */
export interface TakenSignal extends SignalBoxVersion {
  readonly signal_id: string;
  /** The request of the sender. Null if the box recorded the request, or if the sender gave none. */
  readonly request: Request | null;
}

/** A signal that was sent before a step waited for it. The box of each key has its own journal. */
export interface SignalSent {
  readonly type: "signal.sent";
  readonly at: Instant;
  /** Unique, also for equal signals sent at the same time. */
  readonly signal_id: string;
  readonly box: SignalBoxVersion;
  readonly payload: Json;
  readonly by: string;
  readonly request: Request | null;
}
