import type { Fault } from "../values/fault.ts";
import type { Instant } from "../values/ids.ts";
import type { Json } from "../values/json.ts";

/** How a doubt can be settled without a person, as the tool declared when the doubt arose. */
export interface DoubtExits {
  readonly verify: boolean;
  /** The time until which the identical call may be sent again under the same key. */
  readonly resend_until: Instant | null;
  /** Before this time, "absent" proves nothing, because the request may still be in transit. */
  readonly quiet_at: Instant;
}

export type Settlement =
  | { readonly as: "happened"; readonly output: Json; readonly fault: Fault | null }
  | { readonly as: "not_done" }
  | { readonly as: "absent" }
  | { readonly as: "resend" }
  | { readonly as: "given_up" };
