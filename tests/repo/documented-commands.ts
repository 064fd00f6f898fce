/** A fenced block of a page. `about` is the text after the language. */
interface Block {
  readonly language: string;
  readonly about: string;
  readonly text: string;
}

/** A program or shell lines on a page, with the output that the page shows for them. */
export type DocumentedCommand =
  /** A program that the reader saves under its name and runs more than once. */
  | { readonly kind: "program"; readonly name: string; readonly text: string; readonly prints: readonly string[] }
  /** Shell lines. */
  | { readonly kind: "shell"; readonly lines: readonly ShellLine[]; readonly prints: readonly string[] }
  /** Shell lines for a checkout of this repository. */
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

/** Returns the commands of a page. A block that is neither program, shell lines, output nor JSON is an error. */
export function documentedCommands(page: string): readonly DocumentedCommand[] {
  const commands: DocumentedCommand[] = [];
  for (const block of blocksOf(page)) {
    if (block.language === "json") JSON.parse(block.text);
    else if (block.language !== "text") commands.push(readBlock(block));
    else commands.push(withPrintedOutput(commands.pop(), block.text));
  }
  return commands;
}

function readBlock({ language, about, text }: Block): DocumentedCommand {
  if (language === "sh") {
    const lines = text.trimEnd().split("\n").map(readLine);
    return about === "checkout" ? { kind: "checkout", lines } : { kind: "shell", lines, prints: [] };
  }
  const [, name] = /^\/\/ ([\w-]+\.mjs): /.exec(text) ?? [];
  if (language !== "js" || name === undefined) throw new Error(`this ${language} block is no named program: ${text}`);
  return { kind: "program", name, text, prints: [] };
}

/** Reads `command   # comment`; the comment may name the exit code. */
function readLine(line: string): ShellLine {
  const [command = "", comment = ""] = line.split(/ +# /);
  return { command, exit: Number(/\bexits (\d)\b/.exec(comment)?.[1] ?? 0) };
}

function withPrintedOutput(command: DocumentedCommand | undefined, text: string): DocumentedCommand {
  if (command === undefined || command.kind === "checkout") throw new Error(`nothing prints this: ${text}`);
  return { ...command, prints: [...command.prints, text] };
}

/** Returns a pattern for printed output: `…` matches any text on its line, and on its own line any lines. */
export function outputPattern(text: string): RegExp {
  const lines = text.split("\n").map((line) => (line === "…" ? "(?:.*\n)*?.*" : escaped(line).replaceAll("…", ".+?")));
  return new RegExp(`^${lines.join("\n")}$`);
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
