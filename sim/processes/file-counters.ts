const fileCounterNames = [
  "kills",
  "pauses",
  "jumps",
  "suspends",
  "deletedLocks",
  "blockedWrites",
  "stops",
  "readers",
  "truncations",
  "upgrades",
  "claims",
  "evictions",
  "stalls",
  "refusedMarkers",
  "fenced",
  "calls",
  "doubts",
  "repeats",
  "liveSenders",
  "adoptions",
  "absentTools",
  "ended",
] as const;

/** How often each event occurred in a simulation of the processes of one file. */
export type FileCounters = Record<(typeof fileCounterNames)[number], number>;

export function newFileCounters(): FileCounters {
  return Object.fromEntries(fileCounterNames.map((name) => [name, 0])) as FileCounters;
}
