import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Packages as they are installed in some folder. */
export interface Packages {
  load(name: string): Promise<unknown>;
  /** The name with its version. */
  version(name: string): string;
}

/** Peers are never ours: they are where whoever wants to compare has put them. Null if one of these is not there. */
export function packagesIn(folder: string, names: readonly string[]): Packages | null {
  const require = createRequire(join(folder, "package.json"));
  const place = (name: string): string | null => {
    try {
      return require.resolve(name);
    } catch {
      return null;
    }
  };
  if (names.some((name) => place(name) === null)) return null;
  return {
    load: (name) => import(pathToFileURL(require.resolve(name)).href),
    version: (name) => `${name} ${versionAbove(require.resolve(name), name)}`,
  };
}

/** Not every package lets its package.json be asked for by name. */
function versionAbove(file: string, name: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const found = packageIn(folder);
    if (found?.name === name) return found.version ?? "";
  }
  return "";
}

function packageIn(folder: string): { readonly name?: string; readonly version?: string } | null {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    return null; // Further up.
  }
}
