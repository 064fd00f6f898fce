import {
  isCode,
  isSyntaxNode,
  isTest,
  nodeText,
  parseSource,
  type SourceFile,
  type SyntaxNode,
} from "./source-files.ts";

/** A text that people read, on one line. */
export type ReadableText = string;

/** Returns the texts of a file that people read: comments, messages and test titles of code, paragraphs of a page. */
export function readTexts(file: SourceFile): readonly ReadableText[] {
  if (file.path.endsWith(".md")) return paragraphsIn(file.text);
  if (!isCode(file.path)) return [];
  const isProgram = /^(?:src|console)\//.test(file.path) && !isTest(file.path);
  return [...commentsIn(file), ...(isProgram ? messagesIn(file) : []), ...testTitlesIn(file)];
}

/** Returns the paragraphs, list items and table cells of a Markdown page without code. */
function paragraphsIn(page: string): readonly ReadableText[] {
  const prose = page.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`]*`/g, "`code`");
  return prose.split(/\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.) )| \| /).map(onOneLine);
}

/** Returns the comments of a file; comments on consecutive lines are one text. */
function commentsIn(file: SourceFile): readonly ReadableText[] {
  const texts: ReadableText[] = [];
  let previousEnd = -1;
  for (const { value, start, end, type } of parseSource(file).comments) {
    const text = onOneLine(value.replaceAll(/^\s*\*+/gm, ""));
    const continues = type === "Line" && previousEnd >= 0 && /^\n[ \t]*$/.test(file.text.slice(previousEnd, start));
    if (continues) texts.push(`${texts.pop()} ${text}`);
    else texts.push(text);
    previousEnd = type === "Line" ? end : -1;
  }
  return texts;
}

/** Returns the string and template literals that have a space in them. */
function messagesIn(file: SourceFile): readonly ReadableText[] {
  const texts = parseSource(file).positions.flatMap(({ node }) => literalText(node) ?? []);
  return texts.filter((text) => text.trim().includes(" ")).map(onOneLine);
}

/** Returns the first argument of every `describe`, `it` and `test`, also behind `each` and other modifiers. */
function testTitlesIn(file: SourceFile): readonly ReadableText[] {
  return parseSource(file).positions.flatMap(({ node }) => {
    if (node.type !== "CallExpression" || !Array.isArray(node.arguments)) return [];
    if (!/^(?:describe|it|test|suite)$/.test(calledName(node.callee))) return [];
    const title = literalText(node.arguments[0]);
    return title === undefined ? [] : [onOneLine(title)];
  });
}

/** Returns the name at the start of a chain such as `it.each(rows)` or `describe.concurrent`. */
function calledName(callee: unknown): string {
  let start = callee;
  while (isSyntaxNode(start) && start.type !== "Identifier")
    start =
      start.type === "MemberExpression"
        ? start.object
        : start.type === "TaggedTemplateExpression"
          ? start.tag
          : start.callee;
  return nodeText(start) ?? "";
}

/** Returns the text of a string literal, or of a template with `…` for each value in it. */
function literalText(node: unknown): string | undefined {
  if (!isSyntaxNode(node)) return undefined;
  if (node.type !== "TemplateLiteral") return node.type === "Literal" ? nodeText(node) : undefined;
  const quasis = Array.isArray(node.quasis) ? node.quasis.filter(isSyntaxNode) : [];
  return quasis.map(quasiText).join("…");
}

function quasiText({ value }: SyntaxNode): string {
  return typeof value === "object" && value !== null && "cooked" in value ? String(value.cooked) : "";
}

const onOneLine = (text: string): ReadableText => text.replaceAll(/\s+/g, " ").trim();
