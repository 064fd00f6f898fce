import { FaultError, fault } from "../core/fault.ts";
import { type FileLimits, within } from "./file-limits.ts";
import { nameFrom, osPath } from "./host/name-bytes.ts";

/** The names from the root down to something. Empty: the root itself. */
export type TreePath = readonly string[];

/** Names that run or steer other programs: no tool writes them unless it is told that it may. */
export const protectedNames: readonly string[] = [
  ..."bash_login bash_logout bash_profile bashrc envrc gitconfig gitmodules inputrc login mailrc netrc npmrc".split(
    " ",
  ),
  ..."pip profile pypirc vimrc yarnrc zlogin zprofile zshenv zshrc git hg svn husky vscode idea cursor claude".split(
    " ",
  ),
  ..."mcp.json ssh gnupg aws kube docker writ".split(" "),
].map((name) => `.${name}`);

/** Reads a path as a tool gives it. Whatever could mean something else to another reader is refused. */
export function treePath(path: string, limits: FileLimits): TreePath {
  if (typeof path !== "string") throw forbidden(String(path), "a path is a text");
  if (path === "") return [];
  const segments = path.split("/");
  within(limits, "pathSegments", segments.length, `the depth of ${shown(path)}`);
  for (const segment of segments) {
    const problem = segmentProblem(segment);
    if (problem !== null) throw forbidden(path, problem);
    within(limits, "segmentBytes", Buffer.byteLength(segment), `a name in ${shown(path)}`);
  }
  return segments;
}

/** Why no path of a tool may have such a segment. */
function segmentProblem(segment: string): string | null {
  if (segment === "") return "a path is relative, and has one slash between two names";
  if (segment === "." || segment === "..") return "a path goes down only";
  if (segment.includes("\0")) return "it has a zero byte";
  if (!isOwnName(segment)) return "it stands for another name, which is to be said as it is";
  if (segment.includes("\\")) return "a backslash leads elsewhere on other systems";
  if (/^[A-Za-z]:/.test(segment)) return "it names a drive";
  if (/[. ]$/.test(segment)) return "a name that ends in a dot or a space is another name on other systems";
  if (/%(?:2e|2f|5c|00)/i.test(segment)) return "it is encoded";
  return null;
}

/** Bytes that are no text may stand in a name; those that are would be a second way to say it. */
function isOwnName(segment: string): boolean {
  const asked = osPath(segment);
  return typeof asked === "string" || nameFrom(asked) === segment;
}

const foldedNames = new WeakMap<readonly string[], ReadonlySet<string>>();

/** Refuses what only its owner should write, however it is spelled. */
export function mayWrite(path: TreePath, names: readonly string[]): void {
  const folded = foldedNames.get(names) ?? new Set(names.map(fold));
  foldedNames.set(names, folded);
  const found = path.find((segment) => folded.has(fold(segment)) || (folded.has(".git") && /^git~\d+$/i.test(segment)));
  if (found !== undefined) throw forbidden(path.join("/"), `${shown(found)} is protected; see the option \`protect\``);
}

/** One spelling for all that some file system takes for the same name: case, composition, look-alikes, ignorable characters. */
function fold(name: string): string {
  const visible = name.normalize("NFKC").replaceAll(/[\p{Cf}\p{Mn}]/gu, "");
  return visible.toLowerCase().replace(/[. ]+$/, "");
}

export function forbidden(path: string, why: string): FaultError {
  return new FaultError(fault("PATH_FORBIDDEN", `${shown(path)} is not touched: ${why}`, { path }));
}

/** A name as a message may show it. */
export function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
