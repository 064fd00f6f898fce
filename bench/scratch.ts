import { mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Beside the compiled code: where the project is, there is a real disk, which cannot be said of the system's place for temporary files. */
const place = fileURLToPath(new URL("./scratch-", import.meta.url));

/** A file in a directory of its own that nobody has used before. */
export function scratch(): { readonly file: string; readonly clear: () => void } {
  const directory = mkdtempSync(place);
  return { file: join(directory, "writ.db"), clear: () => rmSync(directory, { recursive: true, force: true }) };
}

/** Lends one, and clears it away. */
export async function withScratch<Result>(work: (file: string) => Promise<Result> | Result): Promise<Result> {
  const { file, clear } = scratch();
  try {
    return await work(file);
  } finally {
    clear();
  }
}

export function bytesOf(file: string): number {
  return statSync(file).size;
}
