import type { Unit } from "./budget.ts";

export interface Charged {
  readonly tally: string;
  readonly amount: number;
}

/** A charge that only lands if the tally stays within its limit. */
export interface Reserved extends Charged {
  /** Null: it is recorded, whatever the limit says. */
  readonly limit: number | null;
  /** What it is settled in. Absent: a token of a rate, which is used up. */
  readonly unit?: Unit;
}
