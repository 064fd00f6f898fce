import { FaultError, fault } from "../../core/values/fault.ts";
import { printablePath } from "../tree-path.ts";
import type { CaptureLog } from "./capture-log.ts";
import { changeMark } from "./host-backend.ts";
import { type RestoreFromLogOptions, restoreFromLog } from "./restore-from-log.ts";
import { compareTrees, restoreTree } from "./restore-tree.ts";
import { findOrphanedProcesses } from "./running-processes.ts";
import type { DirectoryNode } from "./tree-node.ts";
import { changingTreeFault } from "./tree-walker.ts";
import { TreeWriter } from "./tree-writer.ts";
import type { WorkingTree } from "./working-tree.ts";

const pathsShown = 20;

export interface KnownTrees {
  /** The tree of the last scan. */
  latest: DirectoryNode | null;
  readonly byCall: Map<string, DirectoryNode>;
}

/**
 * Undoes calls, newest first. Records the start and the end of each undo, so that a later process can continue after a
 * crash.
 */
export async function restoreCalls(
  parts: WorkingTree,
  trees: KnownTrees,
  logs: readonly CaptureLog[],
): Promise<number> {
  let changed = 0;
  for (const log of logs) {
    if (log.state === "restored") continue;
    if (log.state === "closed" || log.state === "kept") {
      await assertUnchangedSinceClose(parts, trees, log);
      log.append({ type: "restoring" });
      log.sync();
    } else if (log.state === "open") {
      assertNoOrphans(parts, log);
    }
    const found = log.state === "begun" ? 0 : await restoreCall(parts, trees, log, "move");
    changed += found;
    parts.captures.dropAside(log);
    // Durable with the next sync. If it is lost, the undo is repeated, which is harmless.
    log.append({ type: "restored", changed: found });
  }
  return changed;
}

/**
 * Restores the tree to the state before these calls, newest first, as a change of an open call that has recorded the
 * current state. The undo data of these calls stays, so that they can be undone again.
 */
export async function rewindCalls(
  parts: WorkingTree,
  trees: KnownTrees,
  logs: readonly CaptureLog[],
  own: CaptureLog,
): Promise<void> {
  for (const log of logs) {
    await assertUnchangedSinceClose(parts, trees, log);
    await restoreCall(parts, trees, log, "copy", own.id);
  }
}

async function restoreCall(
  parts: WorkingTree,
  trees: KnownTrees,
  log: CaptureLog,
  asides: RestoreFromLogOptions["asides"],
  id = log.id,
): Promise<number> {
  const { disk, rootDirectory, walker, objects, captures } = parts;
  const writer = new TreeWriter(disk, rootDirectory, id);
  const tree = log.before;
  if (tree === null) return restoreFromLog({ disk, rootDirectory, writer, log, aside: captures.aside, asides });
  const now = await walker.scan("hash", trees.latest);
  const wanted = trees.byCall.get(log.id) ?? walker.load(tree);
  const { scan, changed } = await restoreTree({ walker, objects, writer }, now, wanted, tree);
  trees.latest = scan.root;
  return changed;
}

/** Throws if a process of the tool still runs: it could change files during the restore. */
function assertNoOrphans(parts: WorkingTree, { begun }: CaptureLog): void {
  const running = findOrphanedProcesses(parts, begun.since);
  if (running.length > 0)
    throw changingTreeFault(
      parts.root,
      `processes of the tool still run: ${running.join(", ")}; end them, then restore again`,
    );
}

/** Throws if the tree is not as the call left it: a restore would also undo later changes by another program. */
async function assertUnchangedSinceClose(
  { rootDirectory, walker }: WorkingTree,
  trees: KnownTrees,
  { closed }: CaptureLog,
): Promise<void> {
  if (closed === null) return;
  if (closed.tree !== null) {
    const now = await walker.scan("hash", trees.latest);
    if (now.digest === closed.tree) return;
    throw blockedFault(compareTrees(walker.load(closed.tree), now.root).map(({ path }) => path.join("/")));
  }
  const changedPaths = closed.after.filter(({ path, mark }) => changeMark(rootDirectory.stats(path)) !== mark);
  if (changedPaths.length > 0) throw blockedFault(changedPaths.map(({ path }) => path.join("/")));
}

function blockedFault(paths: readonly string[]): FaultError {
  const shownPaths = paths.slice(0, pathsShown);
  const message = `${shownPaths.map(printablePath).join(", ")} changed after the call; undo these changes first`;
  return new FaultError(fault("RESTORE_BLOCKED", message, { paths: shownPaths }));
}
