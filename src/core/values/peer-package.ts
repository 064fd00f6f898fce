/** A package that a program installs beside Writ. */
export interface PeerPackage {
  readonly name: string;
  /** The versions that Writ is tested with, by their first numbers: `6`, or `0.3` for a package before its version 1. */
  readonly tested: readonly string[];
}

/** Returns one sentence if the package is missing (null) or of a version that Writ is not tested with, or null. */
export function peerProblem({ name, tested }: PeerPackage, version: string | null, user: string): string | null {
  const install = `npm install ${name}@${tested.at(-1)}`;
  if (version === null) return `${user} needs the package ${name}, which is not installed; run: ${install}`;
  if (tested.some((first) => version === first || version.startsWith(`${first}.`))) return null;
  return `${user} is tested with ${name} ${tested.join(" and ")}, and ${version} is installed; run: ${install}`;
}
