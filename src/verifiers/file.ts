import { createHash, hash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Probe } from "../core/tool.ts";
import { codeOf, reasonOf, type Seen, unknown } from "./seen.ts";

export interface SeenFile<Input, Output> {
  /** Nothing outside this folder is looked at. */
  readonly root: string;
  /** Where the tool writes, below the root. */
  readonly path: (input: Input) => string;
  /** The bytes that the tool writes. */
  readonly content: (input: Input) => string | Uint8Array;
  /** What the tool would have answered. Default: `{ path, sha256 }`. */
  readonly output?: (file: WrittenFile) => Output;
}

export interface WrittenFile {
  /** Below the root, as the tool was given it. */
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * A verifier for a tool that writes one whole file: happened if it is there with exactly those bytes, absent if the place
 * is empty. Another content, a link, or anything that cannot be read is unknown.
 */
export function seenFile<Input, Output = { path: string; sha256: string }>(
  options: SeenFile<Input, Output>,
): (probe: Omit<Probe, "input" | "output"> & { readonly input: Input }) => Promise<Seen<Output>> {
  const { output = ({ path, sha256 }) => ({ path, sha256 }) as Output } = options;
  return async ({ input, signal }) => {
    try {
      const path = options.path(input);
      const root = await realpath(options.root);
      const problem = outside(root, path);
      if (problem !== null) return unknown(problem);
      const content = options.content(input);
      const bytes = typeof content === "string" ? Buffer.from(content) : content;
      const seen = await compare(root, path, bytes, signal);
      return seen.saw === "happened" ? { saw: "happened", output: output(seen.output) } : seen;
    } catch (error) {
      return unknown(reasonOf(error));
    }
  };
}

/** Why a path must not be looked at; null if it lies below the root. */
function outside(root: string, path: string): string | null {
  if (path === "" || path.includes("\0")) return "the path is empty or has a zero byte";
  const inside = relative(root, resolve(root, path));
  if (isAbsolute(path) || inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    return `${path} is not below the root`;
  return null;
}

async function compare(
  root: string,
  path: string,
  expected: Uint8Array,
  signal: AbortSignal,
): Promise<Seen<WrittenFile>> {
  const place = resolve(root, path);
  const before = await standing(root, place);
  if (before === "nothing") return { saw: "absent" };
  if (before === "link") return unknown(`${path} leads through a link, which is not followed`);
  if (!before.isFile()) return unknown(`${path} is there and is not a file`);
  if (before.size !== expected.length) return unknown(differs(path, `${before.size} bytes`, `${expected.length}`));
  const wanted = hash("sha256", expected);
  const found = await hashOf(place, before, signal);
  if (found === null) return unknown(`${path} was replaced while it was read`);
  if (found !== wanted) return unknown(differs(path, found, wanted));
  return { saw: "happened", output: { path, sha256: wanted, bytes: expected.length } };
}

function differs(path: string, found: string, wanted: string): string {
  return `${path} is there with another content (${found}, not ${wanted})`;
}

/** What stands at a place below the root, looked at level by level, so that no link is followed on the way. */
async function standing(root: string, place: string): Promise<Stats | "nothing" | "link"> {
  const levels = relative(root, place).split(sep);
  for (let depth = 1; depth <= levels.length; depth += 1) {
    const level = join(root, ...levels.slice(0, depth));
    const stats = await lstat(level).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return null;
      throw error;
    });
    if (stats === null) return "nothing";
    if (stats.isSymbolicLink()) return "link";
    if (depth === levels.length) return stats;
  }
  return "nothing";
}

/** The hash of the very file that was looked at; null if another one stands there now. */
async function hashOf(place: string, seen: Stats, signal: AbortSignal): Promise<string | null> {
  const file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const opened = await file.stat();
    if (opened.ino !== seen.ino || opened.dev !== seen.dev) return null;
    if ((await realpath(dirname(place))) !== dirname(place)) return null;
    const sum = createHash("sha256");
    for await (const chunk of file.createReadStream({ autoClose: false, signal })) sum.update(chunk as Uint8Array);
    return sum.digest("hex");
  } finally {
    await file.close();
  }
}
