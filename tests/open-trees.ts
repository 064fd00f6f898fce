import { afterEach } from "vitest";
import { HostFilesystem } from "../src/resources/host/host-filesystem.ts";
import type { HostFilesystemOptions } from "../src/resources/host/host-parts.ts";
import { quickPlace, type WorkingTree, workingTree } from "./working-tree.ts";

interface OpenTrees {
  tree(files?: Readonly<Record<string, string>>): WorkingTree;
  /** What one process has of a tree. */
  over(made: WorkingTree, options?: Partial<HostFilesystemOptions>): HostFilesystem;
}

/** Trees, and what is open of them, for the tests of a file: all of it is gone after each. */
export function openTrees(): OpenTrees {
  const opened: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });
  return {
    tree: (files = {}) => {
      const made = workingTree({ "a.txt": "aaa", ...files }, quickPlace);
      opened.push(async () => made.clear());
      return made;
    },
    over: (made, options = {}) => {
      const resource = new HostFilesystem({ ...made, ...options });
      opened.push(() => resource.dispose());
      return resource;
    },
  };
}
