import * as fs from "node:fs";
import { type FaultCode, FaultError, fault } from "../../core/values/fault.ts";
import { printablePath } from "../tree-path.ts";

/** Every function that accesses the disk. Tests replace it to fail or to kill the process at the n-th call. */
export type Disk = Pick<
  typeof fs,
  | "chmodSync"
  | "chownSync"
  | "closeSync"
  | "fchmodSync"
  | "fchownSync"
  | "fdatasyncSync"
  | "fstatSync"
  | "fsyncSync"
  | "ftruncateSync"
  | "futimesSync"
  | "lchownSync"
  | "linkSync"
  | "lstatSync"
  | "lutimesSync"
  | "mkdirSync"
  | "openSync"
  | "readdirSync"
  | "readlinkSync"
  | "readSync"
  | "renameSync"
  | "rmdirSync"
  | "symlinkSync"
  | "unlinkSync"
  | "utimesSync"
  | "writeSync"
>;

export const realDisk: Disk = fs;

const faultsByErrorCode: Readonly<Record<string, FaultCode>> = {
  ENOSPC: "RESOURCE_FULL",
  EDQUOT: "RESOURCE_FULL",
  ENOENT: "FILE_NOT_FOUND",
  EACCES: "FILE_DENIED",
  EPERM: "FILE_DENIED",
  EROFS: "FILE_DENIED",
  ELOOP: "PATH_FORBIDDEN",
  ENOTDIR: "FILE_UNFIT",
  EISDIR: "FILE_UNFIT",
  EEXIST: "FILE_UNFIT",
  ENOTEMPTY: "FILE_UNFIT",
  ENXIO: "FILE_UNFIT",
};

/** Converts an error of the operating system to a fault. Returns a FaultError unchanged. */
export function diskFault(error: unknown, path: string): FaultError {
  if (error instanceof FaultError) return error;
  const code = errorCode(error);
  const reason = error instanceof Error ? error.message : String(error);
  const message = `${printablePath(path)}: ${reason}`;
  return new FaultError(fault(faultsByErrorCode[code] ?? "FILE_FAILED", message, { path, code }), { cause: error });
}

export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** True if the disk or the quota is full. */
export function isDiskFull(error: unknown): boolean {
  return faultsByErrorCode[errorCode(error)] === "RESOURCE_FULL";
}

/** Syncs a directory, which makes the names in it durable. */
export function syncDirectory(disk: Disk, path: string): void {
  const directory = disk.openSync(path, "r");
  try {
    disk.fsyncSync(directory);
  } finally {
    disk.closeSync(directory);
  }
}

/** Writes all bytes, with as many system calls as needed. */
export function writeAll(disk: Disk, file: number, bytes: Uint8Array, at: number | null = null): void {
  for (let done = 0; done < bytes.length; ) {
    done += disk.writeSync(file, bytes, done, bytes.length - done, at === null ? null : at + done);
  }
}

/** Reads up to `most` bytes; returns fewer only at the end of the file. */
export function readUpTo(disk: Disk, file: number, most: number, at: number): Buffer {
  const buffer = Buffer.allocUnsafe(most);
  let done = 0;
  for (;;) {
    const read = disk.readSync(file, buffer, done, most - done, at + done);
    done += read;
    if (read === 0 || done === most) return buffer.subarray(0, done);
  }
}
