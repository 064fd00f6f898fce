import type { Stats } from "node:fs";
import type { Digest } from "../../core/id.ts";

/** What stands for good about a file, a link or a directory: this is restored, and this is what a digest is of. */
export interface Standing {
  /** Permission bits, with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Microseconds: what can be set again exactly. */
  readonly mtime_us: number;
}

/** By which it is known again without being read; null where it must be read again. */
export interface Identity {
  readonly ino: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

export interface FileNode extends Standing {
  readonly kind: "file";
  readonly size: number;
  readonly digest: Digest;
  /** For all but the first of several names of one file: the first. */
  linkOf: string | null;
  /** Which file it is on this machine, and how many names that has; not part of what is kept. */
  readonly ino: number;
  readonly nlink: number;
  readonly identity: Identity | null;
}

export interface LinkNode extends Standing {
  readonly kind: "link";
  readonly target: string;
  readonly identity: Identity | null;
}

export interface DirectoryNode extends Standing {
  readonly kind: "directory";
  readonly children: ReadonlyMap<string, TreeNode>;
  readonly identity: Identity | null;
  /** Null until it is sealed. */
  digest: Digest | null;
}

/** A pipe, a socket, something too large: it is seen, and may be removed, but it is not kept. */
export interface OtherNode extends Standing {
  readonly kind: "other";
  readonly what: string;
  readonly identity: null;
}

export type TreeNode = FileNode | LinkNode | DirectoryNode | OtherNode;

export function standingOf(stats: Stats): Standing {
  const { mode, uid, gid, mtimeMs } = stats;
  return { mode: mode & 0o7777, uid, gid, mtime_us: Math.floor(mtimeMs * 1000) };
}

/** The coarsest clock of a file system. What was changed so lately could change again and look the same. */
const tickMs = 2000;

export function identityOf({ ino, mtimeMs, ctimeMs }: Stats, now: number): Identity | null {
  return ctimeMs < now - tickMs ? { ino, mtimeMs, ctimeMs } : null;
}

/** Whether it is the same, unchanged. Changing anything about a file moves its ctime, which nobody can set. */
export function isSame({ identity }: TreeNode, { ino, mtimeMs, ctimeMs }: Stats): boolean {
  return identity !== null && identity.ctimeMs === ctimeMs && identity.mtimeMs === mtimeMs && identity.ino === ino;
}

/** A directory as bytes: one line for each entry, by name. */
export function encodeDirectory({ children }: DirectoryNode): Buffer {
  const lines = [...children].sort(([left], [right]) => (left < right ? -1 : 1)).map(encodeEntry);
  return Buffer.from(lines.join("\n"));
}

function encodeEntry([name, node]: readonly [string, TreeNode]): string {
  const { kind, mode, uid, gid, mtime_us } = node;
  const front = [name, kind, mode, uid, gid, mtime_us];
  switch (node.kind) {
    case "file":
      return JSON.stringify([...front, node.digest, node.size, node.linkOf]);
    case "link":
      return JSON.stringify([...front, node.target]);
    case "other":
      return JSON.stringify([...front, node.what]);
    case "directory":
      return JSON.stringify([...front, node.digest]);
  }
}

type Encoded = readonly [string, TreeNode["kind"], number, number, number, number, string, number?, (string | null)?];

/** Reads it back; what is below it is read when it is asked for. */
export function decodeDirectory(bytes: Uint8Array, below: (digest: Digest) => ReadonlyMap<string, TreeNode>) {
  const lines = Buffer.from(bytes).toString().split("\n");
  const entries = lines.filter((line) => line !== "").map((line) => decodeEntry(JSON.parse(line) as Encoded, below));
  return new Map(entries);
}

function decodeEntry(line: Encoded, below: (digest: Digest) => ReadonlyMap<string, TreeNode>): [string, TreeNode] {
  const [name, kind, mode, uid, gid, mtime_us, content, size = 0, linkOf = null] = line;
  const standing = { mode, uid, gid, mtime_us, identity: null };
  const digest = content as Digest;
  switch (kind) {
    case "file":
      return [name, { ...standing, kind, size, digest, linkOf, ino: 0, nlink: 1 }];
    case "link":
      return [name, { ...standing, kind, target: content }];
    case "other":
      return [name, { ...standing, kind, what: content }];
    case "directory":
      return [name, { ...standing, kind, children: below(digest), digest }];
  }
}

/** A whole tree as bytes: its root is the one entry, without a name. */
export function encodeTree(root: DirectoryNode): Buffer {
  return Buffer.from(encodeEntry(["", root]));
}

export function sameStanding(left: Standing, right: Standing): boolean {
  return (
    left.mode === right.mode && left.uid === right.uid && left.gid === right.gid && left.mtime_us === right.mtime_us
  );
}
