import { createHash, hash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Probe } from "../core/tool/tool.ts";
import { systemErrorCode, thrownMessage, unknownResult, type VerifierResult } from "./verifier-result.ts";

export interface SeenFileOptions<Input, Output> {
  /** The verifier reads only files below this folder. */
  readonly root: string;
  /** Returns the path that the tool writes, relative to the root. */
  readonly path: (input: Input) => string;
  /** Returns the content that the tool writes. */
  readonly content: (input: Input) => string | Uint8Array;
  /** Makes the output of the tool from the file that was found. Default: `{ path, sha256 }`. */
  readonly output?: (file: WrittenFile) => Output;
}

export interface WrittenFile {
  /** The path relative to the root, as `path` returned it. */
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * A verifier for a tool that writes one whole file: `happened` if the file has exactly this content, `absent` if there
 * is no file. Other content, a link or an unreadable file is `unknown`.
 */
export function seenFile<Input, Output = { path: string; sha256: string }>(
  options: SeenFileOptions<Input, Output>,
): (probe: Omit<Probe, "input" | "output"> & { readonly input: Input }) => Promise<VerifierResult<Output>> {
  const { output = ({ path, sha256 }) => ({ path, sha256 }) as Output } = options;
  return async ({ input, signal }) => {
    try {
      const path = options.path(input);
      const root = await realpath(options.root);
      const problem = pathProblem(root, path);
      if (problem !== null) return unknownResult(problem);
      const content = options.content(input);
      const bytes = typeof content === "string" ? Buffer.from(content) : content;
      const result = await compareFile(root, path, bytes, signal);
      return result.saw === "happened" ? { saw: "happened", output: output(result.output) } : result;
    } catch (error) {
      return unknownResult(thrownMessage(error));
    }
  };
}

/** Returns why the path must not be read, or null if it is below the root. */
function pathProblem(root: string, path: string): string | null {
  if (path === "" || path.includes("\0")) return "the path is empty or has a zero byte";
  const inside = relative(root, resolve(root, path));
  if (isAbsolute(path) || inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    return `${path} is not below the root`;
  return null;
}

async function compareFile(
  root: string,
  path: string,
  expected: Uint8Array,
  signal: AbortSignal,
): Promise<VerifierResult<WrittenFile>> {
  const filePath = resolve(root, path);
  const before = await statWithoutLinks(root, filePath);
  if (before === "nothing") return { saw: "absent" };
  if (before === "link") return unknownResult(`${path} contains a link, which is not followed`);
  if (!before.isFile()) return unknownResult(`${path} exists and is not a file`);
  if (before.size !== expected.length)
    return unknownResult(contentDiffers(path, `${before.size} bytes`, `${expected.length}`));
  const expectedHash = hash("sha256", expected);
  const found = await hashFile(filePath, before, signal);
  if (found === null) return unknownResult(`${path} was replaced while it was read`);
  if (found !== expectedHash) return unknownResult(contentDiffers(path, found, expectedHash));
  return { saw: "happened", output: { path, sha256: expectedHash, bytes: expected.length } };
}

function contentDiffers(path: string, found: string, expectedHash: string): string {
  return `${path} exists with other content (${found}, not ${expectedHash})`;
}

/** Reads the file status below the root level by level, so that no link is followed. */
async function statWithoutLinks(root: string, filePath: string): Promise<Stats | "nothing" | "link"> {
  const levels = relative(root, filePath).split(sep);
  for (let depth = 1; depth <= levels.length; depth += 1) {
    const level = join(root, ...levels.slice(0, depth));
    const stats = await lstat(level).catch((error: unknown) => {
      if (systemErrorCode(error) === "ENOENT") return null;
      throw error;
    });
    if (stats === null) return "nothing";
    if (stats.isSymbolicLink()) return "link";
    if (depth === levels.length) return stats;
  }
  return "nothing";
}

/** Returns the hash of the file with this status, or null if another file has replaced it. */
async function hashFile(filePath: string, expected: Stats, signal: AbortSignal): Promise<string | null> {
  const file = await open(filePath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const opened = await file.stat();
    if (opened.ino !== expected.ino || opened.dev !== expected.dev) return null;
    if ((await realpath(dirname(filePath))) !== dirname(filePath)) return null;
    const sum = createHash("sha256");
    for await (const chunk of file.createReadStream({ autoClose: false, signal })) sum.update(chunk as Uint8Array);
    return sum.digest("hex");
  } finally {
    await file.close();
  }
}
