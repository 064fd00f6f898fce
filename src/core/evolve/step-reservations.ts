import { costAmount } from "../call/cost-charges.ts";
import type { LimitedCharge, TallyCharge } from "../limits/tally-charge.ts";
import type { Reservation, Step } from "../run/step.ts";
import type { Cost } from "../tool/tool.ts";

const NONE: readonly never[] = [];

/** Returns the amounts that the start of an attempt reserves. */
export function toReservations(charges: readonly LimitedCharge[] = NONE): readonly Reservation[] {
  return charges.flatMap(({ tally, unit, amount }) => (unit ? [{ tally, unit, charged: amount, reported: 0 }] : []));
}

/** Adds the charges and the reported cost of an event, so that the final settlement covers all of them. */
export function updateReservations(
  { reserved }: Step,
  { charges = NONE, cost }: { readonly charges?: readonly TallyCharge[]; readonly cost?: Cost },
): readonly Reservation[] {
  return reserved.map(({ tally, unit, charged, reported }) => ({
    tally,
    unit,
    charged: charges.reduce((sum, each) => (each.tally === tally ? sum + each.amount : sum), charged),
    reported: cost === undefined || unit === "calls" || unit === "ms" ? reported : reported + costAmount(unit, cost),
  }));
}
