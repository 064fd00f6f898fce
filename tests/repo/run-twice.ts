import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type DocumentedCommand, outputPattern } from "./documented-commands.ts";
import type { PackedPackage, ProcessOutput } from "./packed-package.ts";

type DocumentedProgram = Extract<DocumentedCommand, { kind: "program" }>;

/**
 * Writes a program into a folder, runs it twice and compares its output with the page. The second run finds what the
 * first left, and does nothing twice. `prepare` returns the path to run, which is the program itself by default.
 */
export function runTwice(
  packed: PackedPackage,
  folder: string,
  { name, text, prints }: DocumentedProgram,
  prepare = (program: string): string => program,
): void {
  writeFileSync(join(folder, name), text);
  const program = prepare(name);
  const dies = text.includes("SIGKILL");
  const first = packed.runIn(folder, process.execPath, program);
  const again = packed.runIn(folder, process.execPath, program);
  if (dies) expect(first).toEqual({ status: null, stdout: "", stderr: "" });
  else expectPrinted(first, prints[0]);
  expectPrinted(again, prints.at(-1));
}

function expectPrinted({ status, stdout, stderr }: ProcessOutput, text: string | undefined): void {
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  if (text !== undefined) expect(stdout).toMatch(outputPattern(text));
}
