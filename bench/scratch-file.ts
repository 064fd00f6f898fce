import { mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Beside the compiled code, because the temporary folder of the system may not be on a real disk. */
const scratchPrefix = fileURLToPath(new URL("./scratch-", import.meta.url));

/** Returns the path of a new file in its own directory. */
export function newScratchFile(): { readonly file: string; readonly clear: () => void } {
  const directory = mkdtempSync(scratchPrefix);
  return { file: join(directory, "writ.db"), clear: () => rmSync(directory, { recursive: true, force: true }) };
}

/** Calls `work` with a new file and removes it afterwards. */
export async function withScratchFile<Result>(work: (file: string) => Promise<Result> | Result): Promise<Result> {
  const { file, clear } = newScratchFile();
  try {
    return await work(file);
  } finally {
    clear();
  }
}

export function storeBytes(file: string): number {
  return statSync(file).size;
}
