/** A line of a difference that a tool wrote. */
export interface DiffTextLine {
  readonly is: "same" | "added" | "removed";
  readonly text: string;
}

const kinds: Readonly<Record<string, DiffTextLine["is"]>> = { "+": "added", "-": "removed", " ": "same" };

/**
 * Returns the lines of a text that a tool wrote as a difference, with `+`, `-` or a space in front of each line, or null
 * if it is another text. Lines of a unified difference that begin with `@` stay as they are.
 */
export function parseDiffText(text: string): readonly DiffTextLine[] | null {
  const lines = text.replace(/\n$/, "").split("\n");
  if (lines.some((line) => line !== "" && !/^[-+ @\\]/.test(line))) return null;
  if (!lines.some((line) => /^[-+]/.test(line))) return null;
  return lines.map((line) => {
    const is = kinds[line[0] ?? " "];
    return is === undefined ? { is: "same", text: line } : { is, text: line.slice(1) };
  });
}
