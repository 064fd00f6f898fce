import * as fs from "node:fs";
import { type FaultCode, FaultError, fault } from "../../core/fault.ts";
import { shown } from "../tree-path.ts";

/** All that is done to a disk, by the door: what fails or dies at the n-th step of it shows what every step rests on. */
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

const codes: Readonly<Record<string, FaultCode>> = {
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

/** What the operating system said, as a fault. One that is a fault already stays what it is. */
export function diskFault(error: unknown, path: string): FaultError {
  if (error instanceof FaultError) return error;
  const code = errorCode(error);
  const reason = error instanceof Error ? error.message : String(error);
  const message = `${shown(path)}: ${reason}`;
  return new FaultError(fault(codes[code] ?? "FILE_FAILED", message, { path, code }), { cause: error });
}

export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** There is no room. */
export function isFull(error: unknown): boolean {
  return codes[errorCode(error)] === "RESOURCE_FULL";
}

/** Makes a file's name as durable as its content. */
export function syncDirectory(disk: Disk, path: string): void {
  const directory = disk.openSync(path, "r");
  try {
    disk.fsyncSync(directory);
  } finally {
    disk.closeSync(directory);
  }
}

/** Everything, however little the operating system takes at once. */
export function writeAll(disk: Disk, file: number, bytes: Uint8Array, at: number | null = null): void {
  for (let done = 0; done < bytes.length; ) {
    done += disk.writeSync(file, bytes, done, bytes.length - done, at === null ? null : at + done);
  }
}

/** Up to `most` bytes; fewer only at the end. */
export function readUpTo(disk: Disk, file: number, most: number, at: number): Buffer {
  const buffer = Buffer.allocUnsafe(most);
  let done = 0;
  for (;;) {
    const read = disk.readSync(file, buffer, done, most - done, at + done);
    done += read;
    if (read === 0 || done === most) return buffer.subarray(0, done);
  }
}
