import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The page in docs. A run writes the parts between the marks; the other text is written by hand. */
const pageFile = fileURLToPath(new URL("../../docs/benchmarks.md", import.meta.url));

export type PagePart = "figures" | "processes" | "surfaces" | "console" | "postgres" | "peers";

/** Replaces a part of the page by the results of a run. */
export function writeResultsPart(part: PagePart, text: string): void {
  writeFileSync(pageFile, replacePagePart(readFileSync(pageFile, "utf8"), part, text));
}

export function replacePagePart(page: string, part: PagePart, text: string): string {
  const { start, end } = partBounds(page, part);
  return `${page.slice(0, start)}\n${text}\n\n${page.slice(end)}`;
}

export function readPagePart(page: string, part: PagePart): string {
  const { start, end } = partBounds(page, part);
  return page.slice(start, end).trim();
}

function partBounds(page: string, part: PagePart): { readonly start: number; readonly end: number } {
  const [opening, closing] = [`<!-- ${part}: `, `<!-- end of ${part} -->`];
  const mark = page.indexOf(opening);
  const start = page.indexOf("-->\n", mark) + "-->\n".length;
  const end = page.indexOf(closing, start);
  if (mark < 0 || end < 0)
    throw new Error(`the page has no part ${part}: add the marks ${opening}… --> and ${closing}`);
  return { start, end };
}
