import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FaultError } from "../../src/core/values/fault.ts";

/** A tree in a temporary folder with its store and a folder outside the tree. */
export interface TestTree {
  readonly root: string;
  readonly store: string;
  readonly outside: string;
  path(name: string): string;
  clear(): void;
}

/** A folder in memory if the system has one, for tests that would take minutes on a disk. */
export const memoryFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export function createTestTree(files: Readonly<Record<string, string>> = {}, place = tmpdir()): TestTree {
  const top = mkdtempSync(join(place, "writ-tree-"));
  const root = join(top, "tree");
  const outside = join(top, "outside");
  mkdirSync(root);
  mkdirSync(outside);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return {
    root,
    store: join(top, "store"),
    outside,
    path: (name) => join(root, name),
    clear: () => rmSync(top, { recursive: true, force: true }),
  };
}

/** Returns the code of the fault that the work throws, or its result as `answered`. */
export async function refusalCode(work: Promise<unknown> | (() => Promise<unknown>)): Promise<unknown> {
  try {
    return { answered: await (typeof work === "function" ? work() : work) };
  } catch (error) {
    if (error instanceof FaultError) return error.fault.code;
    throw error;
  }
}
