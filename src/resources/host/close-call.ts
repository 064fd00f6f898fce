import { constants } from "node:fs";
import type { ResourceChange, ResourceClosing } from "../../core/ports/resource.ts";
import { changeReport } from "../change-report.ts";
import type { CaptureLog } from "./capture-log.ts";
import { syncDirectory } from "./disk.ts";
import type { HostBackend } from "./host-backend.ts";
import type { KnownTrees } from "./restore-calls.ts";
import { compareTrees, type TreeDifference, toResourceChanges } from "./restore-tree.ts";
import { findRunningProcesses } from "./running-processes.ts";
import type { DirectoryNode } from "./tree-node.ts";
import { changingTreeFault } from "./tree-walker.ts";
import type { WorkingTree } from "./working-tree.ts";

/** A call that is open in this process. */
export interface OpenCall {
  readonly log: CaptureLog;
  readonly backend: HostBackend;
  /** The tree before the call; null for a call that uses only its handle. */
  readonly before: DirectoryNode | null;
}

/** Closes a call that used only its handle. Its changes are on disk before the call is reported as succeeded. */
export function closeHandleCall(log: CaptureLog, backend: HostBackend): ResourceClosing {
  const after = backend.syncChanges();
  log.append({ type: "closed", tree: null, added: 0, after });
  // Without a change there is nothing to undo, so the record may be lost.
  if (after.length > 0) log.sync();
  const marks = new Map(after.map(({ path, mark }) => [path.join("/"), mark]));
  const changes = log.records.flatMap(({ record }): ResourceChange[] => {
    if (record.type !== "was" || record.was.kind === "directory") return [];
    const path = record.path.join("/");
    const isRemoved = marks.get(path) === "absent";
    if (record.was.kind === "absent") return isRemoved ? [] : [{ path, change: "added" }];
    return [{ path, change: isRemoved ? "removed" : "changed" }];
  });
  return { digest: null, ...changeReport(changes) };
}

/**
 * Closes a call with raw access. Scans the tree twice: if the scans differ, something still changes the tree and the
 * call fails.
 */
export async function closeRawCall(
  parts: WorkingTree,
  trees: KnownTrees,
  log: CaptureLog,
  before: DirectoryNode,
): Promise<ResourceClosing> {
  const { walker, objects, root } = parts;
  if (log.begun.access === "watched") return closeWatchedCall(parts, trees, log, before);
  const bytesBefore = objects.bytes;
  const scan = await walker.scan("record", trees.latest);
  const running = findRunningProcesses(parts, log.begun.since);
  if (running.length > 0) throw changingTreeFault(root, `processes of the tool still run: ${running.join(", ")}`);
  const again = await walker.scan("hash", scan.root);
  if (again.digest !== scan.digest) throw changingTreeFault(root, "files still change after the tool has ended");
  const differences = compareTrees(before, scan.root);
  syncChanged(parts, differences);
  objects.sync();
  log.append({ type: "closed", tree: scan.digest, added: objects.bytes - bytesBefore, after: [] });
  log.sync();
  trees.latest = scan.root;
  return { digest: scan.digest, ...changeReport(toResourceChanges(differences)) };
}

/**
 * Closes a call during which another program changed the tree. The program may go on: what it changes from now on counts
 * as the change of another program. `before` is null if the process of the call died.
 */
export async function closeWatchedCall(
  parts: WorkingTree,
  trees: KnownTrees,
  log: CaptureLog,
  before: DirectoryNode | null = null,
): Promise<ResourceClosing> {
  const { walker, objects } = parts;
  const bytesBefore = objects.bytes;
  const { root, digest } = await walker.scan("record", trees.latest);
  const differences = before === null ? [] : compareTrees(before, root);
  syncChanged(parts, differences);
  objects.sync();
  log.append({ type: "closed", tree: digest, added: objects.bytes - bytesBefore, after: [] });
  log.sync();
  trees.latest = root;
  return { digest, ...changeReport(toResourceChanges(differences)) };
}

function syncChanged({ rootDirectory, disk }: WorkingTree, differences: readonly TreeDifference[]): void {
  for (const { path, to } of differences) {
    if (to?.kind === "file") {
      const { descriptor } = rootDirectory.openFile(path, constants.O_RDONLY);
      disk.fsyncSync(descriptor);
      disk.closeSync(descriptor);
    }
    const place = to?.kind === "directory" ? path : path.slice(0, -1);
    rootDirectory.withEntry([...place, "."], ({ directory }) => syncDirectory(disk, directory));
  }
}
