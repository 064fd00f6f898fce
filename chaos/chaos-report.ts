import type { ChaosResult } from "./run-chaos.ts";

/** Returns the numbers for a script. */
export function chaosFigures({
  runs,
  faults,
  historyCounts,
  in_doubt,
  parked,
  needless,
  findings,
  violations,
}: ChaosResult) {
  const count = (kind: string): number => findings.filter((finding) => finding.kind === kind).length;
  return {
    runs,
    ...faults,
    ...historyCounts,
    in_doubt,
    needless,
    parked,
    duplicates: count("duplicate"),
    lost: count("lost"),
    stuck: count("stuck"),
    evicted: count("evicted"),
    violations: violations.length,
  };
}

/** Minimum counts, by name. */
export type MinimumFigures = Readonly<Record<string, number>>;

const everyStore = { worker_kills: 1, zombies: 1, takeovers: 1, fenced: 1, in_doubt: 1 };

/** By store: the minimum counts without which the test proves nothing. */
export const minimumOnce = {
  postgres: { ...everyStore, server_faults: 1, terminated: 1, unknown_landed: 1, unknown_not_landed: 1 },
  sqlite: { ...everyStore, start_kills: 1, pauses: 1, suspends: 1, clock_jumps: 1, unlinked: 1, readers: 1 },
} as const satisfies Record<string, MinimumFigures>;

/** The allowed share of needless doubts: a start can name a server boot that has just ended. */
const MAX_NEEDLESS_PERCENT = 5;

/** Returns a line per count below its minimum. */
export function missingFigures(figures: MinimumFigures, least: MinimumFigures): readonly string[] {
  return Object.entries(least)
    .filter(([name, minimum]) => (figures[name] ?? 0) < minimum)
    .map(([name, minimum]) => `${name} is ${figures[name] ?? 0}, but must be at least ${minimum}`);
}

/** Returns the reasons why the test fails or proves too little. */
export function chaosFailures(result: ChaosResult, least: MinimumFigures): readonly string[] {
  return [
    ...result.findings.map(({ kind, what }) => `${kind}: ${what}`),
    ...result.violations.map((what) => `not linearizable: ${what}`),
    ...(result.needless > 2 + (result.in_doubt * MAX_NEEDLESS_PERCENT) / 100
      ? [`${result.needless} needless doubts`]
      : []),
    ...missingFigures(chaosFigures(result), least),
  ];
}
