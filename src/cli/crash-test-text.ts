import type { CrashWindowResult } from "../testing/crashtest/run-crash-window.ts";
import { line, type SafeLine, tableLines } from "./safe-line.ts";
import type { TextStyle } from "./text-style.ts";

/** Returns a function that makes command lines for one store. */
type CommandLineFor = (store: string) => (...words: readonly string[]) => string;

/** Returns the table of a crash test, and below it the summary or the windows with a contradiction. */
export function crashTestLines(
  rows: readonly CrashWindowResult[],
  commandLineFor: CommandLineFor,
  { green, red }: TextStyle,
): readonly SafeLine[] {
  const heads = [line`killed at`, line`effects`, line`record`, line`verdict`];
  const cells = rows.map(({ window, effects, record, verdict, note }) => [
    line`${window}`,
    line`${effects}`,
    line`${record}`,
    line`${verdict}`.painted(verdict === "ok" ? green : red),
    ...(note === null ? [] : [line`${note}`]),
  ]);
  const bad = rows.flatMap((row) => inspectLines(row, commandLineFor));
  return [...tableLines([heads, ...cells], "  "), ...(bad.length === 0 ? [summary(rows)] : bad)];
}

/** A later effect may contradict the record, so nothing is proven before all windows are settled. */
function summary(rows: readonly CrashWindowResult[]): SafeLine {
  const early = rows.filter(({ settled }) => !settled).map(({ window }) => window);
  return early.length === 0
    ? line`no effect happened twice, and the record is true in every window`
    : line`no effect has happened twice so far, but ${early.join(", ")} had not come to rest; increase --patience`;
}

/** Describes the contradiction of a window and how to inspect it. */
function inspectLines(row: CrashWindowResult, commandLineFor: CommandLineFor): readonly SafeLine[] {
  const { window, verdict, effects, record, run_id, store } = row;
  if (store === null) return [];
  const count = effects === 0 ? "no effect" : effects === 1 ? "one effect" : `${effects} effects`;
  return [
    line`${verdict} at ${window}: the record says ${record}, the outside world has ${count}${otherCause(row)}`,
    line`  inspect it:  ${commandLineFor(store)("events", run_id)}`,
  ];
}

/** Returns a cause that is not a fault of the tool, where one is likely. */
function otherCause({ window, effects, record }: CrashWindowResult): string {
  if (window === "none") return "; no process was killed here, so make sure that --count counts each act once";
  const isMissing = effects === 0 && record === "succeeded";
  return isMissing ? "; if the receiver treats equal calls as one act, put {unique} into --input" : "";
}
