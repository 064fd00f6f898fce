import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  statfsSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { type FaultCode, FaultError, fault } from "../../core/values/fault.ts";

/** Creates the file with mode 600, before SQLite creates it with the default mode. The log files inherit the mode. */
export function createFile(file: string): void {
  // An empty file was created in advance, perhaps with another mode.
  if ((existsSync(file) || !createNewFile(file)) && isEmptyFile(file)) chmodEmptyFile(file);
  assertWritable(file);
}

/**
 * Creates the file with mode 600. Returns false if it exists: it is not opened then, because closing it would drop the
 * locks that this process may hold on it.
 */
export function createNewFile(file: string): boolean {
  try {
    closeSync(openSync(file, "wx", 0o600));
    return true;
  } catch (error) {
    if (errorCodeOf(error) === "EEXIST") return false;
    throw unusableFault(file, error);
  }
}

/** Creates a folder that only its owner can read. */
export function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unusableFault(folder, error);
  }
}

/** Throws if the path is not a file that can hold a store. */
export function assertExists(file: string): void {
  if (isEmptyFile(file))
    throw notAStore(file, "it is empty, so it is no store; run a plan first, or give another path");
  assertWritable(file);
}

function isEmptyFile(file: string): boolean {
  try {
    const found = statSync(file);
    if (!found.isFile()) throw notAStore(file, "it is not a regular file; give another path");
    return found.size === 0;
  } catch (error) {
    if (error instanceof FaultError) throw error;
    throw unusableFault(file, error);
  }
}

/** Links and the files of the kernel, which look empty, are not changed. */
function chmodEmptyFile(file: string): void {
  if (lstatSync(file).isSymbolicLink())
    throw notAStore(file, "it is a link to an empty file; give the path of the file");
  if (kernelFileSystems.has(statfsSync(file).type))
    throw notAStore(file, "it is a file of the kernel; give another path");
  chmodSync(file, 0o600);
}

/** The types of procfs and sysfs. */
const kernelFileSystems: ReadonlySet<number> = new Set([0x9fa0, 0x62656572]);

function assertWritable(file: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    throw unusableFault(file, error);
  }
}

function notAStore(file: string, about: string): FaultError {
  return new FaultError(fault("STORE_UNUSABLE", `${file}: ${about}`));
}

const openProblems: Readonly<Record<string, readonly [FaultCode, string]>> = {
  ENOENT: ["STORE_UNUSABLE", "it or its directory does not exist; create the directory or give another path"],
  ENOTDIR: ["STORE_UNUSABLE", "its directory is a file; give another path"],
  ENOSPC: ["STORE_FULL", "the disk is full; free some space and try again"],
  EEXIST: ["STORE_UNUSABLE", "it is a file where a folder is needed; remove it or give another path"],
  EROFS: ["STORE_READ_ONLY", "it is on a read-only disk; give another path"],
  EACCES: [
    "STORE_READ_ONLY",
    "this user has no permission to write it and its directory; change the permissions or give another path",
  ],
};

function unusableFault(file: string, cause: unknown): FaultError {
  const [code, about] = openProblems[errorCodeOf(cause)] ?? [
    "STORE_UNUSABLE",
    `it cannot be opened (${errorCodeOf(cause)})`,
  ];
  return new FaultError(fault(code, `${file}: ${about}`), { cause });
}

function errorCodeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
