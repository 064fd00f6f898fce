import type { Wreckage } from "./storm.ts";

/** The figures that a script reads. */
export function figuresOf({ runs, blows, sums, in_doubt, parked, needless, findings, violations }: Wreckage) {
  const count = (kind: string): number => findings.filter((finding) => finding.kind === kind).length;
  return {
    runs,
    ...blows,
    ...sums,
    in_doubt,
    needless,
    parked,
    duplicates: count("duplicate"),
    lost: count("lost"),
    stuck: count("stuck"),
    violations: violations.length,
  };
}

/** How often everything must have happened at least, or nothing was shown. */
export const once = {
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

export type Least = Readonly<typeof once>;

/** Most doubts that may be needless, of a hundred: a start can name a boot that the server has just left. */
const needlessMost = 5;

/** What has not happened often enough yet. */
export function unseen(figures: Least, least: Least): readonly string[] {
  const names = Object.keys(least) as (keyof Least)[];
  return names
    .filter((name) => figures[name] < least[name])
    .map((name) => `${name} is ${figures[name]}, and must be at least ${least[name]}`);
}

/** Why the proof does not hold, or proves too little. */
export function complaints(wreckage: Wreckage, least: Least = once): readonly string[] {
  return [
    ...wreckage.findings.map(({ kind, what }) => `${kind}: ${what}`),
    ...wreckage.violations.map((what) => `not linearizable: ${what}`),
    ...(wreckage.needless > 2 + (wreckage.in_doubt * needlessMost) / 100
      ? [`${wreckage.needless} needless doubts`]
      : []),
    ...unseen(figuresOf(wreckage), least),
  ];
}
