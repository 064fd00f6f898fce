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
    violations: violations.length,
  };
}

/** The minimum counts without which the test proves nothing. */
export const minimumOnce = {
  worker_kills: 1,
  zombies: 1,
  server_faults: 1,
  terminated: 1,
  takeovers: 1,
  fenced: 1,
  unknown_landed: 1,
  unknown_not_landed: 1,
  in_doubt: 1,
};

export type MinimumFigures = Readonly<typeof minimumOnce>;

/** The allowed share of needless doubts: a start can name a server boot that has just ended. */
const MAX_NEEDLESS_PERCENT = 5;

/** Returns a line per count below its minimum. */
export function missingFigures(figures: MinimumFigures, least: MinimumFigures): readonly string[] {
  const names = Object.keys(least) as (keyof MinimumFigures)[];
  return names
    .filter((name) => figures[name] < least[name])
    .map((name) => `${name} is ${figures[name]}, but must be at least ${least[name]}`);
}

/** Returns the reasons why the test fails or proves too little. */
export function chaosFailures(result: ChaosResult, least: MinimumFigures = minimumOnce): readonly string[] {
  return [
    ...result.findings.map(({ kind, what }) => `${kind}: ${what}`),
    ...result.violations.map((what) => `not linearizable: ${what}`),
    ...(result.needless > 2 + (result.in_doubt * MAX_NEEDLESS_PERCENT) / 100
      ? [`${result.needless} needless doubts`]
      : []),
    ...missingFigures(chaosFigures(result), least),
  ];
}
