import { FaultError, fault } from "../../core/fault.ts";
import { shown } from "../tree-path.ts";
import type { CaptureLog } from "./capture-log.ts";
import { Hands } from "./hands.ts";
import { markOf } from "./host-ground.ts";
import type { HostParts } from "./host-parts.ts";
import { orphaned } from "./lingering.ts";
import type { DirectoryNode } from "./tree-node.ts";
import { differences, restoreTree } from "./tree-restorer.ts";
import { restless } from "./tree-walker.ts";
import { type UndoOptions, undo } from "./undo.ts";

const pathsShown = 20;

export interface Trees {
  /** As it was last seen and kept. */
  seen: DirectoryNode | null;
  readonly of: Map<string, DirectoryNode>;
}

/** Undoes calls, newest first. Each is noted when it is begun and when it is done, so that whoever comes next knows where to go on. */
export async function restoreChain(parts: HostParts, trees: Trees, logs: readonly CaptureLog[]): Promise<number> {
  let changed = 0;
  for (const log of logs) {
    if (log.state === "restored") continue;
    if (log.state === "closed" || log.state === "kept") {
      await mustBeOurs(parts, trees, log);
      log.append({ type: "restoring" });
      log.sync();
    } else if (log.state === "open") {
      mustBeAlone(parts, log);
    }
    const found = log.state === "begun" ? 0 : await undone(parts, trees, log, "move");
    changed += found;
    parts.shelf.dropAside(log);
    // On disk with whatever is written next; until then it would only be done again.
    log.append({ type: "restored", changed: found });
  }
  return changed;
}

/** Makes the tree what it was before these calls, newest first, in the hands of a call that has noted how it is. They can be gone back over again. */
export async function rewindOver(
  parts: HostParts,
  trees: Trees,
  logs: readonly CaptureLog[],
  own: CaptureLog,
): Promise<void> {
  for (const log of logs) {
    await mustBeOurs(parts, trees, log);
    await undone(parts, trees, log, "copy", own.id);
  }
}

async function undone(
  parts: HostParts,
  trees: Trees,
  log: CaptureLog,
  asides: UndoOptions["asides"],
  id = log.id,
): Promise<number> {
  const { disk, anchor, walker, objects, shelf } = parts;
  const hands = new Hands(disk, anchor, id);
  const tree = log.before;
  if (tree === null) return undo({ disk, anchor, hands, log, aside: shelf.aside, asides });
  const now = await walker.look("see", trees.seen);
  const wanted = trees.of.get(log.id) ?? walker.load(tree);
  const { look, changed } = await restoreTree({ walker, objects, hands }, now, wanted, tree);
  trees.seen = look.root;
  return changed;
}

/** What a tool has left at work would go on changing what is put back under its hands. */
function mustBeAlone(parts: HostParts, { begun }: CaptureLog): void {
  const left = orphaned(parts, begun.since);
  if (left.length > 0)
    throw restless(parts.root, `the tool has left at work: ${left.join(", ")}; end it, and it is put back`);
}

/** What the call left is still there, and nothing else: otherwise a stranger's work would be undone with it. */
async function mustBeOurs({ anchor, walker }: HostParts, trees: Trees, { closed }: CaptureLog): Promise<void> {
  if (closed === null) return;
  if (closed.tree !== null) {
    const now = await walker.look("see", trees.seen);
    if (now.digest === closed.tree) return;
    throw blocked(differences(walker.load(closed.tree), now.root).map(({ path }) => path.join("/")));
  }
  const foreign = closed.after.filter(({ path, mark }) => markOf(anchor.stats(path)) !== mark);
  if (foreign.length > 0) throw blocked(foreign.map(({ path }) => path.join("/")));
}

function blocked(paths: readonly string[]): FaultError {
  const told = paths.slice(0, pathsShown);
  const message = `somebody else has changed ${told.map(shown).join(", ")} since; put that right first`;
  return new FaultError(fault("RESTORE_BLOCKED", message, { paths: told }));
}
