import { describe, expect, it } from "vitest";
import { type File, filesBelow, isCode, isNode, isTest, type Node, type Place, parse, textOf } from "./source.ts";

const everything = filesBelow(".");
const ours = everything.filter(({ path }) => /^(src|tests|bench|sim|crash|chaos|scripts|examples)\//.test(path));
const code = ours.filter(({ path }) => isCode(path));
// Once, before the time of any test begins: on a busy machine it takes longer than one test may.
code.forEach(parse);

const linesMax = 400;
const testLinesMax = 600;
const functionLinesMax = 70;
const parametersMax = 5;
const leftoverNames = /^(?:utils?|helpers?|common|misc|lib|shared|manager|impl|base|first|second|third|fourth|fifth)$/;
const kebabCase = /^(?:[a-z0-9]+(?:-[a-z0-9]+)*[/.])*[a-z0-9]+$/;
const notes = /\b(?:TODO|FIXME|XXX)\b/;
const machinePath = /(?<![\w.])\/(?:work|root)\//g;

/** Each rule of the house: what it finds wrong in a file, and a file it must find wrong. */
const rules: readonly Rule[] = [
  {
    law: "no room for leftovers: names say what is inside",
    files: ours,
    faults: ({ path }) => leftovers(path),
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
      { path: "src/store/sqlite/migrations/0001-runs.sql", text: "" },
    ],
  },
  {
    law: "names of files are in lower case, with hyphens",
    files: ours,
    faults: ({ path }) => (kebabCase.test(path) ? [] : [path]),
    caught: [
      { path: "src/core/checkPlan.ts", text: "" },
      { path: "src/core/check_plan.ts", text: "" },
      { path: "src/Core/plan.ts", text: "" },
    ],
    passed: [
      { path: "src/core/plan/check-plan.test.ts", text: "" },
      { path: "src/store/sqlite/migrations/0001-runs.sql", text: "" },
    ],
  },
  {
    law: "no class for leftovers either",
    files: code,
    faults: (file) => parse(file).places.flatMap(leftoverClass),
    caught: [sample("class RunManager {}"), sample("export abstract class BaseStore {}")],
    passed: [sample("class FaultError extends Error {}")],
  },
  {
    law: `files stay within ${linesMax} lines, tests within ${testLinesMax}`,
    files: code,
    faults: ({ path, text }) => {
      const lines = lineCount(text);
      return lines > (isTest(path) ? testLinesMax : linesMax) ? [`${lines} lines`] : [];
    },
    caught: [sample("\n".repeat(linesMax + 1)), { path: "tests/a.test.ts", text: "\n".repeat(testLinesMax + 1) }],
    passed: [sample("\n".repeat(linesMax)), { path: "tests/a.test.ts", text: "\n".repeat(testLinesMax) }],
  },
  {
    law: `functions stay within ${functionLinesMax} lines`,
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
    law: `functions take at most ${parametersMax} parameters, not counting names in an options object`,
    files: code,
    faults: (file) => parse(file).places.flatMap(crowded),
    caught: [
      sample("export function crowded(a, b, c, d, e, f) {}"),
      sample("const crowded = (a, b, c, d, e, f) => a;"),
      sample("class Crowd { crowded(a, b, c, d, e, f) {} }"),
    ],
    passed: [sample("export function fits(a, b, c, d, { e, f }) {}")],
  },
  {
    law: "no test holds anything against a clock",
    files: code.filter(({ path }) => path.endsWith(".test.ts")),
    faults: (file) => parse(file).places.flatMap(stopwatch),
    caught: [
      sample("const start = performance.now();"),
      sample("const start = process.hrtime.bigint();"),
      sample(`import { performance } from "node:perf_hooks";`),
    ],
    passed: [sample("expect(clock.now()).toBe(noon);"), sample(`const word = "performance";`)],
  },
  {
    law: "no star exports",
    files: code,
    faults: (file) => parse(file).places.flatMap(({ node }) => (node.type === "ExportAllDeclaration" ? ["star"] : [])),
    caught: [sample(`export * from "./run.ts";`), sample(`export * as run from "./run.ts";`)],
    passed: [sample(`export { run } from "./run.ts";`)],
  },
  {
    law: "no any",
    files: code,
    faults: (file) => parse(file).places.flatMap(({ node }) => (node.type === "TSAnyKeyword" ? ["any"] : [])),
    caught: [sample("export type Bag = Record<string, any>;"), sample("const one = two as any;")],
    passed: [sample("const any: unknown = 'any';")],
  },
  {
    law: "no notes to self",
    files: code,
    faults: (file) => parse(file).comments.flatMap(({ value }) => (notes.test(value) ? [value.trim()] : [])),
    caught: [sample("// TODO: later"), sample("/* FIXME */")],
    passed: [sample("// done"), sample(`const word = "TODO";`)],
  },
  {
    law: "no test is skipped or runs alone",
    files: code.filter(({ path }) => isTest(path)),
    faults: (file) => parse(file).places.flatMap(unevenTest),
    caught: [
      sample(`it.only("one", () => {});`),
      sample(`describe.skip("one", () => {});`),
      sample(`test.concurrent.skip("one", () => {});`),
      sample(`it.skip.each([1])("one", () => {});`),
      sample(`it.todo("one");`),
      sample(`xit("one", () => {});`),
    ],
    passed: [sample(`it.each([1])("one", () => {});`), sample("pages.skip(1);")],
  },
  {
    law: "no path of one machine",
    files: everything.filter(({ path }) => path !== "package-lock.json"),
    faults: ({ text }) => text.match(machinePath) ?? [],
    caught: [sample(`const home = "/${"root"}/writ";`), { path: "README.md", text: `cd /${"work"}/writ` }],
    passed: [sample(`import { worker } from "../worker/worker.ts";`)],
  },
  {
    law: "no download address in the lockfile",
    files: everything.filter(({ path }) => path === "package-lock.json"),
    faults: ({ text }) => text.match(/"resolved": "(?:https?|git)[^"]*"/) ?? [],
    caught: [{ path: "package-lock.json", text: `"resolved": "https://example.org/writ.tgz"` }],
    passed: [{ path: "package-lock.json", text: `"integrity": "sha512-"` }],
  },
  {
    law: "doors only open: named re-exports and nothing else",
    files: code.filter(({ path }) => /^src\/[^/]+\.ts$/.test(path) && !isTest(path)),
    faults: (file) => parse(file).body.flatMap((node) => (isReExport(node) ? [] : [node.type])),
    caught: [
      sample(`import { run } from "./core/run.ts";\nexport { run };`),
      sample("export const version = 1;"),
      sample(`export default "writ";`),
      sample("start();"),
    ],
    passed: [sample(`export { run, type Run } from "./core/run.ts";\nexport type { Step } from "./core/step.ts";`)],
  },
];

describe.each(rules)("$law", ({ files, faults, caught, passed }) => {
  it("holds everywhere", () => {
    expect(files.flatMap((file) => faults(file).map((fault) => `${file.path}: ${fault}`))).toEqual([]);
  });

  it.each(caught)("would catch $path $text", (file) => {
    expect(faults(file)).not.toEqual([]);
  });

  it.each(passed)("lets $path $text pass", (file) => {
    expect(faults(file)).toEqual([]);
  });
});

interface Rule {
  readonly law: string;
  readonly files: readonly File[];
  readonly faults: (file: File) => readonly string[];
  readonly caught: readonly File[];
  readonly passed: readonly File[];
}

function sample(text: string): File {
  return { path: "src/core/sample.ts", text };
}

function leftovers(path: string): readonly string[] {
  if (path.endsWith("/types.ts")) return ["types.ts"];
  const words = path.replace(/\.[^/]*$/, "").split(/[/-]/);
  const numbered = /-\d+(?:\.test)?\.ts$/.test(path) ? ["numbered"] : [];
  return [...words.filter((word) => leftoverNames.test(word)), ...numbered];
}

function leftoverClass({ node }: Place): readonly string[] {
  if (node.type !== "ClassDeclaration" && node.type !== "ClassExpression") return [];
  const words = (textOf(node.id) ?? "").split(/(?=[A-Z])/);
  return words.filter((word) => leftoverNames.test(word.toLowerCase()));
}

function longFunctions(file: File): readonly string[] {
  return parse(file).places.flatMap(({ node, parent }) => {
    if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return [];
    const lines = lineCount(file.text.slice(node.start, node.end));
    return lines > functionLinesMax ? [`${nameOf(node, parent)} has ${lines} lines`] : [];
  });
}

function crowded({ node, parent }: Place): readonly string[] {
  const { params } = node;
  if (!Array.isArray(params) || params.length <= parametersMax) return [];
  return [`${nameOf(node, parent)} takes ${params.length} parameters`];
}

function stopwatch({ node }: Place): readonly string[] {
  const name = node.type === "Identifier" ? textOf(node) : undefined;
  return name === "performance" || name === "hrtime" ? [name] : [];
}

function nameOf(node: Node, parent: Node | undefined): string {
  return textOf(node.id) ?? textOf(parent?.id) ?? textOf(parent?.key) ?? "a function";
}

/** An `only`, `skip` or `todo` anywhere on the chain that begins at `it`, `test` or `describe`. */
function unevenTest({ node }: Place): readonly string[] {
  if (node.type === "CallExpression" && /^(?:[fx](?:it|describe|test))$/.test(textOf(node.callee) ?? "")) return ["x"];
  if (node.type !== "MemberExpression") return [];
  const word = textOf(node.property) ?? "";
  if (!/^(?:only|skip|todo|skipIf|runIf)$/.test(word)) return [];
  let start: unknown = node.object;
  while (isNode(start) && start.type === "MemberExpression") start = start.object;
  return /^(?:it|test|describe|suite)$/.test(textOf(start) ?? "") ? [word] : [];
}

function isReExport(node: Node): boolean {
  return node.type === "ExportNamedDeclaration" && isNode(node.source);
}

/** Lines of a text; a last line break ends a line, it does not begin one. */
function lineCount(text: string): number {
  return text.replace(/\n$/, "").split("\n").length;
}
