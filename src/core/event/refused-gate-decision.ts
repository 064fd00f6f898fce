import type { Principal } from "../approval/principal.ts";
import type { LimitedCharge } from "../limits/tally-charge.ts";
import type { Fault } from "../values/fault.ts";

/** A refused attempt to decide a gate. */
export interface RefusedGateDecision {
  readonly by: Principal;
  readonly fault: Fault;
  /** Counts the refusal against the limit of recorded refusals of the principal. */
  readonly charges?: readonly LimitedCharge[];
}
