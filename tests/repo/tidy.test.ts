import { describe, expect, it } from "vitest";
import {
  isCode,
  isSyntaxNode,
  isTest,
  nodeText,
  parseSource,
  readFilesIn,
  type SourceFile,
  type SyntaxNode,
  type SyntaxPosition,
} from "./source-files.ts";

const everything = readFilesIn(".");
const ours = everything.filter(({ path }) =>
  /^(src|console|tests|bench|sim|crash|chaos|scripts|examples)\//.test(path),
);
const code = ours.filter(({ path }) => isCode(path));
// Parses before the first test: on a busy machine it takes longer than the time limit of one test.
code.forEach(parseSource);

const linesMax = 400;
const testLinesMax = 600;
const functionLinesMax = 60;
const parametersMax = 5;
const vagueNames = /^(?:utils?|helpers?|common|misc|lib|shared|manager|impl|base|first|second|third|fourth|fifth)$/;
const kebabCase = /^(?:[a-z0-9]+(?:-[a-z0-9]+)*[/.])*[a-z0-9]+$/;
const notes = /\b(?:TODO|FIXME|XXX)\b/;
const machinePath = /(?<![\w.])\/(?:work|root)\//g;

/** The rules, each with files that it must catch and files that it must allow. */
const rules: readonly Rule[] = [
  {
    rule: "names of files and folders state the content",
    files: ours,
    faults: ({ path }) => vagueFileNames(path),
    caught: [
      { path: "src/core/utils.ts", text: "" },
      { path: "src/core/types.ts", text: "" },
      { path: "src/shared/clock.ts", text: "" },
      { path: "src/core/session-helpers.ts", text: "" },
      { path: "src/core/decide-2.ts", text: "" },
      { path: "src/core/second-pass.ts", text: "" },
    ],
    passed: [
      { path: "src/core/base64.ts", text: "" },
      { path: "tests/slow/two-workers.test.ts", text: "" },
      { path: "src/store/sqlite/migrations/0001-runs.ts", text: "" },
    ],
  },
  {
    rule: "names of files are in lower case, with hyphens",
    files: ours,
    faults: ({ path }) => (kebabCase.test(path) ? [] : [path]),
    caught: [
      { path: "src/core/checkPlan.ts", text: "" },
      { path: "src/core/check_plan.ts", text: "" },
      { path: "src/Core/plan.ts", text: "" },
    ],
    passed: [
      { path: "src/core/plan/check-plan.test.ts", text: "" },
      { path: "src/store/sqlite/migrations/0001-runs.ts", text: "" },
    ],
  },
  {
    rule: "names of classes state the content",
    files: code,
    faults: (file) => parseSource(file).positions.flatMap(vagueClassNames),
    caught: [sample("class RunManager {}"), sample("export abstract class BaseStore {}")],
    passed: [sample("class FaultError extends Error {}")],
  },
  {
    rule: `files stay within ${linesMax} lines, tests within ${testLinesMax}`,
    files: code,
    faults: ({ path, text }) => {
      const lines = lineCount(text);
      // An entry point only lists the names that it exports.
      const most = isTest(path) || path === "src/index.ts" ? testLinesMax : linesMax;
      return lines > most ? [`${lines} lines`] : [];
    },
    caught: [sample("\n".repeat(linesMax + 1)), { path: "tests/a.test.ts", text: "\n".repeat(testLinesMax + 1) }],
    passed: [sample("\n".repeat(linesMax)), { path: "tests/a.test.ts", text: "\n".repeat(testLinesMax) }],
  },
  {
    rule: `functions stay within ${functionLinesMax} lines`,
    files: code.filter(({ path }) => !path.endsWith(".test.ts")),
    faults: longFunctions,
    caught: [
      sample(`export function long() {${"\n".repeat(functionLinesMax)}}`),
      sample(`const long = () => {${"\n".repeat(functionLinesMax)}};`),
      sample(`class Long { long() {${"\n".repeat(functionLinesMax)}} }`),
    ],
    passed: [sample(`export function fits() {${"\n".repeat(functionLinesMax - 1)}}`)],
  },
  {
    rule: `functions take at most ${parametersMax} parameters, not counting names in an options object`,
    files: code,
    faults: (file) => parseSource(file).positions.flatMap(longParameterLists),
    caught: [
      sample("export function longParameterLists(a, b, c, d, e, f) {}"),
      sample("const crowded = (a, b, c, d, e, f) => a;"),
      sample("class Crowd { crowded(a, b, c, d, e, f) {} }"),
    ],
    passed: [sample("export function fits(a, b, c, d, { e, f }) {}")],
  },
  {
    rule: "no test measures time",
    files: code.filter(({ path }) => path.endsWith(".test.ts")),
    faults: (file) => parseSource(file).positions.flatMap(timeMeasurement),
    caught: [
      sample("const start = performance.now();"),
      sample("const start = process.hrtime.bigint();"),
      sample(`import { performance } from "node:perf_hooks";`),
    ],
    passed: [sample("expect(clock.now()).toBe(noon);"), sample(`const word = "performance";`)],
  },
  {
    rule: "no star exports",
    files: code,
    faults: (file) =>
      parseSource(file).positions.flatMap(({ node }) => (node.type === "ExportAllDeclaration" ? ["star"] : [])),
    caught: [sample(`export * from "./run.ts";`), sample(`export * as run from "./run.ts";`)],
    passed: [sample(`export { run } from "./run.ts";`)],
  },
  {
    rule: "no any",
    files: code,
    faults: (file) => parseSource(file).positions.flatMap(({ node }) => (node.type === "TSAnyKeyword" ? ["any"] : [])),
    caught: [sample("export type Bag = Record<string, any>;"), sample("const one = two as any;")],
    passed: [sample("const any: unknown = 'any';")],
  },
  {
    rule: "no TODO comments",
    files: code,
    faults: (file) => parseSource(file).comments.flatMap(({ value }) => (notes.test(value) ? [value.trim()] : [])),
    caught: [sample("// TODO: later"), sample("/* FIXME */")],
    passed: [sample("// done"), sample(`const word = "TODO";`)],
  },
  {
    // A test of a program that is not installed is skipped with a line on stderr that says how to get it.
    rule: "no test is skipped silently or runs alone",
    files: code.filter(({ path }) => isTest(path)),
    faults: (file) =>
      parseSource(file)
        .positions.flatMap(skippedOrAlone)
        .filter((name) => name !== "skipIf" || !/stderr\.write\(\s*["`]\\nSKIPPED: /.test(file.text)),
    caught: [
      sample(`it.only("one", () => {});`),
      sample(`describe.skip("one", () => {});`),
      sample(`test.concurrent.skip("one", () => {});`),
      sample(`it.skip.each([1])("one", () => {});`),
      sample(`describe.skipIf(true)("one", () => {});`),
      sample(`it.todo("one");`),
      sample(`xit("one", () => {});`),
    ],
    passed: [
      sample(`it.each([1])("one", () => {});`),
      sample("pages.skip(1);"),
      sample(`process.stderr.write("\\nSKIPPED: one"); describe.skipIf(true)("one", () => {});`),
    ],
  },
  {
    rule: "no path of a single machine",
    files: everything.filter(({ path }) => path !== "package-lock.json"),
    faults: ({ text }) => text.match(machinePath) ?? [],
    caught: [sample(`const home = "/${"root"}/writ";`), { path: "README.md", text: `cd /${"work"}/writ` }],
    passed: [sample(`import { worker } from "../worker/worker.ts";`)],
  },
  {
    rule: "no download address in the lockfile",
    files: everything.filter(({ path }) => path === "package-lock.json"),
    faults: ({ text }) => text.match(/"resolved": "(?:https?|git)[^"]*"/) ?? [],
    caught: [{ path: "package-lock.json", text: `"resolved": "https://example.org/writ.tgz"` }],
    passed: [{ path: "package-lock.json", text: `"integrity": "sha512-"` }],
  },
  {
    rule: "entry points hold named re-exports and nothing else",
    files: code.filter(({ path }) => /^src\/[^/]+\.ts$/.test(path) && !isTest(path)),
    faults: (file) => parseSource(file).body.flatMap((node) => (isReExport(node) ? [] : [node.type])),
    caught: [
      sample(`import { run } from "./core/run/run.ts";\nexport { run };`),
      sample("export const version = 1;"),
      sample(`export default "writ";`),
      sample("start();"),
    ],
    passed: [
      sample(`export { run, type Run } from "./core/run/run.ts";\nexport type { Step } from "./core/run/step.ts";`),
    ],
  },
];

describe.each(rules)("$rule", ({ files, faults, caught, passed }) => {
  it("holds for the whole repository", () => {
    expect(files.flatMap((file) => faults(file).map((fault) => `${file.path}: ${fault}`))).toEqual([]);
  });

  it.each(caught)("would catch $path $text", (file) => {
    expect(faults(file)).not.toEqual([]);
  });

  it.each(passed)("allows $path $text", (file) => {
    expect(faults(file)).toEqual([]);
  });
});

interface Rule {
  readonly rule: string;
  readonly files: readonly SourceFile[];
  readonly faults: (file: SourceFile) => readonly string[];
  readonly caught: readonly SourceFile[];
  readonly passed: readonly SourceFile[];
}

function sample(text: string): SourceFile {
  return { path: "src/core/sample.ts", text };
}

function vagueFileNames(path: string): readonly string[] {
  if (path.endsWith("/types.ts")) return ["types.ts"];
  const words = path.replace(/\.[^/]*$/, "").split(/[/-]/);
  const numbered = /-\d+(?:\.test)?\.ts$/.test(path) ? ["numbered"] : [];
  return [...words.filter((word) => vagueNames.test(word)), ...numbered];
}

function vagueClassNames({ node }: SyntaxPosition): readonly string[] {
  if (node.type !== "ClassDeclaration" && node.type !== "ClassExpression") return [];
  const words = (nodeText(node.id) ?? "").split(/(?=[A-Z])/);
  return words.filter((word) => vagueNames.test(word.toLowerCase()));
}

function longFunctions(file: SourceFile): readonly string[] {
  return parseSource(file).positions.flatMap(({ node, parent }) => {
    if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return [];
    const lines = lineCount(file.text.slice(node.start, node.end));
    return lines > functionLinesMax ? [`${nameOf(node, parent)} has ${lines} lines`] : [];
  });
}

function longParameterLists({ node, parent }: SyntaxPosition): readonly string[] {
  const { params } = node;
  if (!Array.isArray(params) || params.length <= parametersMax) return [];
  return [`${nameOf(node, parent)} takes ${params.length} parameters`];
}

function timeMeasurement({ node }: SyntaxPosition): readonly string[] {
  const name = node.type === "Identifier" ? nodeText(node) : undefined;
  return name === "performance" || name === "hrtime" ? [name] : [];
}

function nameOf(node: SyntaxNode, parent: SyntaxNode | undefined): string {
  return nodeText(node.id) ?? nodeText(parent?.id) ?? nodeText(parent?.key) ?? "a function";
}

/** Finds `only`, `skip` or `todo` on a chain that begins with `it`, `test` or `describe`. */
function skippedOrAlone({ node }: SyntaxPosition): readonly string[] {
  if (node.type === "CallExpression" && /^(?:[fx](?:it|describe|test))$/.test(nodeText(node.callee) ?? ""))
    return ["x"];
  if (node.type !== "MemberExpression") return [];
  const word = nodeText(node.property) ?? "";
  if (!/^(?:only|skip|todo|skipIf|runIf)$/.test(word)) return [];
  let start: unknown = node.object;
  while (isSyntaxNode(start) && start.type === "MemberExpression") start = start.object;
  return /^(?:it|test|describe|suite)$/.test(nodeText(start) ?? "") ? [word] : [];
}

function isReExport(node: SyntaxNode): boolean {
  return node.type === "ExportNamedDeclaration" && isSyntaxNode(node.source);
}

/** Counts the lines of a text; a line break at the end begins no line. */
function lineCount(text: string): number {
  return text.replace(/\n$/, "").split("\n").length;
}
