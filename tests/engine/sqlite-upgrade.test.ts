import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { WorkerId } from "../../src/core/values/ids.ts";
import { writVersion } from "../../src/core/values/writ-version.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { migrateSqlite } from "../../src/store/sqlite/open-database.ts";
import { connectSqlite } from "../../src/store/sqlite/sqlite-driver.ts";
import { sqliteMigrations } from "../../src/store/sqlite/sqlite-migrations.ts";
import { openSqlite, sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { shareVersionLock } from "../../src/store/sqlite/version-lock.ts";
import { makeOlderFile } from "../store/sqlite/older-file.ts";
import { anaPerson, botAgent } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const newest = sqliteMigrations.length;

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-upgrade-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const version = (file: string) => {
  const db = connectSqlite(file);
  const found = db.prepare("select max(number) as number from migration").get() as { number: number };
  db.close();
  return found.number;
};

describe("upgrading a SQLite file", () => {
  it("continues the runs that wait in it, and repeats no act", async () => {
    const folder = newFolder();
    const send = scriptedTool("send", () => ({ id: 1 }));
    const plan = {
      steps: [
        { step_id: "first", name: "send", payload: { to: "ana" } },
        { step_id: "second", name: "send", payload: { to: "bob" }, depends_on: ["first"] },
      ],
    };
    const before = await createEngine({ store: openSqlite(join(folder, "a.db")), tools: [send.tool] });
    const run = await before.submit(plan, { principal: botAgent });
    const [gate] = (await run.result()).gates;
    await before.approve(gate?.gate_id ?? "", { principal: anaPerson });
    const [next] = (await run.result()).gates;
    await before.close();
    const file = join(folder, "older.db");
    makeOlderFile(file, join(folder, "a.db"));

    const after = await createEngine({ store: sqlite(file), tools: [send.tool] });
    onTestFinished(() => after.close());
    expect(version(file)).toBe(newest);
    await after.approve(next?.gate_id ?? "", { principal: anaPerson });
    expect((await (await after.run(run.run_id, { principal: botAgent })).result()).status).toBe("completed");
    expect(send.calls).toHaveLength(2);
    expect((await after.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("waits until no older process has it open, and changes nothing before", async () => {
    const file = join(newFolder(), "writ.db");
    makeOlderFile(file, null);
    const older = shareVersionLock(file);
    for (const upgrade of [() => sqlite(file), () => migrateSqlite(file)])
      expect((await rejectedFault(upgrade())).code).toBe("STORE_BUSY");
    expect(version(file)).toBe(5);
    older?.free();
    expect((await migrateSqlite(file)).version).toBe(newest);
  });

  it("names the live processes that have it open, with their versions, and no dead ones", async () => {
    const file = join(newFolder(), "writ.db");
    const older = openSqlite(file);
    await older.registerWorker("ana" as WorkerId);
    const db = connectSqlite(file);
    db.exec(`insert into worker (id, boot, pid, version, beat) values ('dead', 'boot', 4242, '0.0.1', 1);
      delete from migration where number = ${newest}`);
    db.close();
    const { code, message } = await rejectedFault(sqlite(file));
    expect(code).toBe("STORE_BUSY");
    expect(message).toContain(`process ${process.pid} (Writ ${writVersion})`);
    expect(message).not.toContain("4242");
    // The older process goes on.
    expect(await older.claimDue("ana" as WorkerId, 1)).toEqual([]);
    await older.close();
  });

  it("leaves the older version if a migration fails in the middle", async () => {
    const file = join(newFolder(), "writ.db");
    makeOlderFile(file, null);
    const db = connectSqlite(file);
    db.exec("create index lease_worker on lease (worker)");
    db.close();
    await expect(migrateSqlite(file)).rejects.toThrow();
    expect(version(file)).toBe(5);
    const fixed = connectSqlite(file);
    fixed.exec("drop index lease_worker");
    fixed.close();
    expect((await migrateSqlite(file)).version).toBe(newest);
  });
});

describe("downgrading a SQLite file", () => {
  it("is refused to an older program: the fault names both versions, and nothing is changed", async () => {
    const file = join(newFolder(), "writ.db");
    await openSqlite(file).close();
    const db = connectSqlite(file);
    db.exec("insert into migration (number, name) values (99, 'later')");
    db.close();
    const { code, message } = await rejectedFault(sqlite(file));
    expect(code).toBe("STORE_NEWER");
    expect(message).toMatch(new RegExp(`version 99 .* knows ${newest}; use the newer Writ`));
    expect(version(file)).toBe(99);
  });
});
