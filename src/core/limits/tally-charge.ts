import type { LimitUnit } from "./budget.ts";

export interface TallyCharge {
  readonly tally: string;
  readonly amount: number;
}

/** A charge that the store refuses if the tally would exceed its limit. */
export interface LimitedCharge extends TallyCharge {
  /** Null: the charge is recorded and never refused. */
  readonly limit: number | null;
  /** The unit in which the charge is settled later. Absent: a charge to a rate, which is never settled. */
  readonly unit?: LimitUnit;
}
