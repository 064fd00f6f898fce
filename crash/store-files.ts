import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Returns the path of the store in a folder. */
export const storeFile = (folder: string): string => join(folder, "writ.db");

/** Returns the path of the world log in a folder. */
export const worldFile = (folder: string): string => join(folder, "world.jsonl");

/** Returns the folder of the lock files of the workers on the store in a folder. */
export const locksFolder = (folder: string): string => `${storeFile(folder)}-workers`;

/** Returns the names of these lock files. */
export function lockFileNames(folder: string): readonly string[] {
  return existsSync(locksFolder(folder)) ? readdirSync(locksFolder(folder)) : [];
}

/** The durable files of a store. SQLite makes the others (`-shm`, the worker lock) again when it opens the store. */
const durableFiles = ["writ.db", "writ.db-wal"] as const;

const copyName = /^synced-(\d+)$/;

/** Saves a copy of the store as it is on the disk. The rename at the end makes an incomplete copy invisible. */
export function saveSyncedCopy(folder: string): void {
  const last = lastCopyNumber(folder);
  const copy = `synced-${last + 1}`;
  const part = join(folder, `${copy}.part`);
  mkdirSync(part, { recursive: true });
  for (const name of durableFiles)
    if (existsSync(join(folder, name))) copyFileSync(join(folder, name), join(part, name));
  renameSync(part, join(folder, copy));
  rmSync(join(folder, `synced-${last}`), { recursive: true, force: true });
}

/**
 * Simulates a power cut: resets the store to its last synced copy. The lock files of workers stay, without their locks;
 * a replay loses them.
 */
export function cutPower(folder: string): void {
  for (const name of readdirSync(folder))
    if (name.startsWith("writ.db") && name !== "writ.db-workers") rmSync(join(folder, name));
  const copy = join(folder, `synced-${lastCopyNumber(folder)}`);
  for (const name of durableFiles) if (existsSync(join(copy, name))) copyFileSync(join(copy, name), join(folder, name));
}

/** Returns 0 if nothing was synced. */
function lastCopyNumber(folder: string): number {
  return Math.max(0, ...readdirSync(folder).map((name) => Number(copyName.exec(name)?.[1] ?? 0)));
}
