import { hash } from "node:crypto";
import type { ResourceContents } from "../core/ports/resource.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import { isJsonObject, type Json } from "../core/values/json.ts";
import { assertWithinLimit, type FileLimits } from "./file-limits.ts";
import type { FileEntry, Filesystem } from "./filesystem-handle.ts";
import { isWritablePath, printablePath } from "./tree-path.ts";

/** Files as JSON. Each content is stored once, under its SHA-256. */
interface FilesystemContents {
  readonly form: "files";
  readonly directories: readonly string[];
  /** The SHA-256 of each file, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** The bytes of each content in base64. */
  readonly blobs: Readonly<Record<string, string>>;
  /**
   * Paths that exist and are not contained: links, protected and excluded names, and a path that no JSON object can have
   * as a key. A load leaves them as they are.
   */
  readonly omitted: readonly string[];
}

interface ContentsRules {
  readonly limits: FileLimits;
  readonly protect: readonly string[];
  readonly exclude: readonly string[];
}

/** Reads and replaces the files below a handle: the bytes of regular files, and directories. */
export function filesystemContents(rules: ContentsRules): ResourceContents<Filesystem> {
  return {
    read: (handle) => readContents(handle, rules),
    problem: (contents) => contentsProblem(contents, rules),
    replace: (handle, contents) => replaceContents(handle, contents as unknown as FilesystemContents, rules),
  };
}

async function readContents(handle: Filesystem, rules: ContentsRules): Promise<Json> {
  const { directories, files, omitted } = await listTree(handle, rules);
  const [digests, blobs]: [Record<string, string>, Record<string, string>] = [{}, {}];
  let total = 0;
  for (const path of files) {
    const bytes = await handle.read(path);
    const digest = hash("sha256", bytes);
    digests[path] = digest;
    if (Object.hasOwn(blobs, digest)) continue;
    total += bytes.length;
    assertWithinLimit(rules.limits, "snapshotBytes", total, "the size of the files of a snapshot with contents");
    blobs[digest] = Buffer.from(bytes).toString("base64");
  }
  return { form: "files", directories, files: digests, blobs, omitted };
}

interface ListedTree {
  readonly directories: readonly string[];
  readonly files: readonly string[];
  readonly omitted: readonly string[];
}

/** Lists a tree in the order of its paths. */
async function listTree(handle: Filesystem, rules: ContentsRules): Promise<ListedTree> {
  const [directories, files, omitted]: [string[], string[], string[]] = [[], [], []];
  const pending = [""];
  for (let above = pending.pop(); above !== undefined; above = pending.pop()) {
    for (const { name, kind } of await handle.list(above)) {
      const path = above === "" ? name : `${above}/${name}`;
      if (isOmitted(path, name, kind, rules)) omitted.push(path);
      else if (kind === "file") files.push(path);
      else {
        directories.push(path);
        pending.push(path);
      }
      const count = directories.length + files.length + omitted.length;
      assertWithinLimit(rules.limits, "treeEntries", count, "the number of entries of a snapshot");
    }
  }
  return { directories: directories.sort(), files: files.sort(), omitted: omitted.sort() };
}

function isOmitted(path: string, name: string, kind: FileEntry["kind"], rules: ContentsRules): boolean {
  const isKept = kind === "file" || kind === "directory";
  const isOutside = rules.exclude.includes(name) || !isWritablePath(path, rules.limits, rules.protect);
  return !isKept || isOutside || path === "__proto__";
}

function contentsProblem(contents: Json, rules: ContentsRules): string | null {
  if (!isJsonObject(contents) || contents.form !== "files") return "they are no files";
  const { directories, files, blobs, omitted } = contents;
  if (!isListOfTexts(directories) || !isListOfTexts(omitted) || !isMapOfTexts(files) || !isMapOfTexts(blobs))
    return "they need the fields directories, files, blobs and omitted";
  const path = [...Object.keys(files), ...directories].find(
    (each) => each === "" || !isWritablePath(each, rules.limits, rules.protect),
  );
  return path === undefined ? null : `the path ${printablePath(path)} is not allowed`;
}

function isListOfTexts(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isMapOfTexts(value: Json | undefined): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((item) => typeof item === "string");
}

/** Writes only what differs. Every content is checked before the first change. */
async function replaceContents(handle: Filesystem, contents: FilesystemContents, rules: ContentsRules): Promise<void> {
  const wanted = new Map<string, Uint8Array>();
  for (const [path, digest] of Object.entries(contents.files)) wanted.set(path, contentOf(contents, path, digest));
  const now = await listTree(handle, rules);
  const directories = new Set([...contents.directories, ...[...wanted.keys()].flatMap(directoriesAbove)]);
  const kept = new Set([...now.omitted, ...contents.omitted]);
  for (const path of now.files) if (!wanted.has(path) && !kept.has(path)) await handle.delete(path);
  for (const path of now.directories.toReversed())
    if (!directories.has(path) && !kept.has(path) && (await handle.list(path)).length === 0) await handle.delete(path);
  for (const path of [...directories].sort()) await handle.mkdir(path);
  const existing = new Set(now.files);
  for (const [path, bytes] of wanted)
    if (!existing.has(path) || Buffer.compare(await handle.read(path), bytes) !== 0) await handle.write(path, bytes);
}

function contentOf({ blobs }: FilesystemContents, path: string, digest: string): Uint8Array {
  const text = Object.hasOwn(blobs, digest) ? blobs[digest] : undefined;
  if (text === undefined) throw unusableContent(path, "is missing in the snapshot");
  const bytes = Buffer.from(text, "base64");
  if (hash("sha256", bytes) !== digest) throw unusableContent(path, "differs from its SHA-256 in the snapshot");
  return bytes;
}

function unusableContent(path: string, why: string): FaultError {
  return new FaultError(fault("RESTORE_FAILED", `the content of ${printablePath(path)} ${why}`, { path }));
}

function directoriesAbove(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}
