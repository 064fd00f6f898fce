import type { Digest } from "../../core/values/ids.ts";
import { isLostContent } from "./object-store.ts";
import type { KnownTrees } from "./restore-calls.ts";
import { type DirectoryNode, decodeDirectory, type TreeNode } from "./tree-node.ts";
import type { WorkingTree } from "./working-tree.ts";

/** No automatic sweep happens below this size. */
const sweepAfterBytes = 16_777_216;

/** Deletes contents that no capture needs. */
export class ContentSweeper {
  readonly #parts: WorkingTree;
  readonly #trees: KnownTrees;
  /** The size of all packs after the last sweep. */
  #bytesAfterSweep = 0;

  constructor(parts: WorkingTree, trees: KnownTrees) {
    this.#parts = parts;
    this.#trees = trees;
  }

  /** Sweeps when the packs have doubled since the last sweep, so that sweeping costs no more than writing. */
  sweepIfDue(): void {
    if (this.#parts.objects.bytes <= 2 * this.#bytesAfterSweep + sweepAfterBytes) return;
    try {
      this.sweep();
    } catch (error) {
      // If a stored tree is damaged, nothing is deleted, and the call continues.
      if (!isLostContent(error)) throw error;
    }
  }

  sweep(): number {
    const { captures, objects } = this.#parts;
    const wanted = new Set<string>();
    // The next scan compares with the last tree and reuses its contents.
    if (this.#trees.latest !== null) collectDigests(this.#trees.latest, wanted);
    for (const { before, closed } of captures.logs)
      for (const tree of [before, closed?.tree ?? null]) if (tree !== null) this.#collectStored(tree, wanted);
    const known = new Set(captures.logs.map(({ id }) => id));
    for (const id of this.#trees.byCall.keys()) if (!known.has(id)) this.#trees.byCall.delete(id);
    const dropped = objects.sweep(wanted);
    this.#bytesAfterSweep = objects.bytes;
    return dropped;
  }

  /** Collects the digests of a stored tree. Reads each shared directory once. */
  #collectStored(digest: Digest, into: Set<string>): void {
    if (into.has(digest)) return;
    into.add(digest);
    const bytes = Buffer.concat([...this.#parts.objects.read(digest)]);
    const nodes = decodeDirectory(bytes, (below) => {
      this.#collectStored(below, into);
      return new Map<string, TreeNode>();
    });
    for (const node of nodes.values()) if (node.kind === "file") into.add(node.digest);
  }
}

function collectDigests(node: DirectoryNode, into: Set<string>): void {
  if (node.digest !== null) into.add(node.digest);
  for (const child of node.children.values()) {
    if (child.kind === "file") into.add(child.digest);
    if (child.kind === "directory") collectDigests(child, into);
  }
}
