import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { RunId, Tenant } from "../../../src/core/values/ids.ts";
import type { MigrationProgress } from "../../../src/store/sqlite/migrate-file.ts";
import { migrateSqlite } from "../../../src/store/sqlite/open-database.ts";
import { connectSqlite } from "../../../src/store/sqlite/sqlite-driver.ts";
import { sqliteMigrations } from "../../../src/store/sqlite/sqlite-migrations.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { addLongRun, listStoredEvents, makeOlderFile } from "./older-file.ts";

const bulk = "bulk" as Tenant;

function newOlderFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-event-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "writ.db");
  makeOlderFile(file, null, 7);
  return file;
}

function change(file: string, sql: string): void {
  const db = connectSqlite(file);
  db.exec(sql);
  db.close();
}

describe("the migration of events into the log", () => {
  it("moves every event of many runs and says how far it is", async () => {
    const file = newOlderFile();
    for (const run of ["run_a", "run_b", "run_c"]) addLongRun(file, run, 3000);
    for (let number = 0; number < 50; number += 1) addLongRun(file, `run_x${number}`, 3);
    change(file, "update event set body = null, body_hash = x'aa' where run = 'run_b' and position = 7");
    const before = listStoredEvents(file);
    const progress: MigrationProgress[] = [];
    const { version } = await migrateSqlite(file, (piece) => progress.push(piece));
    expect(version).toBe(sqliteMigrations.length);
    expect(listStoredEvents(file)).toEqual(before);
    expect(progress.map(({ moved }) => moved)).toEqual([2000, 4000, 6000, 8000, 9150, 9150]);
    expect(progress.every(({ total }) => total === 9150)).toBe(true);
    const store = openSqlite(file);
    expect(await store.head(bulk, "run_b" as RunId)).toMatchObject({ position: 3000 });
    expect(await store.events(bulk, "run_b" as RunId, 5, 2)).toMatchObject([
      { position: 6, body: "body 6", body_hash: null },
      { position: 7, body: null, body_hash: Buffer.from([0xaa]) },
    ]);
    await store.close();
  });

  it("keeps the damage of a damaged file", async () => {
    const file = newOlderFile();
    for (const run of ["run_a", "run_b", "run_c", "run_d"]) addLongRun(file, run, 4);
    change(file, "delete from head where run = 'run_a'; delete from event where run = 'run_b'");
    change(file, "delete from event where run = 'run_c' and position in (1, 3)");
    const before = listStoredEvents(file);
    await migrateSqlite(file);
    assert.deepEqual(listStoredEvents(file), before);
    const store = openSqlite(file);
    expect(await store.runs(bulk, "", 9)).toEqual(["run_a", "run_b", "run_c", "run_d"]);
    const journals = await store.journals(bulk, "", 9);
    expect(
      journals.map(({ run, head, events }) => [run, head?.position, events.map(({ position }) => position)]),
    ).toEqual([
      ["run_a", undefined, [1, 2, 3, 4]],
      ["run_b", 4, []],
      ["run_c", 4, [2, 4]],
      ["run_d", 4, [1, 2, 3, 4]],
    ]);
    await store.close();
  });
});
