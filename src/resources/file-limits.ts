import { FaultError, fault } from "../core/fault.ts";

/** Everything about files that can grow. Beyond one of these a call is refused with LIMIT_EXCEEDED, which names it. */
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
  /** Calls that can be gone back to, and what is kept for them. Beyond these nothing is refused: the oldest are forgotten. */
  keptCaptures: 100,
  keptBytes: 268_435_456,
};

export type FileLimits = Readonly<typeof fileLimits>;

export function within(limits: FileLimits, limit: keyof FileLimits, found: number, what: string): void {
  if (found <= limits[limit]) return;
  const message = `${what} is beyond ${limit}, which is ${limits[limit]}; raise the limit or ask for less`;
  throw new FaultError(fault("LIMIT_EXCEEDED", message, { limit, most: limits[limit], found }));
}
