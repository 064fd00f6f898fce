import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Where a store lies in a folder, and beside it its log and what only helps while it is open. */
export const storeFile = (folder: string): string => join(folder, "writ.db");

/** Where the world of a folder is written down. */
export const worldFile = (folder: string): string => join(folder, "world.jsonl");

/** What of a store can be on a disk. The rest (`-shm`, the worker's lock) is made anew by whoever opens it. */
const durable = ["writ.db", "writ.db-wal"] as const;

const copyName = /^synced-(\d+)$/;

/** Keeps a copy of the store as it is on the disk now. A copy that is cut short is none. */
export function keepSynced(folder: string): void {
  const last = lastCopy(folder);
  const copy = `synced-${last + 1}`;
  const part = join(folder, `${copy}.part`);
  mkdirSync(part, { recursive: true });
  for (const name of durable) if (existsSync(join(folder, name))) copyFileSync(join(folder, name), join(part, name));
  renameSync(part, join(folder, copy));
  rmSync(join(folder, `synced-${last}`), { recursive: true, force: true });
}

/** Cuts the power: whatever was written after the last sync is gone, and what is kept in memory with it. */
export function cutPower(folder: string): void {
  for (const name of readdirSync(folder)) if (name.startsWith("writ.db")) rmSync(join(folder, name));
  const copy = join(folder, `synced-${lastCopy(folder)}`);
  for (const name of durable) if (existsSync(join(copy, name))) copyFileSync(join(copy, name), join(folder, name));
}

/** 0: nothing was ever synced. */
function lastCopy(folder: string): number {
  return Math.max(0, ...readdirSync(folder).map((name) => Number(copyName.exec(name)?.[1] ?? 0)));
}
