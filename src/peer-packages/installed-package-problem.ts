import { type PeerPackage, peerProblem } from "../core/values/peer-package.ts";
import { installedVersion } from "./installed-version.ts";

/**
 * Returns one sentence if a package that the program has to install is missing, or of a version that Writ is not tested
 * with. In a bundle, the package is part of the program, as Writ itself is, so nothing is known about it.
 */
export function installedPackageProblem(peer: PeerPackage, user: string): string | null {
  return installedVersion("writ") === null ? null : peerProblem(peer, installedVersion(peer.name), user);
}
