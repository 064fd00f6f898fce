import type { LimitUnit } from "./budget.ts";

export interface TallyCharge {
  readonly tally: string;
  readonly amount: number;
}

/** A charge that only lands if the tally stays within its limit. */
export interface LimitedCharge extends TallyCharge {
  /** Null: the charge is recorded and never refused. */
  readonly limit: number | null;
  /** The unit in which the charge is settled later. Absent: a charge to a rate, which is never settled. */
  readonly unit?: LimitUnit;
}
