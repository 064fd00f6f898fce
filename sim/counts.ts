/** What happened, so that nobody can pass by having nothing happen. */
export const counted = [
  "kills",
  "takeovers",
  "fenced",
  "unmarked",
  "lost",
  "failed",
  "delayed",
  "doubled",
  "posthumous",
  "jumps",
  "sleeps",
  "reboots",
  "powerCuts",
  "unsynced",
  "stops",
  "runs",
  "children",
  "boxes",
  "signals",
  "firings",
  "attached",
  "results",
  "rehearsals",
  "parked",
  "reserved",
  "overspent",
  "tooOften",
  "requestsRefused",
  "commits",
  "rebases",
  "quarrels",
  "restores",
  "forks",
  "stateReads",
  "stateViews",
  "actsUntold",
  "acts",
  "effects",
  "deduplicated",
  "lateLandings",
  "doubts",
  "markerProofs",
  "sightings",
  "absences",
  "resends",
  "personSettles",
  "lateValues",
  "reuses",
  "duplicatesHeld",
  "again",
  "gatesConsumed",
  "gatesExpired",
  "intrusions",
  "denials",
  "retries",
  "cancels",
  "resumes",
  "poisoned",
  "undos",
  "undosFailed",
  "errands",
  "notices",
  "noticesAgain",
  "timers",
] as const;

export type Counted = (typeof counted)[number];

export type Counts = Record<Counted, number>;

export function noCounts(): Counts {
  return Object.fromEntries(counted.map((name) => [name, 0])) as Counts;
}

export function addCounts(into: Counts, more: Counts): void {
  for (const name of counted) into[name] += more[name];
}
