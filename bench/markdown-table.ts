/** Returns a Markdown table with aligned columns. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const width = head.map((title, at) => Math.max(3, title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(width[at] ?? 0)).join(" | ")} |`;
  return [line(head), `|${width.map((size) => "-".repeat(size + 2)).join("|")}|`, ...rows.map(line)].join("\n");
}
