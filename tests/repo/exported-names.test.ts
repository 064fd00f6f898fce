import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { exportedNames, isCode, isTest, readFilesIn, type SourceFile } from "./source-files.ts";

const programs = ["src", "console", "sim", "crash", "chaos", "bench"] as const;
const code = readFilesIn(".").filter(({ path }) => isCode(path) && !path.endsWith(".test.ts"));
const isEntryPoint = (path: string): boolean => /^src\/[^/]+\.ts$/.test(path);
const modules = code.filter(
  ({ path }) => /^(?:src|console|sim|crash|chaos|bench|scripts|tests)\//.test(path) && !isEntryPoint(path),
);

/** Files that hold examples for tests, or that a tool names. */
const otherwiseNamed =
  /-fixtures?\.ts$|^src\/testing\/given\/|^tests\/store\/postgres\/global-setup\.ts$|^scripts\/mutation-runner\.js$/;

describe("an exported name means one thing", () => {
  it.each(programs)("in %s", (program) => {
    const files = modules.filter(({ path }) => path.startsWith(`${program}/`) && !isTest(path));
    expect(repeatedNames(files)).toEqual([]);
  });

  it("would catch two files that export one name", () => {
    const type = { path: "src/core/a.ts", text: "export type Cost = number;" };
    const value = { path: "src/cli/b.ts", text: "export const Cost = 1;" };
    expect(repeatedNames([type, value])).toEqual(["Cost: src/core/a.ts, src/cli/b.ts"]);
  });

  it("allows a local name, a type beside its value and an import", () => {
    const both = { path: "src/core/a.ts", text: "export type Cost = 1;\nexport const Cost: Cost = 1;" };
    const local = { path: "src/cli/b.ts", text: "const Cost = 1;" };
    const user = { path: "src/cli/c.ts", text: `import { Cost } from "../core/a.ts";` };
    expect(repeatedNames([both, local, user])).toEqual([]);
  });
});

describe("a file is named after its main export", () => {
  it("in the whole repository", () => {
    const misnamed = modules.filter((file) => !otherwiseNamed.test(file.path) && !isNamedAfterExport(file));
    expect(misnamed.map((file) => `${file.path}: ${exportedNames(file).join(", ")}`)).toEqual([]);
  });

  it.each([
    { path: "src/core/road.ts", text: "export function startCall() {}" },
    { path: "src/engine/lease-desk.ts", text: "export class RunQueue {}\nexport const size = 1;" },
  ])("would catch $path with $text", (file) => {
    expect(isNamedAfterExport(file)).toBe(false);
  });

  it.each([
    { path: "src/core/start-call.ts", text: "export function startCall() {}" },
    { path: "src/core/ledgers.ts", text: "export interface Ledger {}" },
    { path: "src/core/takeover.ts", text: "export function recordTakeover() {}" },
    { path: "src/store/listing.ts", text: "export function listRows() {}" },
    { path: "src/cli/main.ts", text: "start();" },
  ])("allows $path with $text", (file) => {
    expect(isNamedAfterExport(file)).toBe(true);
  });
});

/** Returns the names that more than one of the files exports, each with these files. */
function repeatedNames(files: readonly SourceFile[]): readonly string[] {
  const exporters = new Map<string, readonly string[]>();
  for (const file of files)
    for (const name of new Set(exportedNames(file))) exporters.set(name, [...(exporters.get(name) ?? []), file.path]);
  return [...exporters].flatMap(([name, paths]) => (paths.length > 1 ? [`${name}: ${paths.join(", ")}`] : []));
}

/** True if at least half of the words of the file name are in one exported name, or if the file exports nothing. */
function isNamedAfterExport(file: SourceFile): boolean {
  const fileWords = basename(file.path).replace(/\..*$/, "").split("-");
  const names = exportedNames(file);
  return names.length === 0 || names.some((name) => resembles(fileWords, name));
}

function resembles(fileWords: readonly string[], name: string): boolean {
  const nameWords = name.split(/_|(?<=[a-z\d])(?=[A-Z])/).map((word) => word.toLowerCase());
  const shared = fileWords.filter((word) => nameWords.some((other) => haveOneStem(word, other)));
  return 2 * shared.length >= fileWords.length || nameWords.join("").startsWith(fileWords.join(""));
}

/** True for forms of one word, such as `list` and `listing`. */
function haveOneStem(left: string, right: string): boolean {
  const length = Math.min(left.length, right.length, 5);
  const [one, other] = [left, right].map((word) => word.replace(/s$/, ""));
  return length >= 4 ? left.slice(0, length) === right.slice(0, length) : one === other;
}
