import { diffArrays } from "diff";
import { equalLines } from "./equal-lines.ts";

/** A line of a difference, with its number before and after. `skip`: equal lines that are left out. */
export type DiffLine =
  | { readonly is: "same"; readonly text: string; readonly before: number; readonly after: number }
  | { readonly is: "added"; readonly text: string; readonly after: number }
  | { readonly is: "removed"; readonly text: string; readonly before: number }
  | { readonly is: "skip"; readonly count: number };

const contextLines = 3;
/** A part with more differing lines is shown as wholly replaced: comparing it further would block the page. */
const editsMax = 400;

/** Returns the lines that differ between two texts, with a few equal lines around them. */
export function textDiff(before: string, after: string): readonly DiffLine[] {
  const [left, right] = [linesOf(before), linesOf(after)];
  const lines: DiffLine[] = [];
  let [from, to] = [0, 0];
  for (const [at, other] of [...equalLines(left, right), [left.length, right.length] as const]) {
    addPart(lines, left.slice(from, at), right.slice(to, other), { before: from + 1, after: to + 1 });
    const text = left[at];
    if (text !== undefined) lines.push({ is: "same", text, before: at + 1, after: other + 1 });
    [from, to] = [at + 1, other + 1];
  }
  return foldEqualLines(lines);
}

/** Adds the difference of the lines between two common lines. */
function addPart(
  lines: DiffLine[],
  before: readonly string[],
  after: readonly string[],
  numbers: { readonly before: number; readonly after: number },
): void {
  let { before: left, after: right } = numbers;
  const isShort = before.length > 0 && after.length > 0;
  const parts = isShort ? diffArrays([...before], [...after], { maxEditLength: editsMax }) : undefined;
  const changes = parts ?? [
    { value: before, added: false, removed: true },
    { value: after, added: true, removed: false },
  ];
  for (const { value, added, removed } of changes) {
    for (const text of value) {
      if (added) lines.push({ is: "added", text, after: right++ });
      else if (removed) lines.push({ is: "removed", text, before: left++ });
      else lines.push({ is: "same", text, before: left++, after: right++ });
    }
  }
}

function linesOf(value: string): readonly string[] {
  if (value === "") return [];
  return (value.endsWith("\n") ? value.slice(0, -1) : value).split("\n");
}

function foldEqualLines(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = new Uint8Array(lines.length);
  for (const [at, { is }] of lines.entries()) {
    if (is !== "same") isNear.fill(1, Math.max(0, at - contextLines), at + contextLines + 1);
  }
  const folded: DiffLine[] = [];
  let skipped = 0;
  for (const [at, line] of lines.entries()) {
    if (isNear[at] === 0) {
      skipped += 1;
      continue;
    }
    if (skipped > 0) folded.push({ is: "skip", count: skipped });
    skipped = 0;
    folded.push(line);
  }
  if (skipped > 0) folded.push({ is: "skip", count: skipped });
  return folded;
}
