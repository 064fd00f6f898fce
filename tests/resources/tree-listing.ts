import { createHash } from "node:crypto";
import { closeSync, lstatSync, openSync, readdirSync, readlinkSync, readSync, type Stats } from "node:fs";

/**
 * Lists a tree with one line per entry: metadata, link targets and content digests. It shares no code with the capture
 * and the restore, so that it can check them.
 */
export function listTree(root: string): readonly string[] {
  const lines: string[] = [];
  const names = new Map<number, string>();
  const visit = (path: Buffer): void => {
    const stats = lstatSync(path);
    lines.push(`${path.subarray(root.length).toString("latin1")} ${lineOf(path, stats, names)}`);
    if (!stats.isDirectory()) return;
    const inside = readdirSync(path, { encoding: "buffer" }).sort(Buffer.compare);
    for (const name of inside) visit(Buffer.concat([path, Buffer.from("/"), name]));
  };
  visit(Buffer.from(root));
  return lines;
}

function lineOf(path: Buffer, stats: Stats, names: Map<number, string>): string {
  const { mode, uid, gid, mtimeMs, size, ino, nlink } = stats;
  const metadata = `${mode.toString(8)} ${uid}:${gid} ${Math.floor(mtimeMs * 1000)}`;
  if (stats.isSymbolicLink()) return `link ${metadata} -> ${readlinkSync(path, "buffer").toString("latin1")}`;
  if (stats.isDirectory()) return `directory ${metadata}`;
  if (!stats.isFile()) return `other ${metadata}`;
  const first = names.get(ino);
  if (nlink > 1 && first === undefined) names.set(ino, path.toString("latin1"));
  const sparse = stats.blocks * 512 < size ? "sparse" : "solid";
  return `file ${metadata} ${size} ${sparse} ${nlink} ${first ?? "itself"} ${contentDigest(path)}`;
}

const buffer = Buffer.alloc(1 << 20);

function contentDigest(path: Buffer): string {
  const file = openSync(path, "r");
  const sum = createHash("sha256");
  for (let read = readSync(file, buffer); read > 0; read = readSync(file, buffer)) sum.update(buffer.subarray(0, read));
  closeSync(file);
  return sum.digest("hex");
}
