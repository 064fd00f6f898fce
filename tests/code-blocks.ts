/** A fenced block of a page. `about` is what stands behind its language. */
interface Block {
  readonly language: string;
  readonly about: string;
  readonly text: string;
}

/** One thing that a page tells its reader to do, with everything that the page says is printed then. */
export type Told =
  /** A program, to be saved under its name and run, and run again. */
  | { readonly kind: "program"; readonly name: string; readonly text: string; readonly prints: readonly string[] }
  /** Lines for a shell. */
  | { readonly kind: "shell"; readonly lines: readonly ShellLine[]; readonly prints: readonly string[] }
  /** Lines for a shell in a checkout of this repository. */
  | { readonly kind: "checkout"; readonly lines: readonly ShellLine[] };

export interface ShellLine {
  readonly command: string;
  readonly exit: number;
}

function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w*)(?: ([^\n]+))?\n([\s\S]*?)^```$/gm)].map(
    ([, language = "", about = "", text = ""]) => ({ language, about, text }),
  );
}

/** What a page tells its reader to do. A block that nobody would run is an error: it could say anything. */
export function toldIn(page: string): readonly Told[] {
  const told: Told[] = [];
  for (const block of blocksOf(page)) {
    if (block.language !== "text") told.push(readBlock(block));
    else told.push(printing(told.pop(), block.text));
  }
  return told;
}

function readBlock({ language, about, text }: Block): Told {
  if (language === "sh") {
    const lines = text.trimEnd().split("\n").map(readLine);
    return about === "checkout" ? { kind: "checkout", lines } : { kind: "shell", lines, prints: [] };
  }
  const [, name] = /^\/\/ ([\w-]+\.mjs): /.exec(text) ?? [];
  if (language !== "js" || name === undefined) throw new Error(`nobody runs this ${language} block: ${text}`);
  return { kind: "program", name, text, prints: [] };
}

/** `command   # a comment`, where the comment may say what it exits with. */
function readLine(line: string): ShellLine {
  const [command = "", comment = ""] = line.split(/ +# /);
  return { command, exit: Number(/\bexits (\d)\b/.exec(comment)?.[1] ?? 0) };
}

function printing(told: Told | undefined, text: string): Told {
  if (told === undefined || told.kind === "checkout") throw new Error(`nothing prints this: ${text}`);
  return { ...told, prints: [...told.prints, text] };
}

/** What was printed, as a pattern: `…` stands for anything on its line, and on a line of its own for any lines. */
export function pattern(text: string): RegExp {
  const lines = text.split("\n").map((line) => (line === "…" ? "(?:.*\n)*?.*" : escaped(line).replaceAll("…", ".+?")));
  return new RegExp(`^${lines.join("\n")}$`);
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
