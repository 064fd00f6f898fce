import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Packages that are installed in a folder. */
export interface PeerPackages {
  load(name: string): Promise<unknown>;
  /** Returns the name with its version. */
  version(name: string): string;
}

/** Finds packages that the user has installed, because peers are not dependencies. Null: one is missing. */
export function findPeerPackages(folder: string, names: readonly string[]): PeerPackages | null {
  const require = createRequire(join(folder, "package.json"));
  const resolvePath = (name: string): string | null => {
    try {
      return require.resolve(name);
    } catch {
      return null;
    }
  };
  if (names.some((name) => resolvePath(name) === null)) return null;
  return {
    load: (name) => import(pathToFileURL(require.resolve(name)).href),
    version: (name) => `${name} ${findVersion(require.resolve(name), name)}`,
  };
}

/** Searches upwards, because not every package exports its package.json. */
function findVersion(file: string, name: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const found = readPackageJson(folder);
    if (found?.name === name) return found.version ?? "";
  }
  return "";
}

function readPackageJson(folder: string): { readonly name?: string; readonly version?: string } | null {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    return null; // The search continues in the parent folder.
  }
}
