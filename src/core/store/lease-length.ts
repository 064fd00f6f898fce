import { FaultError, fault } from "../values/fault.ts";

/**
 * Lease lengths in milliseconds. With a shorter lease a slow renewal loses the run; with a longer one a dead worker
 * holds the run longer.
 */
const leaseLimits = { usual: 15_000, min: 1000, max: 3_600_000 };

/** Returns the configured lease length, or the default. */
export function leaseLength(given: number | undefined): number {
  const { usual, min, max } = leaseLimits;
  if (given === undefined) return usual;
  if (Number.isSafeInteger(given) && given >= min && given <= max) return given;
  const message = `the store was not opened: leaseMs must be a whole number of milliseconds, ${min} to ${max}`;
  throw new FaultError(fault("CONFIG_INVALID", message));
}
