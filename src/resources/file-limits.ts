import { FaultError, fault } from "../core/values/fault.ts";

/** The limits of the file handles. A call that exceeds one fails with LIMIT_EXCEEDED, which names the limit. */
export const fileLimits = {
  fileBytes: 33_554_432,
  streamBytes: 1_073_741_824,
  captureBytes: 1_073_741_824,
  pathSegments: 32,
  segmentBytes: 255,
  listEntries: 10_000,
  globMatches: 10_000,
  grepMatches: 1_000,
  grepBytes: 1_073_741_824,
  treeEntries: 1_000_000,
  snapshotBytes: 5_242_880,
  /**
   * How many captures are kept for restores, and their total size. Beyond these limits the oldest captures are dropped;
   * no call is refused.
   */
  keptCaptures: 100,
  keptBytes: 268_435_456,
};

export type FileLimits = Readonly<typeof fileLimits>;

export function assertWithinLimit(limits: FileLimits, limit: keyof FileLimits, found: number, what: string): void {
  if (found <= limits[limit]) return;
  const message = `${what} exceeds ${limit} (${limits[limit]}); raise the limit or request less`;
  throw new FaultError(fault("LIMIT_EXCEEDED", message, { limit, most: limits[limit], found }));
}
