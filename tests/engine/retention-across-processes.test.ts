import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connectSqlite } from "../../src/store/sqlite/sqlite-driver.ts";
import { anaPerson, botAgent, sqliteFileFixture } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const day = 24 * 60 * 60 * 1000;

async function withSecret() {
  const stage = sqliteFileFixture();
  const look = scriptedTool("look", () => ({ text: "hush-hush" }), { effect: "reads" });
  const engine = await stage.open({ tools: [look.tool] });
  const plan = { steps: [{ step_id: "look", name: "look" }] };
  await (await engine.submit(plan, { principal: botAgent })).result();
  stage.clock.advance(day);
  const retain = () => engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
  const holdsSecret = () => ["", "-wal"].map((suffix) => readFileSync(stage.file + suffix).includes("hush-hush"));
  return { stage, engine, retain, holdsSecret };
}

describe("retention of a SQLite file that another process reads", () => {
  it("says that the log is pending, empties it when the reader has ended, and has ended only then", async () => {
    const { stage, engine, retain, holdsSecret } = await withSecret();
    const reader = connectSqlite(stage.file);
    reader.exec("begin; select * from head");
    const retaining = retain();
    await stage.advance(1000);
    expect(await retaining).toEqual({ runs: 1, events: expect.any(Number), waiting: 0, snapshots: 0, log: "pending" });
    expect(holdsSecret()).toContain(true);
    await stage.advance(5000);
    expect(await engine.retentions({ principal: anaPerson })).toMatchObject([{ erased: null }]);
    reader.exec("rollback");
    reader.close();
    await stage.advance(1000);
    expect(holdsSecret()).toEqual([false, false]);
    expect(await engine.retentions({ principal: anaPerson })).toMatchObject([{ erased: { runs: 1 } }]);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("is finished by a worker if its process has ended, and tells what was erased", async () => {
    const { stage, engine, retain, holdsSecret } = await withSecret();
    const reader = connectSqlite(stage.file);
    reader.exec("begin; select * from head");
    const retaining = retain();
    await stage.advance(1000);
    const { events } = await retaining;
    await engine.close();
    const other = await stage.open({ tools: [] });
    await stage.advance(70_000);
    expect(await other.retentions({ principal: anaPerson })).toMatchObject([{ erased: null }]);
    expect((await other.audit({ principal: anaPerson })).rows).toEqual([]);
    reader.exec("rollback");
    reader.close();
    await stage.advance(2000);
    expect(holdsSecret()).toEqual([false, false]);
    expect(await other.retentions({ principal: anaPerson })).toMatchObject([
      { by: "ana", erased: { runs: 1, events } },
    ]);
    expect(await other.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [] });
  });

  it("is finished by the next retention if its process has ended", async () => {
    const { stage, engine, retain, holdsSecret } = await withSecret();
    const reader = connectSqlite(stage.file);
    reader.exec("begin; select * from head");
    const retaining = retain();
    await stage.advance(1000);
    expect(await retaining).toMatchObject({ log: "pending" });
    await engine.close();
    expect(holdsSecret()).toContain(true);
    reader.exec("rollback");
    reader.close();
    const other = await stage.open({ tools: [] });
    const again = await other.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
    expect(again).toMatchObject({ runs: 0, log: "empty" });
    expect(holdsSecret()).toEqual([false, false]);
  });

  it("does not wait for a reader that ends at once", async () => {
    const { retain, holdsSecret } = await withSecret();
    expect(await retain()).toMatchObject({ runs: 1, log: "empty" });
    expect(holdsSecret()).toEqual([false, false]);
  });
});

describe("maintenance of a SQLite file", () => {
  it("runs once at a time: another retention or backup waits, and is refused after five seconds", async () => {
    const { stage, engine, retain } = await withSecret();
    const end = await stage.store().beginMaintenance();
    for (const begin of [retain, () => engine.backup(join(stage.file, "..", "copy.db"), { principal: anaPerson })]) {
      const refused = rejectedFault(begin());
      await stage.advance(6000);
      expect((await refused).code).toBe("STORE_BUSY");
    }
    const waiting = retain();
    await stage.advance(1000);
    end?.();
    await stage.advance(1000);
    expect(await waiting).toMatchObject({ runs: 1, log: "empty" });
  });
});
