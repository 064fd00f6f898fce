import { afterEach } from "vitest";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import type { HostFilesystemOptions } from "../../src/resources/host/working-tree.ts";
import { createTestTree, memoryFolder, type TestTree } from "./test-tree.ts";

interface OpenTrees {
  makeTree(files?: Readonly<Record<string, string>>): TestTree;
  /** Opens a tree as another process would. */
  openTree(tree: TestTree, options?: Partial<HostFilesystemOptions>): HostFilesystem;
}

/** Makes and opens trees for the tests of a file. Everything is closed and removed after each test. */
export function openTrees(): OpenTrees {
  const opened: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });
  return {
    makeTree: (files = {}) => {
      const tree = createTestTree({ "a.txt": "aaa", ...files }, memoryFolder);
      opened.push(async () => tree.clear());
      return tree;
    },
    openTree: (tree, options = {}) => {
      const resource = new HostFilesystem({ ...tree, ...options });
      opened.push(() => resource.dispose());
      return resource;
    },
  };
}
