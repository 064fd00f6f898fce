import { allFailpoints } from "./all-failpoints.ts";
import type { PartName } from "./part-selector.ts";
import type { PartTotals } from "./part-totals.ts";

/** The result of one part of the crash tests. */
export interface PartResult {
  readonly part: PartName;
  readonly totals: PartTotals;
  readonly seconds: number;
}

type CountName = { [Key in keyof PartTotals]: PartTotals[Key] extends number ? Key : never }[keyof PartTotals];

const countNames: readonly CountName[] = [
  ...(["cells", "kills", "duplicates", "lost", "stuck", "in_doubt"] as const),
  ...(["untrue", "missed", "prefixes", "faults"] as const),
];

/** Returns the numbers for a script, of all parts and of each part. */
export function summarizeCrash(results: readonly PartResult[]) {
  return {
    ...sumCounts(results),
    random_kills: countRandomKills(results),
    uncovered: uncoveredFailpoints(results),
    killed_at: Object.fromEntries(allFailpoints.map((point) => [point, [...scenariosAt(results, point)]])),
    seconds: Math.round(results.reduce((sum, { seconds }) => sum + seconds, 0)),
    parts: Object.fromEntries(
      results.map((each) => [each.part, { ...sumCounts([each]), seconds: Math.round(each.seconds) }] as const),
    ),
  };
}

/** With fewer cells the matrix is incomplete. */
const MIN_CELLS = 150;

/** Returns the reasons why the tests fail or prove too little. */
export function crashFailures(
  results: readonly PartResult[],
  { kills, isComplete }: { readonly kills: number; readonly isComplete: boolean },
): readonly string[] {
  const { cells, duplicates, lost, stuck, untrue } = sumCounts(results);
  const violations = Object.entries({ duplicates, lost, stuck, untrue }).filter(([, count]) => count > 0);
  const found = violations.map(([name, count]) => `${count} ${name}`);
  const checkedCount = sumCounts(results).cells + sumCounts(results).prefixes + sumCounts(results).faults;
  if (!isComplete) return [...found, ...(checkedCount === 0 ? ["no process was killed: there is no such point"] : [])];
  return [
    ...found,
    ...uncoveredFailpoints(results).map((point) => `no cell kills at ${point}`),
    ...(cells < MIN_CELLS ? [`only ${cells} cells, at least ${MIN_CELLS} are meaningful`] : []),
    ...(countRandomKills(results) < kills ? [`only ${countRandomKills(results)} random kills of ${kills}`] : []),
  ];
}

/** Returns the failpoints of the source at which no process was killed. */
function uncoveredFailpoints(results: readonly PartResult[]): readonly string[] {
  return allFailpoints.filter((point) => scenariosAt(results, point).size === 0);
}

function scenariosAt(results: readonly PartResult[], point: string): ReadonlySet<string> {
  return new Set(results.flatMap(({ totals }) => [...(totals.points.get(point) ?? [])]));
}

function countRandomKills(results: readonly PartResult[]): number {
  return results.find(({ part }) => part === "chance")?.totals.kills ?? 0;
}

function sumCounts(results: readonly PartResult[]): Record<CountName, number> {
  const total = (name: CountName) => results.reduce((sum, { totals }) => sum + totals[name], 0);
  return Object.fromEntries(countNames.map((name) => [name, total(name)])) as Record<CountName, number>;
}

/** Returns the numbers as a text table. */
export function crashTable(results: readonly PartResult[], seed: number, isComplete: boolean): string {
  const rows = [
    ["part", ...countNames, "seconds"],
    ...[...results.map((each) => [each]), results].map((group) => {
      const name = group === results ? "all" : (group[0]?.part ?? "");
      const seconds = group.reduce((sum, each) => sum + each.seconds, 0);
      return [name, ...countNames.map((count) => String(sumCounts(group)[count])), seconds.toFixed(0)];
    }),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join("  "));
  const places = allFailpoints.map(
    (point) => `killed at ${point.padEnd(15)} ${[...scenariosAt(results, point)].join(" ")}`,
  );
  return [...(isComplete ? [...places, ""] : []), ...lines, `seed ${seed}`].join("\n");
}
