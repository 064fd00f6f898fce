import { FaultError, fault } from "../core/values/fault.ts";
import { assertWithinLimit, type FileLimits } from "./file-limits.ts";
import { decodeFileName, encodeFilePath } from "./file-name-bytes.ts";

/** The names from the root to an entry. Empty for the root itself. */
export type TreePath = readonly string[];

/**
 * Names of files and folders that run or configure other programs. Tools may not write them unless `protect` allows it.
 */
export const protectedNames: readonly string[] = [
  ..."bash_login bash_logout bash_profile bashrc envrc gitconfig gitmodules inputrc login mailrc netrc npmrc".split(
    " ",
  ),
  ..."pip profile pypirc vimrc yarnrc zlogin zprofile zshenv zshrc git hg svn husky vscode idea cursor claude".split(
    " ",
  ),
  ..."mcp.json ssh gnupg aws kube docker writ".split(" "),
].map((name) => `.${name}`);

/** Parses a path that a tool passes. Refuses every path that another program or system could read differently. */
export function treePath(path: string, limits: FileLimits): TreePath {
  if (typeof path !== "string") throw forbiddenPathFault(String(path), "a path must be a string");
  if (path === "") return [];
  const segments = path.split("/");
  assertWithinLimit(limits, "pathSegments", segments.length, `the depth of ${printablePath(path)}`);
  for (const segment of segments) {
    const problem = segmentProblem(segment);
    if (problem !== null) throw forbiddenPathFault(path, problem);
    assertWithinLimit(limits, "segmentBytes", Buffer.byteLength(segment), `a name in ${printablePath(path)}`);
  }
  return segments;
}

/** Returns why a path may not contain this segment, or null if it may. */
function segmentProblem(segment: string): string | null {
  if (segment === "") return "a path must be relative, with one slash between two names";
  if (segment === "." || segment === "..") return "a path may not contain `.` or `..`";
  if (segment.includes("\0")) return "it contains a zero byte";
  if (!isCanonicalName(segment)) return "it escapes bytes that are valid UTF-8; write the name as text";
  if (segment.includes("\\")) return "a backslash is a separator on other systems";
  if (/^[A-Za-z]:/.test(segment)) return "it names a drive";
  if (/[. ]$/.test(segment)) return "other systems drop a dot or a space at the end of a name";
  if (/%(?:2e|2f|5c|00)/i.test(segment)) return "it contains a percent-encoded character";
  return null;
}

/** Only bytes that are not UTF-8 may be escaped. Otherwise one name would have two spellings. */
function isCanonicalName(segment: string): boolean {
  const encoded = encodeFilePath(segment);
  return typeof encoded === "string" || decodeFileName(encoded) === segment;
}

const foldedNames = new WeakMap<readonly string[], ReadonlySet<string>>();

/** Throws if the path contains a protected name, in any spelling. */
export function assertWritable(path: TreePath, names: readonly string[]): void {
  const folded = foldedNames.get(names) ?? new Set(names.map(foldName));
  foldedNames.set(names, folded);
  const found = path.find(
    (segment) => folded.has(foldName(segment)) || (folded.has(".git") && /^git~\d+$/i.test(segment)),
  );
  if (found !== undefined)
    throw forbiddenPathFault(path.join("/"), `${printablePath(found)} is a protected name (option \`protect\`)`);
}

/** Returns whether a tool may write the path. */
export function isWritablePath(path: string, limits: FileLimits, names: readonly string[]): boolean {
  try {
    assertWritable(treePath(path, limits), names);
    return true;
  } catch (error) {
    if (error instanceof FaultError) return false;
    throw error;
  }
}

/**
 * Maps all spellings that some file system treats as the same name to one: case, composition, look-alikes and ignorable
 * characters.
 */
function foldName(name: string): string {
  const visible = name.normalize("NFKC").replaceAll(/[\p{Cf}\p{Mn}]/gu, "");
  return visible.toLowerCase().replace(/[. ]+$/, "");
}

export function forbiddenPathFault(path: string, why: string): FaultError {
  return new FaultError(fault("PATH_FORBIDDEN", `${printablePath(path)} is not allowed: ${why}`, { path }));
}

/** Quotes a path for a message and shortens a long one. */
export function printablePath(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
