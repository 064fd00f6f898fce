import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { FaultError, fault } from "../../core/fault.ts";
import { type FileLimits, fileLimits } from "../file-limits.ts";
import { protectedNames, shown } from "../tree-path.ts";
import { Anchor } from "./anchor.ts";
import { withAttributes } from "./attributes.ts";
import { CaptureShelf } from "./capture-shelf.ts";
import { type Disk, diskFault, errorCode, realDisk, writeAll } from "./disk.ts";
import { ObjectStore } from "./object-store.ts";
import { TreeLock } from "./tree-lock.ts";
import { TreeWalker } from "./tree-walker.ts";

export interface HostFilesystemOptions {
  /** The working tree. */
  readonly root: string;
  /** Where captures are kept: outside the tree, best on the same file system. Default: `.<name>.writ` beside it. */
  readonly store?: string;
  /** Names that are neither captured nor touched, at any depth. Default: `node_modules`. */
  readonly exclude?: readonly string[];
  /** Names that tools may not write through the handle. Default: `.git`, shell start-up files and the like. */
  readonly protect?: readonly string[];
  readonly limits?: Partial<FileLimits>;
  /**
   * Extended attributes, which Node cannot read. `uncovered` (default): every capture says that they are not covered. `refuse`: what
   * has some is refused before the tool is called; needs `python3`.
   */
  readonly attributes?: "uncovered" | "refuse";
  readonly now?: () => number;
  /** What is done to the disk goes through this; for tests of what happens when it fails. */
  readonly disk?: Disk;
}

/** What a working tree and its captures are kept with. */
export interface HostParts {
  readonly root: string;
  readonly store: string;
  readonly disk: Disk;
  readonly limits: FileLimits;
  readonly exclude: readonly string[];
  readonly protect: readonly string[];
  readonly coversAttributes: boolean;
  readonly attributes: (paths: readonly string[]) => readonly string[];
  readonly anchor: Anchor;
  readonly objects: ObjectStore;
  readonly shelf: CaptureShelf;
  readonly walker: TreeWalker;
  readonly lock: TreeLock;
}

/** `onHeld`: the right to the tree was got; others may have been there. */
export function openParts(options: HostFilesystemOptions, onHeld: () => void): HostParts {
  try {
    return parts(options, onHeld);
  } catch (error) {
    throw diskFault(error, options.root);
  }
}

function parts(options: HostFilesystemOptions, onHeld: () => void): HostParts {
  const { exclude = ["node_modules"], protect = protectedNames, disk = realDisk, now = Date.now } = options;
  const root = treeAt(options.root);
  const limits = { ...fileLimits, ...options.limits };
  const store = storeFor(disk, root, options.store);
  const coversAttributes = options.attributes === "refuse";
  const attributes = coversAttributes ? withAttributes : () => [];
  const objects = new ObjectStore(disk, join(store, "objects"));
  const { dev, ino } = disk.lstatSync(root);
  return {
    ...{ root, store, disk, limits, exclude, protect, coversAttributes, attributes, objects },
    anchor: new Anchor(disk, root),
    shelf: new CaptureShelf(disk, store, limits),
    walker: new TreeWalker({ disk, root, exclude, limits, objects, now, attributes }),
    lock: new TreeLock({ root, identity: `${dev} ${ino}`, place: store, onHeld }),
  };
}

function treeAt(given: string): string {
  try {
    if (statSync(given).isDirectory()) return realpathSync(given);
  } catch (error) {
    throw unusable(`${shown(given)} cannot be opened (${errorCode(error)}); \`root\` must be a directory`);
  }
  throw unusable(`${shown(given)} is a file; \`root\` must be a directory`);
}

/** A folder that belongs to one tree and is not in it. */
function storeFor(disk: Disk, root: string, given: string | undefined): string {
  const wanted = resolve(given ?? join(dirname(root), `.${basename(root)}.writ`));
  mkdirSync(wanted, { recursive: true, mode: 0o700 });
  const store = realpathSync(wanted);
  if (`${store}${sep}`.startsWith(`${root}${sep}`) || `${root}${sep}`.startsWith(`${store}${sep}`))
    throw unusable(
      `${shown(store)} and the tree ${shown(root)} must not be inside each other; choose another \`store\``,
    );
  const owner = ownerOf(disk, store, root);
  if (owner !== root) throw unusable(`${shown(store)} is of the tree ${shown(owner)}; choose another \`store\``);
  return store;
}

/** The tree that the folder belongs to: this one, if it is a new one. */
function ownerOf(disk: Disk, store: string, root: string): string {
  const note = join(store, "tree");
  if (!existsSync(note)) noteOwner(disk, note, root);
  return readFileSync(note, "utf8");
}

/** What says so is there as a whole, or not at all. */
function noteOwner(disk: Disk, note: string, root: string): void {
  const place = `${note}.${randomBytes(6).toString("hex")}`;
  const file = disk.openSync(place, "wx", 0o600);
  try {
    writeAll(disk, file, Buffer.from(root));
    disk.linkSync(place, note);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    disk.closeSync(file);
    disk.unlinkSync(place);
  }
}

function unusable(message: string): FaultError {
  return new FaultError(fault("CONFIG_INVALID", message));
}
