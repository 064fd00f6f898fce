import { constants } from "node:fs";
import type { Closing, ResourceChange } from "../../core/resource.ts";
import type { CaptureLog } from "./capture-log.ts";
import { syncDirectory } from "./disk.ts";
import type { HostGround } from "./host-ground.ts";
import type { HostParts } from "./host-parts.ts";
import { lingering } from "./lingering.ts";
import type { Trees } from "./restore-chain.ts";
import type { DirectoryNode } from "./tree-node.ts";
import { changesOf, type Difference, differences } from "./tree-restorer.ts";
import { restless } from "./tree-walker.ts";

const changesShown = 100;

/** What this process knows of a call that is at work. */
export interface Working {
  readonly log: CaptureLog;
  readonly ground: HostGround;
  /** The tree as it was; null for a call that only uses its handle. */
  readonly before: DirectoryNode | null;
}

/** What went through the handle is on disk before anybody is told that the call ended well. */
export function closeHandle(log: CaptureLog, ground: HostGround): Closing {
  const after = ground.settle();
  log.append({ type: "closed", tree: null, added: 0, after });
  log.sync();
  const left = new Map(after.map(({ path, mark }) => [path.join("/"), mark]));
  const changes = log.records.flatMap(({ record }): ResourceChange[] => {
    if (record.type !== "was" || record.was.kind === "directory") return [];
    const path = record.path.join("/");
    const isGone = left.get(path) === "absent";
    if (record.was.kind === "absent") return isGone ? [] : [{ path, change: "added" }];
    return [{ path, change: isGone ? "removed" : "changed" }];
  });
  return { digest: null, changed: changes.length, changes: changes.slice(0, changesShown) };
}

/** What a tool that knows nothing of us did is looked at, twice: whatever still moves then was not its end. */
export async function closeRaw(
  parts: HostParts,
  trees: Trees,
  log: CaptureLog,
  before: DirectoryNode,
): Promise<Closing> {
  const { walker, objects, root } = parts;
  const had = objects.bytes;
  const look = await walker.look("note", trees.seen);
  const left = lingering(parts, log.begun.since);
  if (left.length > 0) throw restless(root, `the tool has left at work: ${left.join(", ")}`);
  const again = await walker.look("see", look.root);
  if (again.digest !== look.digest) throw restless(root, "it still changes though the tool has ended");
  const found = differences(before, look.root);
  syncChanged(parts, found);
  objects.sync();
  log.append({ type: "closed", tree: look.digest, added: objects.bytes - had, after: [] });
  log.sync();
  trees.seen = look.root;
  const changes = changesOf(found);
  return { digest: look.digest, changed: changes.length, changes: changes.slice(0, changesShown) };
}

function syncChanged({ anchor, disk }: HostParts, found: readonly Difference[]): void {
  for (const { path, to } of found) {
    if (to?.kind === "file") {
      const { descriptor } = anchor.file(path, constants.O_RDONLY);
      disk.fsyncSync(descriptor);
      disk.closeSync(descriptor);
    }
    const place = to?.kind === "directory" ? path : path.slice(0, -1);
    anchor.at([...place, "."], ({ directory }) => syncDirectory(disk, directory));
  }
}
