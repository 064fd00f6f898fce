import { spawnSync } from "node:child_process";
import { FaultError, fault } from "../../core/fault.ts";
import { shown } from "../tree-path.ts";
import { osPath } from "./name-bytes.ts";

/** Reads names that end in a zero byte, and says those that have attributes of their own, in the same way. */
const program = `
import os, sys
for path in sys.stdin.buffer.read().split(b"\\0"):
    if path and any(name not in ("security.selinux",) for name in os.listxattr(path, follow_symlinks=False)):
        sys.stdout.buffer.write(path + b"\\0")
`;

/** Why files could not be made again as they are. Node cannot read extended attributes, so another program is asked; without it, all are refused. */
export function withAttributes(paths: readonly string[]): readonly string[] {
  const input = Buffer.concat(paths.flatMap((path) => [Buffer.from(osPath(path)), Buffer.from("\0")]));
  const { status, stdout, error } = spawnSync("python3", ["-I", "-c", program], { input, maxBuffer: 2 ** 28 });
  if (error !== undefined || status !== 0)
    throw new FaultError(
      fault(
        "RESOURCE_UNFIT",
        'nothing here can tell which files have extended attributes; install python3, or say `attributes: "uncovered"`',
      ),
    );
  const found = stdout
    .toString()
    .split("\0")
    .filter((path) => path !== "");
  return found.map((path) => `${shown(path)} has extended attributes, which are not kept`);
}
