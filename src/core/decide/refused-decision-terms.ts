import type { LimitedCharge } from "../limits/tally-charge.ts";

/**
 * How a refused decision about a gate is recorded: with a charge to the refusals of the principal, or not at all, because
 * their limit is reached. Absent: without a charge.
 */
export type RefusedDecisionTerms = { readonly charge: LimitedCharge } | "unrecorded";
