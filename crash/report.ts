import { failpoints } from "../src/engine/failpoint.ts";
import type { Tally } from "./tally.ts";
import type { PartName } from "./wanted.ts";

/** A part of the proof, and what came of it. */
export interface Played {
  readonly part: PartName;
  readonly tally: Tally;
  readonly seconds: number;
}

type Count = { [Key in keyof Tally]: Tally[Key] extends number ? Key : never }[keyof Tally];

const counted: readonly Count[] = [
  ...(["cells", "kills", "duplicates", "lost", "stuck", "in_doubt"] as const),
  ...(["untrue", "missed", "prefixes", "faults"] as const),
];

/** The figures that a script reads, of the whole and of each part. */
export function sumOf(played: readonly Played[]) {
  return {
    ...sums(played),
    random_kills: randomKills(played),
    uncovered: uncovered(played),
    killed_at: Object.fromEntries(failpoints.map((point) => [point, [...storiesAt(played, point)]])),
    seconds: Math.round(played.reduce((sum, { seconds }) => sum + seconds, 0)),
    parts: Object.fromEntries(
      played.map((each) => [each.part, { ...sums([each]), seconds: Math.round(each.seconds) }] as const),
    ),
  };
}

/** Fewer cells than this, and the matrix has lost its corners. */
const cellsLeast = 150;

/** Why the proof does not hold, or proves too little. */
export function complaints(
  played: readonly Played[],
  { kills, whole }: { readonly kills: number; readonly whole: boolean },
): readonly string[] {
  const { cells, duplicates, lost, stuck, untrue } = sums(played);
  const wrongs = Object.entries({ duplicates, lost, stuck, untrue }).filter(([, count]) => count > 0);
  const found = wrongs.map(([name, count]) => `${count} ${name}`);
  const judged = sums(played).cells + sums(played).prefixes + sums(played).faults;
  if (!whole) return [...found, ...(judged === 0 ? ["nothing was killed: there is no such place"] : [])];
  return [
    ...found,
    ...uncovered(played).map((point) => `no cell kills at ${point}`),
    ...(cells < cellsLeast ? [`only ${cells} cells, at least ${cellsLeast} are meaningful`] : []),
    ...(randomKills(played) < kills ? [`only ${randomKills(played)} random kills of ${kills}`] : []),
  ];
}

/** Places that the source names and where no process died. */
function uncovered(played: readonly Played[]): readonly string[] {
  return failpoints.filter((point) => storiesAt(played, point).size === 0);
}

function storiesAt(played: readonly Played[], point: string): ReadonlySet<string> {
  return new Set(played.flatMap(({ tally }) => [...(tally.points.get(point) ?? [])]));
}

function randomKills(played: readonly Played[]): number {
  return played.find(({ part }) => part === "chance")?.tally.kills ?? 0;
}

function sums(played: readonly Played[]): Record<Count, number> {
  const total = (name: Count) => played.reduce((sum, { tally }) => sum + tally[name], 0);
  return Object.fromEntries(counted.map((name) => [name, total(name)])) as Record<Count, number>;
}

/** The same for people. */
export function tableOf(played: readonly Played[], seed: number, whole: boolean): string {
  const rows = [
    ["part", ...counted, "seconds"],
    ...[...played.map((each) => [each]), played].map((of) => {
      const name = of === played ? "all" : (of[0]?.part ?? "");
      const seconds = of.reduce((sum, each) => sum + each.seconds, 0);
      return [name, ...counted.map((count) => String(sums(of)[count])), seconds.toFixed(0)];
    }),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join("  "));
  const places = failpoints.map((point) => `killed at ${point.padEnd(15)} ${[...storiesAt(played, point)].join(" ")}`);
  return [...(whole ? [...places, ""] : []), ...lines, `seed ${seed}`].join("\n");
}
