import type { Capture } from "../../core/ports/resource.ts";
import { LEFT_PLACES_MAX, type LeftPlace, type RevertReport } from "../../core/ports/revert-report.ts";
import { printablePath, type TreePath } from "../tree-path.ts";
import { type MemoryDirectory, type MemoryNode, memoryChanges, memoryNodeAt } from "./memory-directory.ts";
import type { MemoryDraft } from "./memory-draft.ts";

/** A call that works on files in memory. */
export interface MemoryCall {
  readonly capture: Capture;
  readonly draft: MemoryDraft;
  /** The trees before and after the call was published. */
  before: MemoryDirectory;
  after: MemoryDirectory;
  isKept: boolean;
}

interface OwnPath {
  readonly path: TreePath;
  /** Null: nothing was there before the first of the calls. */
  readonly was: MemoryNode | null;
  /** The directories above it that were not there, nearest first. */
  readonly made: readonly TreePath[];
  why: string | null;
}

/** Puts back, in the draft of an open call, each path that these calls changed and no other call changed later. */
export function revertCallsInMemory(
  published: readonly MemoryCall[],
  own: ReadonlySet<string>,
  draft: MemoryDraft,
): RevertReport {
  const paths = new Map<string, OwnPath>();
  for (const call of published)
    for (const path of changedPaths(call)) {
      const found = paths.get(path.join("/"));
      if (!own.has(call.capture.id)) {
        if (found !== undefined) found.why ??= `${printablePath(call.capture.tag)} has changed it since`;
      } else if (found === undefined) paths.set(path.join("/"), ownPath(call.before, path));
    }
  const kept = new Set(published.map(({ capture }) => capture.id));
  const left: LeftPlace[] = [...own]
    .filter((id) => !kept.has(id))
    .map((id) => ({ path: ".", why: `the capture ${id} was dropped; the files of its call stay` }));
  let restored = 0;
  // Deepest first, so that a directory is empty when it is removed.
  for (const each of [...paths.values()].sort((one, two) => two.path.length - one.path.length)) {
    const isFile = [each.was, memoryNodeAt(draft.tree, each.path)].some((node) => node?.kind === "file");
    const why = each.why ?? putBack(each, draft);
    if (why === null) restored += Number(isFile);
    else left.push({ path: each.path.join("/"), why });
  }
  return { restored, left: left.length, places: left.slice(0, LEFT_PLACES_MAX) };
}

function changedPaths({ draft: { writtenPaths }, before, after }: MemoryCall): readonly TreePath[] {
  if (writtenPaths === "all") return memoryChanges(before, after).map(({ path }) => path.split("/"));
  return [...writtenPaths].map((path) => path.split("/"));
}

function ownPath(before: MemoryDirectory, path: TreePath): OwnPath {
  const made: TreePath[] = [];
  for (
    let above = path.slice(0, -1);
    above.length > 0 && memoryNodeAt(before, above) === null;
    above = above.slice(0, -1)
  )
    made.push(above);
  return { path, was: memoryNodeAt(before, path), made, why: null };
}

/** Returns why the path stays as it is, or null. */
function putBack({ path, was, made }: OwnPath, draft: MemoryDraft): string | null {
  if (was !== null) draft.put(path, was);
  else if (!isFull(draft, path)) draft.put(path, null);
  else return "it has entries that the plan did not make";
  for (const above of was === null ? made : []) {
    if (isFull(draft, above)) break;
    draft.put(above, null);
  }
  return null;
}

function isFull({ tree }: MemoryDraft, path: TreePath): boolean {
  const node = memoryNodeAt(tree, path);
  return node?.kind === "directory" && [...node.entries].length > 0;
}
