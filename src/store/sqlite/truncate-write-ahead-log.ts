import type { SqliteDatabase } from "./sqlite-driver.ts";

/** Copies the write-ahead log into the file and empties it, unless another connection reads or writes now. */
export function truncateLog(db: SqliteDatabase): "empty" | "pending" {
  const [found] = db.prepare("pragma wal_checkpoint(truncate)").all() as readonly { readonly busy: number }[];
  return found?.busy === 0 ? "empty" : "pending";
}
