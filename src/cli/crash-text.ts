import type { CrashRow } from "./crash-scene.ts";
import { type Line, line, tableLines } from "./line.ts";
import type { Paint } from "./terminal.ts";

/** The command line that does something to one store. */
type Telling = (store: string) => (...words: readonly string[]) => string;

/** What became of an act in every window, and what to make of it. */
export function crashLines(rows: readonly CrashRow[], tell: Telling, { green, red }: Paint): readonly Line[] {
  const heads = [line`killed at`, line`effects`, line`record`, line`verdict`];
  const cells = rows.map(({ window, effects, record, verdict, note }) => [
    line`${window}`,
    line`${effects}`,
    line`${record}`,
    line`${verdict}`.painted(verdict === "ok" ? green : red),
    ...(note === null ? [] : [line`${note}`]),
  ]);
  const bad = rows.flatMap((row) => lookLines(row, tell));
  return [...tableLines([heads, ...cells], "  "), ...(bad.length === 0 ? [summary(rows)] : bad)];
}

/** What is still to come may contradict the record, so it is not called proven. */
function summary(rows: readonly CrashRow[]): Line {
  const early = rows.filter(({ settled }) => !settled).map(({ window }) => window);
  return early.length === 0
    ? line`nothing was done twice, and the record is true wherever it was killed`
    : line`nothing was done twice so far, but ${early.join(", ")} had not come to rest; give more --patience`;
}

/** What a bad line says, and where to look. */
function lookLines(row: CrashRow, tell: Telling): readonly Line[] {
  const { window, verdict, effects, record, run_id, store } = row;
  if (store === null) return [];
  const seen = effects === 0 ? "did not see it" : effects === 1 ? "saw it once" : `saw it ${effects} times`;
  return [
    line`${verdict} at ${window}: the record says ${record}, the world ${seen}${excuse(row)}`,
    line`  look at it:  ${tell(store)("events", run_id)}`,
  ];
}

/** How the same numbers come about though the tool is honest. */
function excuse({ window, effects, record }: CrashRow): string {
  if (window === "none") return "; nothing was killed here, so make sure that --count counts each act once";
  const known = effects === 0 && record === "succeeded";
  return known ? "; if the world takes equal calls for one, put {unique} into --input" : "";
}
