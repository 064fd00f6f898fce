import type { Wreckage } from "./storm.ts";

/** The figures that a script reads. */
export function figuresOf({ runs, blows, sums, in_doubt, needless, findings, violations }: Wreckage) {
  const count = (kind: string): number => findings.filter((finding) => finding.kind === kind).length;
  return {
    runs,
    ...blows,
    ...sums,
    in_doubt,
    needless,
    duplicates: count("duplicate"),
    lost: count("lost"),
    stuck: count("stuck"),
    violations: violations.length,
  };
}

/** What must have happened at least once, or nothing was shown. */
const wanted = [
  ...(["worker_kills", "zombies", "server_faults", "terminated", "takeovers", "fenced"] as const),
  ...(["unknown_landed", "unknown_not_landed", "in_doubt"] as const),
];

/** Most doubts that may be needless, of a hundred: a start can name a boot that the server has just left. */
const needlessMost = 5;

/** What has not happened yet. */
export function unseen(figures: Readonly<Record<(typeof wanted)[number], number>>): readonly string[] {
  return wanted.filter((name) => figures[name] === 0);
}

/** Why the proof does not hold, or proves too little. */
export function complaints(wreckage: Wreckage): readonly string[] {
  return [
    ...wreckage.findings.map(({ kind, what }) => `${kind}: ${what}`),
    ...wreckage.violations.map((what) => `not linearizable: ${what}`),
    ...(wreckage.needless > 1 + (wreckage.in_doubt * needlessMost) / 100
      ? [`${wreckage.needless} needless doubts`]
      : []),
    ...unseen(figuresOf(wreckage)).map((name) => `${name} is 0: nothing was shown about it`),
  ];
}
