import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import type { WorkerId } from "../../../src/core/values/ids.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import type { SqliteDatabase } from "../../../src/store/sqlite/sqlite-driver.ts";
import { openSqlite, sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { sqliteStatements } from "../../../src/store/sqlite/statements.ts";
import { evictWorker } from "../../../src/store/sqlite/worker-statements.ts";
import { type OpenStore, storeContract } from "../../../src/testing/store-contract/store-contract.ts";
import { evictFrom } from "./evict-from.ts";

const folder = mkdtempSync(join(tmpdir(), "writ-sqlite-"));
let files = 0;
const newFile = (): string => join(folder, `${files++}.db`);

afterAll(() => rmSync(folder, { recursive: true }));

describe("SQLite store", () => {
  let file = "";
  const open: OpenStore = async (setting) => {
    file = newFile();
    return openSqlite(file, setting);
  };
  for (const { title, check } of storeContract(open, async (_, worker) => evictFrom(file, worker))) it(title, check);
});

describe("SQLite store in memory", () => {
  let opened: SqliteDatabase;
  const open: OpenStore = async (setting) => {
    const { db, file } = openDatabase(":memory:");
    opened = db;
    return sqliteStore(db, file, setting);
  };
  const evict = async (_: unknown, worker: WorkerId) => evictWorker(sqliteStatements(opened), worker);
  for (const { title, check } of storeContract(open, evict)) it(title, check);
});
