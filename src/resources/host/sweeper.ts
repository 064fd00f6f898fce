import type { Digest } from "../../core/id.ts";
import type { HostParts } from "./host-parts.ts";
import { isLost } from "./object-store.ts";
import type { Trees } from "./restore-chain.ts";
import { type DirectoryNode, decodeDirectory, type TreeNode } from "./tree-node.ts";

/** So much is kept before it is worth looking what of it is still needed. */
const dueBytes = 16_777_216;

/** Throws away contents that no call needs any more. */
export class Sweeper {
  readonly #parts: HostParts;
  readonly #trees: Trees;
  /** What was left when it was last looked at. */
  #left = 0;

  constructor(parts: HostParts, trees: Trees) {
    this.#parts = parts;
    this.#trees = trees;
  }

  /** When there is twice as much as was needed the last time: so it costs no more than writing it did. */
  sweepIfDue(): void {
    if (this.#parts.objects.bytes <= 2 * this.#left + dueBytes) return;
    try {
      this.sweep();
    } catch (error) {
      // Where something is damaged nothing is thrown away, and nobody is kept from working.
      if (!isLost(error)) throw error;
    }
  }

  sweep(): number {
    const { shelf, objects } = this.#parts;
    const wanted = new Set<string>();
    // What was seen last is what the next look rests on.
    if (this.#trees.seen !== null) collect(this.#trees.seen, wanted);
    for (const { before, closed } of shelf.logs)
      for (const tree of [before, closed?.tree ?? null]) if (tree !== null) this.#collectKept(tree, wanted);
    const known = new Set(shelf.logs.map(({ id }) => id));
    for (const id of this.#trees.of.keys()) if (!known.has(id)) this.#trees.of.delete(id);
    const dropped = objects.sweep(wanted);
    this.#left = objects.bytes;
    return dropped;
  }

  /** A directory that many trees share is looked at once. */
  #collectKept(digest: Digest, into: Set<string>): void {
    if (into.has(digest)) return;
    into.add(digest);
    const bytes = Buffer.concat([...this.#parts.objects.read(digest)]);
    const nodes = decodeDirectory(bytes, (below) => {
      this.#collectKept(below, into);
      return new Map<string, TreeNode>();
    });
    for (const node of nodes.values()) if (node.kind === "file") into.add(node.digest);
  }
}

function collect(node: DirectoryNode, into: Set<string>): void {
  if (node.digest !== null) into.add(node.digest);
  for (const child of node.children.values()) {
    if (child.kind === "file") into.add(child.digest);
    if (child.kind === "directory") collect(child, into);
  }
}
