import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Returns the version of a package as the program finds it: beside itself, or beside Writ. Null: it is not installed. */
export function installedVersion(name: string, from: readonly string[] = placesToLook()): string | null {
  for (const place of from) {
    for (let folder = place; ; folder = dirname(folder)) {
      const version = versionIn(join(folder, "node_modules", name, "package.json"));
      if (version !== null) return version;
      if (dirname(folder) === folder) break;
    }
  }
  return null;
}

/** A bundle in the format of CommonJS has no URL. */
function placesToLook(): readonly string[] {
  const url = import.meta.url as string | undefined;
  return url === undefined ? [process.cwd()] : [process.cwd(), dirname(fileURLToPath(url))];
}

function versionIn(file: string): string | null {
  try {
    const { version } = JSON.parse(readFileSync(file, "utf8")) as { readonly version?: unknown };
    return typeof version === "string" ? version : null;
  } catch {
    return null;
  }
}
