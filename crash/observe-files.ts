import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** The operations that give a file its content or its name, or remove it. */
const operations = [
  "copyFileSync",
  "fsyncSync",
  "linkSync",
  "mkdirSync",
  "renameSync",
  "rmSync",
  "unlinkSync",
] as const;

/** Calls `writing` before each operation on a file that this process makes from now on. */
export function observeFiles(writing: () => void): void {
  const functions = fs as unknown as Record<string, (...given: readonly unknown[]) => unknown>;
  for (const name of operations) {
    const operation = functions[name] as (...given: readonly unknown[]) => unknown;
    functions[name] = (...given) => {
      writing();
      return operation(...given);
    };
  }
  syncBuiltinESMExports();
}
