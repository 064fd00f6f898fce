import { constants, type Stats } from "node:fs";
import type { Digest } from "../../core/id.ts";
import type { ResourceChange } from "../../core/resource.ts";
import type { TreePath } from "../tree-path.ts";
import type { CaptureLog } from "./capture-log.ts";
import type { HostParts } from "./host-parts.ts";
import type { Was } from "./log-record.ts";
import { nameFrom } from "./name-bytes.ts";
import type { DirectoryNode, TreeNode } from "./tree-node.ts";
import { differences } from "./tree-restorer.ts";
import { nameAside } from "./undo.ts";

/** What the calls from one to another changed, whichever way they went about it; null: now. */
export async function changesBetween(
  parts: HostParts,
  from: string | null,
  until: string | null,
): Promise<readonly ResourceChange[]> {
  if (from === until) return [];
  if (from === null || (until !== null && until < from))
    return (await changesBetween(parts, until, from)).map(backwards);
  const logs = parts.shelf.from(from);
  const between = logs.filter(({ id }) => until === null || id < until);
  const after = until === null ? [] : logs.filter(({ id }) => id >= until);
  const history = new History(parts);
  const touched: TreePath[] = [];
  for (const log of between) touched.push(...(await history.touchedBy(log)));
  const paths = new Map(touched.map((path) => [path.join("/"), path]));
  const changes = [...paths.values()].flatMap((path) => {
    const [before, now] = [history.stateAt(logs, path), history.stateAt(after, path)];
    return before === now ? [] : [{ path: path.join("/"), change: changeOf(before, now) }];
  });
  return changes.sort((left, right) => (left.path < right.path ? -1 : 1));
}

function backwards({ path, change }: ResourceChange): ResourceChange {
  if (change === "changed") return { path, change };
  return { path, change: change === "added" ? "removed" : "added" };
}

function changeOf(before: string, now: string): ResourceChange["change"] {
  if (before === absent) return "added";
  return now === absent ? "removed" : "changed";
}

const absent = "absent";

/** What is known of a tree's past. */
class History {
  readonly #parts: HostParts;
  readonly #trees = new Map<Digest, DirectoryNode>();

  constructor(parts: HostParts) {
    this.#parts = parts;
  }

  /** Where a call may have changed something. */
  async touchedBy(log: CaptureLog): Promise<readonly TreePath[]> {
    const tree = log.before;
    if (tree === null) return log.records.flatMap(({ record }) => (record.type === "was" ? [record.path] : []));
    const left = log.closed?.tree ?? null;
    const until = left === null ? (await this.#parts.walker.look("see", null)).root : this.#tree(left);
    return differences(this.#tree(tree), until).flatMap(({ path, from, to }) => [
      ...below(path, from),
      ...below(path, to),
    ]);
  }

  /** How a path stood before the first of some calls that knows it; if none does, as it stands now. */
  stateAt(logs: readonly CaptureLog[], path: TreePath): string {
    const place = path.join("/");
    for (const log of logs) {
      const tree = log.before;
      if (tree !== null) return ofNode(nodeAt(this.#tree(tree), path));
      const found = log.records.find(({ record }) => record.type === "was" && record.path.join("/") === place);
      if (found?.record.type === "was") return ofWas(this.#parts, log, found.record.was, path);
    }
    const stats = this.#parts.anchor.stats(path);
    return stats === null ? absent : ofStats(this.#parts, path, stats);
  }

  #tree(digest: Digest): DirectoryNode {
    const found = this.#trees.get(digest) ?? this.#parts.walker.load(digest);
    this.#trees.set(digest, found);
    return found;
  }
}

function below(path: TreePath, node: TreeNode | null): readonly TreePath[] {
  if (node?.kind !== "directory") return [path];
  return [path, ...[...node.children].flatMap(([name, child]) => below([...path, name], child))];
}

function nodeAt(root: DirectoryNode, path: TreePath): TreeNode | null {
  let node: TreeNode | null = root;
  for (const name of path) node = node?.kind === "directory" ? (node.children.get(name) ?? null) : null;
  return node;
}

function ofNode(node: TreeNode | null): string {
  if (node === null) return absent;
  if (node.kind === "file") return `file ${node.mode} ${node.digest}`;
  if (node.kind === "link") return `link ${node.target}`;
  return node.kind === "directory" ? `directory ${node.mode}` : node.what;
}

function ofWas({ shelf, objects, disk }: HostParts, log: CaptureLog, was: Was, path: TreePath): string {
  if (was.kind === "absent") return absent;
  if (was.kind === "link") return `link ${was.target}`;
  if (was.kind === "directory") return `directory ${was.mode}`;
  if (was.digest !== null) return `file ${was.mode} ${was.digest}`;
  const name = nameAside(log, path);
  if (name === null) return "file";
  const file = disk.openSync(`${shelf.aside}/${name}`, constants.O_RDONLY);
  try {
    return `file ${was.mode} ${objects.hashFile(file, was.size)}`;
  } finally {
    disk.closeSync(file);
  }
}

function ofStats({ anchor, disk, objects }: HostParts, path: TreePath, stats: Stats): string {
  const mode = stats.mode & 0o7777;
  if (stats.isDirectory()) return `directory ${mode}`;
  if (stats.isSymbolicLink())
    return `link ${nameFrom(anchor.at(path, ({ place }) => disk.readlinkSync(place, "buffer")))}`;
  if (!stats.isFile()) return "other";
  const { descriptor } = anchor.file(path, constants.O_RDONLY);
  try {
    return `file ${mode} ${objects.hashFile(descriptor, stats.size)}`;
  } finally {
    disk.closeSync(descriptor);
  }
}
