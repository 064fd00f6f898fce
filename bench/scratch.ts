import { mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Beside the compiled code: where the project is, there is a real disk, which cannot be said of the system's place for temporary files. */
const place = fileURLToPath(new URL("./scratch-", import.meta.url));

/** Lends a store file in a directory of its own that nobody has used before, and clears it away. */
export async function withScratch<Result>(work: (file: string) => Promise<Result> | Result): Promise<Result> {
  const directory = mkdtempSync(place);
  try {
    return await work(join(directory, "writ.db"));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export function bytesOf(file: string): number {
  return statSync(file).size;
}
