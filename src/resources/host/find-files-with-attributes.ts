import { spawnSync } from "node:child_process";
import { FaultError, fault } from "../../core/values/fault.ts";
import { encodeFilePath } from "../file-name-bytes.ts";
import { printablePath } from "../tree-path.ts";

/** Reads paths that end in a zero byte, and prints those with extended attributes in the same form. */
const program = `
import os, sys
for path in sys.stdin.buffer.read().split(b"\\0"):
    if path and any(name not in ("security.selinux",) for name in os.listxattr(path, follow_symlinks=False)):
        sys.stdout.buffer.write(path + b"\\0")
`;

/**
 * Returns a problem for each file with extended attributes. Node cannot read them, so a Python program does; without
 * python3 the capture is refused.
 */
export function findFilesWithAttributes(paths: readonly string[]): readonly string[] {
  const input = Buffer.concat(paths.flatMap((path) => [Buffer.from(encodeFilePath(path)), Buffer.from("\0")]));
  const { status, stdout, error } = spawnSync("python3", ["-I", "-c", program], { input, maxBuffer: 2 ** 28 });
  if (error !== undefined || status !== 0)
    throw new FaultError(
      fault("RESOURCE_UNFIT", 'extended attributes cannot be read; install python3, or set `attributes: "uncovered"`'),
    );
  const found = stdout
    .toString()
    .split("\0")
    .filter((path) => path !== "");
  return found.map((path) => `${printablePath(path)} has extended attributes, which are not captured`);
}
