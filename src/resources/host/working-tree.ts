import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import { type FileLimits, fileLimits } from "../file-limits.ts";
import { printablePath, protectedNames } from "../tree-path.ts";
import { CaptureList } from "./capture-list.ts";
import { type Disk, diskFault, errorCode, realDisk, writeAll } from "./disk.ts";
import { findFilesWithAttributes } from "./find-files-with-attributes.ts";
import { ObjectStore } from "./object-store.ts";
import { RootDirectory, replacedRootFault } from "./root-directory.ts";
import { TreeLock } from "./tree-lock.ts";
import { TreeWalker } from "./tree-walker.ts";

export interface HostFilesystemOptions {
  /** The working tree. */
  readonly root: string;
  /**
   * Where captures are stored: outside the tree, ideally on the same file system. Default: `.<name>.writ` beside it.
   */
  readonly store?: string;
  /** Names that are neither captured nor restored, at any depth. Default: `node_modules`. */
  readonly exclude?: readonly string[];
  /** Names that tools may not write through the handle. Default: `.git`, shell start-up files and similar names. */
  readonly protect?: readonly string[];
  readonly limits?: Partial<FileLimits>;
  /**
   * How extended attributes are handled, which Node cannot read. `uncovered` (default): every capture states that they
   * are not covered. `refuse`: a capture fails if a file has some, before the tool is called; this needs `python3`.
   */
  readonly attributes?: "uncovered" | "refuse";
  readonly now?: () => number;
  /** The functions that access the disk, replaceable to test disk failures. */
  readonly disk?: Disk;
}

/** A working tree with the parts that capture and restore it. */
export interface WorkingTree {
  readonly root: string;
  readonly store: string;
  readonly disk: Disk;
  readonly limits: FileLimits;
  readonly exclude: readonly string[];
  readonly protect: readonly string[];
  readonly coversAttributes: boolean;
  readonly attributes: (paths: readonly string[]) => readonly string[];
  readonly rootDirectory: RootDirectory;
  readonly objects: ObjectStore;
  readonly captures: CaptureList;
  readonly walker: TreeWalker;
  readonly lock: TreeLock;
}

/** `onHeld` runs each time this process gets the lock of the tree; another process may have changed it before. */
export function openWorkingTree(options: HostFilesystemOptions, onHeld: () => void): WorkingTree {
  try {
    return createHostTree(options, onHeld);
  } catch (error) {
    throw diskFault(error, options.root);
  }
}

function createHostTree(options: HostFilesystemOptions, onHeld: () => void): WorkingTree {
  const { exclude = ["node_modules"], protect = protectedNames, disk = realDisk, now = Date.now } = options;
  assertNeverWasTree(options);
  const root = resolveRoot(options.root);
  const limits = { ...fileLimits, ...options.limits };
  const store = resolveStoreFolder(disk, root, options.store);
  const coversAttributes = options.attributes === "refuse";
  const attributes = coversAttributes ? findFilesWithAttributes : () => [];
  const objects = new ObjectStore(disk, join(store, "objects"));
  return {
    ...{ root, store, disk, limits, exclude, protect, coversAttributes, attributes, objects },
    rootDirectory: new RootDirectory(disk, root),
    captures: new CaptureList(disk, store, limits),
    walker: new TreeWalker({ disk, root, exclude, limits, objects, now, attributes }),
    lock: new TreeLock({ root, store, onHeld }),
  };
}

/** Throws if the root is a link whose path was itself a working tree before: a tool has replaced the directory. */
function assertNeverWasTree({ root, store }: HostFilesystemOptions): void {
  const path = resolve(root);
  if (!isLink(path)) return;
  const ownerFile = join(store ?? join(dirname(path), `.${basename(path)}.writ`), "tree");
  if (existsSync(ownerFile) && readFileSync(ownerFile, "utf8") === path)
    throw replacedRootFault(path, "is a link now, which is not followed");
}

/** False also if nothing can be at the path; `resolveRoot` says why. */
function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

function resolveRoot(given: string): string {
  try {
    if (statSync(given).isDirectory()) return realpathSync(given);
  } catch (error) {
    throw unusableFault(`${printablePath(given)} cannot be opened (${errorCode(error)}); \`root\` must be a directory`);
  }
  throw unusableFault(`${printablePath(given)} is a file; \`root\` must be a directory`);
}

/** Returns the folder for the captures, which belongs to one tree and is outside it. */
function resolveStoreFolder(disk: Disk, root: string, given: string | undefined): string {
  const wanted = resolve(given ?? join(dirname(root), `.${basename(root)}.writ`));
  mkdirSync(wanted, { recursive: true, mode: 0o700 });
  const store = realpathSync(wanted);
  if (`${store}${sep}`.startsWith(`${root}${sep}`) || `${root}${sep}`.startsWith(`${store}${sep}`))
    throw unusableFault(
      `${printablePath(store)} and the tree ${printablePath(root)} must not be inside each other; choose another \`store\``,
    );
  const owner = readOwner(disk, store, root);
  if (owner !== root)
    throw unusableFault(
      `${printablePath(store)} belongs to the tree ${printablePath(owner)}; choose another \`store\``,
    );
  return store;
}

/** Returns the tree that the folder belongs to. A new folder gets this tree as its owner. */
function readOwner(disk: Disk, store: string, root: string): string {
  const ownerFile = join(store, "tree");
  if (!existsSync(ownerFile)) writeOwner(disk, ownerFile, root);
  return readFileSync(ownerFile, "utf8");
}

/** Writes to a temporary file and links it, so that the owner file is never half written. */
function writeOwner(disk: Disk, ownerFile: string, root: string): void {
  const temporaryFile = `${ownerFile}.${randomBytes(6).toString("hex")}`;
  const file = disk.openSync(temporaryFile, "wx", 0o600);
  try {
    writeAll(disk, file, Buffer.from(root));
    disk.linkSync(temporaryFile, ownerFile);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    disk.closeSync(file);
    disk.unlinkSync(temporaryFile);
  }
}

function unusableFault(message: string): FaultError {
  return new FaultError(fault("CONFIG_INVALID", message));
}
