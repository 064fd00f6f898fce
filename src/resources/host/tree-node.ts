import type { Stats } from "node:fs";
import type { Digest } from "../../core/values/ids.ts";

/** The metadata that a restore sets and that digests include. */
export interface NodeMetadata {
  /** Permission bits, with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** In microseconds, the precision that can be set exactly. */
  readonly mtime_us: number;
}

/** Identifies an unchanged entry without reading it; null if it must be read again. */
export interface NodeIdentity {
  readonly ino: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

export interface FileNode extends NodeMetadata {
  readonly kind: "file";
  readonly size: number;
  readonly digest: Digest;
  /** The path of the first hard link; null for the first one. */
  linkOf: string | null;
  /** The inode and the number of hard links. Not part of the digest. */
  readonly ino: number;
  readonly nlink: number;
  readonly identity: NodeIdentity | null;
}

export interface LinkNode extends NodeMetadata {
  readonly kind: "link";
  readonly target: string;
  readonly identity: NodeIdentity | null;
}

export interface DirectoryNode extends NodeMetadata {
  readonly kind: "directory";
  readonly children: ReadonlyMap<string, TreeNode>;
  readonly identity: NodeIdentity | null;
  /** Null until the scan has computed it. */
  digest: Digest | null;
}

/** A pipe, a socket or a file that is too large. It is listed and may be removed, but its content is not stored. */
export interface OtherNode extends NodeMetadata {
  readonly kind: "other";
  readonly what: string;
  readonly identity: null;
}

export type TreeNode = FileNode | LinkNode | DirectoryNode | OtherNode;

export function metadataOf(stats: Stats): NodeMetadata {
  const { mode, uid, gid, mtimeMs } = stats;
  return { mode: mode & 0o7777, uid, gid, mtime_us: Math.floor(mtimeMs * 1000) };
}

/**
 * The coarsest clock of a file system. An entry that changed more recently could change again without a new timestamp.
 */
const clockTickMs = 2000;

export function identityOf({ ino, mtimeMs, ctimeMs }: Stats, now: number): NodeIdentity | null {
  return ctimeMs < now - clockTickMs ? { ino, mtimeMs, ctimeMs } : null;
}

/** True if the entry is unchanged. Every change of a file sets its ctime, which programs cannot set. */
export function isUnchanged({ identity }: TreeNode, { ino, mtimeMs, ctimeMs }: Stats): boolean {
  return identity !== null && identity.ctimeMs === ctimeMs && identity.mtimeMs === mtimeMs && identity.ino === ino;
}

/** Encodes a directory as one line per entry, sorted by name. */
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

/** Decodes a directory. `below` loads its subdirectories. */
export function decodeDirectory(bytes: Uint8Array, below: (digest: Digest) => ReadonlyMap<string, TreeNode>) {
  const lines = Buffer.from(bytes).toString().split("\n");
  const entries = lines.filter((line) => line !== "").map((line) => decodeEntry(JSON.parse(line) as Encoded, below));
  return new Map(entries);
}

function decodeEntry(line: Encoded, below: (digest: Digest) => ReadonlyMap<string, TreeNode>): [string, TreeNode] {
  const [name, kind, mode, uid, gid, mtime_us, content, size = 0, linkOf = null] = line;
  const metadata = { mode, uid, gid, mtime_us, identity: null };
  const digest = content as Digest;
  switch (kind) {
    case "file":
      return [name, { ...metadata, kind, size, digest, linkOf, ino: 0, nlink: 1 }];
    case "link":
      return [name, { ...metadata, kind, target: content }];
    case "other":
      return [name, { ...metadata, kind, what: content }];
    case "directory":
      return [name, { ...metadata, kind, children: below(digest), digest }];
  }
}

/** Encodes a tree as a directory whose only entry is the root, with an empty name. */
export function encodeTree(root: DirectoryNode): Buffer {
  return Buffer.from(encodeEntry(["", root]));
}

export function sameMetadata(left: NodeMetadata, right: NodeMetadata): boolean {
  return (
    left.mode === right.mode && left.uid === right.uid && left.gid === right.gid && left.mtime_us === right.mtime_us
  );
}
