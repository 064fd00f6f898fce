import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FaultError } from "../src/core/fault.ts";

/** A folder for a tree and what belongs to it, cleared away with everything that happened in it. */
export interface WorkingTree {
  readonly root: string;
  readonly store: string;
  /** Outside the tree. */
  readonly outside: string;
  path(name: string): string;
  clear(): void;
}

/** In memory, where there is such a place: for what would take a disk minutes. */
export const quickPlace = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export function workingTree(files: Readonly<Record<string, string>> = {}, place = tmpdir()): WorkingTree {
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

/** The code of the fault that something is refused with; what it answers, if it is not refused. */
export async function refusal(work: Promise<unknown> | (() => Promise<unknown>)): Promise<unknown> {
  try {
    return { answered: await (typeof work === "function" ? work() : work) };
  } catch (error) {
    if (error instanceof FaultError) return error.fault.code;
    throw error;
  }
}
