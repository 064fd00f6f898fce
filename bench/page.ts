import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The page in docs. What is between the marks is written by a run; the prose around them is written by people. */
const page = fileURLToPath(new URL("../../docs/benchmarks.md", import.meta.url));

export type Part = "figures" | "postgres" | "peers";

/** Puts what a run found on the page, in place of what an earlier one did. */
export function writePage(part: Part, text: string): void {
  writeFileSync(page, withPart(readFileSync(page, "utf8"), part, text));
}

export function withPart(page: string, part: Part, text: string): string {
  const { start, end } = bounds(page, part);
  return `${page.slice(0, start)}\n${text}\n\n${page.slice(end)}`;
}

export function partOf(page: string, part: Part): string {
  const { start, end } = bounds(page, part);
  return page.slice(start, end).trim();
}

function bounds(page: string, part: Part): { readonly start: number; readonly end: number } {
  const [opening, closing] = [`<!-- ${part}: `, `<!-- end of ${part} -->`];
  const mark = page.indexOf(opening);
  const start = page.indexOf("-->\n", mark) + "-->\n".length;
  const end = page.indexOf(closing, start);
  if (mark < 0 || end < 0)
    throw new Error(`the page has no place for ${part}: put ${opening}… --> and ${closing} on it`);
  return { start, end };
}
