import type { WorkerId } from "../../../src/core/values/ids.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { sqliteStatements } from "../../../src/store/sqlite/statements.ts";
import { evictWorker } from "../../../src/store/sqlite/worker-statements.ts";

/** Evicts a worker of a file, as another process does that finds it dead. */
export function evictFrom(path: string, worker: WorkerId): void {
  const { db } = openDatabase(path);
  evictWorker(sqliteStatements(db), worker);
  db.close();
}
