import { FaultError, fault } from "./fault.ts";

/** How long a claim holds without being renewed, in milliseconds. Shorter, and a slow answer loses a run; longer, and a dead worker keeps it. */
const lease = { usual: 15_000, least: 1000, most: 3_600_000 };

/** The length of lease that a store was given, or the usual one. */
export function leaseOf(given: number | undefined): number {
  const { usual, least, most } = lease;
  if (given === undefined) return usual;
  if (Number.isSafeInteger(given) && given >= least && given <= most) return given;
  const message = `the store was not opened: leaseMs must be a whole number of milliseconds, ${least} to ${most}`;
  throw new FaultError(fault("CONFIG_INVALID", message));
}
