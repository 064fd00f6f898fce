import { chmodSync, constants, copyFileSync, existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Store, StoreCopy } from "../../core/store/store.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { connectOrFault, openDatabase } from "./open-database.ts";
import { toSqliteFault } from "./sqlite-fault.ts";
import { openSqlite } from "./sqlite-store.ts";
import { beginCopy } from "./store-copies.ts";

/**
 * Prepares a new store from a backup: a file that `backup` wrote, or a copy that was made by hand, with its log if there
 * is one. The backup is not changed.
 */
export function storeFromBackup(backup: string, target: string): StoreCopy {
  const source = resolve(backup);
  assertFile(source);
  return beginCopy(target, async (copy) => writeStore(source, copy));
}

function assertFile(source: string): void {
  if (existsSync(source) && statSync(source).isFile() && statSync(source).size > 0) return;
  throw new FaultError(fault("INVALID_INPUT", `there is no backup ${source}; give the path of a file that is one`));
}

function writeStore(source: string, copy: string): Store {
  for (const suffix of ["", "-wal"]) {
    if (!existsSync(source + suffix)) continue;
    copyFileSync(source + suffix, copy + suffix, constants.COPYFILE_EXCL);
    chmodSync(copy + suffix, 0o600);
  }
  assertIntact(source, copy);
  evictWorkers(copy);
  return openSqlite(copy, { create: false });
}

/** The workers in the backup worked on another file. Their leases end, and an older backup is migrated. */
function evictWorkers(copy: string): void {
  const { db } = openDatabase(copy);
  try {
    db.exec(`update lease set epoch = epoch + 1, prior = worker, worker = null, since = 0
      where worker is not null; delete from worker`);
  } catch (error) {
    throw toSqliteFault(error, copy);
  } finally {
    db.close();
  }
}

function assertIntact(source: string, copy: string): void {
  const db = connectOrFault(copy);
  try {
    const [found] = db.prepare("pragma integrity_check(1)").all() as readonly { readonly integrity_check: string }[];
    if (found?.integrity_check === "ok") return;
    throw new FaultError(
      fault("STORE_UNUSABLE", `${source} is damaged: ${found?.integrity_check}; use another backup`),
    );
  } catch (error) {
    throw toSqliteFault(error, source);
  } finally {
    db.close();
  }
}
