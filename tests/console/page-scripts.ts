import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryPath } from "../repo/repository-path.ts";

/** The scripts that a page of the built console loads, and their size as they are sent. */
export interface PageScripts {
  readonly page: string;
  readonly bytes: number;
}

/** Returns what each page loads before it shows anything. */
export function pageScripts(): readonly PageScripts[] {
  const folder = repositoryPath("dist", "console", "assets");
  const names = readdirSync(folder);
  const entry = names.filter((name) => /^index-.*\.js$/.test(name));
  return names
    .filter((name) => /-page-.*\.js$/.test(name))
    .map((page) => {
      const sizes = [...importedBy(folder, [...entry, page])].map(
        (name) => readFileSync(join(folder, `${name}.br`)).length,
      );
      return { page, bytes: sizes.reduce((sum, size) => sum + size, 0) };
    });
}

/** Returns the scripts and everything that they import at once. */
function importedBy(folder: string, names: readonly string[], found = new Set<string>()): ReadonlySet<string> {
  for (const name of names) {
    if (found.has(name)) continue;
    found.add(name);
    const text = readFileSync(join(folder, name), "utf8");
    const imported = [...text.matchAll(/(?:from|import)\s*["'`]\.\/([^"'`]+\.js)["'`]/g)].map(
      ([, other = ""]) => other,
    );
    importedBy(folder, imported, found);
  }
  return found;
}
