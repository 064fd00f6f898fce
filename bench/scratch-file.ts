import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Beside the compiled code, because the temporary folder of the system may not be on a real disk. */
const scratchPrefix = fileURLToPath(new URL("./scratch-", import.meta.url));

/** Where Linux keeps files in memory. */
const MEMORY_FOLDER = "/dev/shm";

/** Returns the path of a new file in its own directory. */
export function newScratchFile(prefix = scratchPrefix): { readonly file: string; readonly clear: () => void } {
  const directory = mkdtempSync(prefix);
  return { file: join(directory, "writ.db"), clear: () => rmSync(directory, { recursive: true, force: true }) };
}

/** Calls `work` with a new file and removes it afterwards. */
export async function withScratchFile<Result>(
  work: (file: string) => Promise<Result> | Result,
  prefix = scratchPrefix,
): Promise<Result> {
  const { file, clear } = newScratchFile(prefix);
  try {
    return await work(file);
  } finally {
    clear();
  }
}

/** Calls `work` with a new file in memory, where the system has such files, so that the disk plays no part. */
export function withMemoryFile<Result>(work: (file: string) => Promise<Result> | Result): Promise<Result> {
  return withScratchFile(work, existsSync(MEMORY_FOLDER) ? `${MEMORY_FOLDER}/writ-bench-` : scratchPrefix);
}

export function storeBytes(file: string): number {
  return statSync(file).size;
}
