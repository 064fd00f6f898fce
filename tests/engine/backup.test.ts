import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Tool } from "../../src/core/tool/tool.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { memory } from "../../src/memory.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { storeFromBackup } from "../../src/store/sqlite/store-from-backup.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const ana = { id: "ana", kind: "person", tenant: "acme" } as const;
const bot = { id: "bot", kind: "agent", tenant: "acme" } as const;

interface World {
  readonly folder: string;
  path(name: string): string;
  /** The mails that were sent, from whichever store. */
  readonly sent: string[];
  open(name: string, work?: boolean): Promise<Engine>;
}

function newWorld(): World {
  const folder = mkdtempSync(join(tmpdir(), "writ-backup-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const sent: string[] = [];
  const tools: Tool[] = [
    scriptedTool("mail", ({ input }) => {
      sent.push((input as { to: string }).to);
      return {};
    }).tool,
    scriptedTool("read", () => ({}), { effect: "reads" }).tool,
  ];
  const tenants = { acme: { mode: "auto_exec" } } as const;
  const path = (name: string) => join(folder, name);
  const open = async (name: string, work = true) => {
    const engine = await createEngine({ store: sqlite(path(name)), tools, tenants, work });
    onTestFinished(() => engine.close());
    return engine;
  };
  return { folder, path, sent, open };
}

const mailAfterSignal = {
  steps: [
    { step_id: "wait", kind: "wait", name: "wait", payload: { signal: "go" } },
    { step_id: "mail", name: "mail", payload: { to: "bo" }, depends_on: ["wait"] },
  ],
};

/** Restores as the command line does. */
async function restore({ path, open }: World, backup: string, store: string): Promise<Engine> {
  const copy = storeFromBackup(path(backup), path(store));
  const engine = await createEngine({ store: await copy.write(), tools: [], work: false });
  await engine.adoptBackup({ principal: ana, reason: "disk lost" });
  await engine.close();
  await copy.publish();
  return open(store);
}

describe("a backup", () => {
  it("holds everything that was committed, also what is only in the log, and is recorded with its content", async () => {
    const world = newWorld();
    const engine = await world.open("live.db");
    const { run_id } = await engine.call("mail", { to: "al" }, { principal: bot, mode: "auto_exec" });
    expect(statSync(world.path("live.db-wal")).size).toBeGreaterThan(0);
    const report = await engine.backup(world.path("copy.db"), { principal: ana, reason: "monday" });
    expect(report).toMatchObject({ tenants: 1, journals: 2, file: world.path("copy.db") });
    expect(report.bytes).toBe(statSync(world.path("copy.db")).size);
    expect(statSync(world.path("copy.db")).mode & 0o777).toBe(0o600);
    const { at, file, ...contents } = report;
    expect(await engine.backups({ principal: ana })).toEqual([
      { kind: "backup", at, by: "ana", reason: "monday", file, contents },
    ]);
    const copy = await createEngine({ store: sqlite(world.path("copy.db")), tools: [], work: false });
    expect((await (await copy.run(run_id, { principal: ana })).now()).status).toBe("completed");
    expect(await copy.backups({ principal: ana })).toMatchObject([{ kind: "backup", contents: null }]);
    await copy.close();
  });

  it("is made while runs execute, and holds a consistent state of them", async () => {
    const world = newWorld();
    const engine = await world.open("live.db");
    const plan = {
      steps: Array.from({ length: 40 }, (_, nth) => ({ step_id: `s${nth}`, name: "mail", payload: { to: `${nth}` } })),
    };
    const runs = await Promise.all(
      [1, 2, 3].map((nth) => engine.submit(plan, { principal: bot, requestKey: `${nth}` })),
    );
    const reports = await Promise.all(
      [1, 2, 3].map((nth) => engine.backup(world.path(`${nth}.db`), { principal: ana })),
    );
    for (const run of runs) expect((await run.finished()).status).toBe("completed");
    expect(reports.every(({ events }) => events > 0)).toBe(true);
  });

  it("overwrites nothing and leaves nothing behind when it is refused", async () => {
    const world = newWorld();
    const engine = await world.open("live.db");
    writeFileSync(world.path("taken.db"), "mine");
    const files = () => readdirSync(world.folder).filter((name) => name !== "live.db-maintenance");
    const before = files();
    for (const file of ["taken.db", "live.db", "missing/copy.db"])
      expect((await rejectedFault(engine.backup(world.path(file), { principal: ana }))).code).toMatch(
        /INVALID_INPUT|STORE_UNUSABLE/,
      );
    expect(files()).toEqual(before);
  });

  it("is refused if the record was changed", async () => {
    const world = newWorld();
    const engine = await world.open("live.db");
    await engine.call("read", {}, { principal: bot });
    const { db } = openDatabase(world.path("live.db"));
    db.exec("update event set body = replace(body, 'bot', 'eve') where type = 'run.accepted'");
    db.close();
    expect((await rejectedFault(engine.backup(world.path("copy.db"), { principal: ana }))).code).toBe("CHAIN_BROKEN");
    expect(readdirSync(world.folder).filter((name) => name.startsWith("copy"))).toEqual([]);
  });

  it("of a store with other tenants needs an operator", async () => {
    const world = newWorld();
    const engine = await world.open("live.db");
    await engine.call("read", {}, { principal: { ...bot, tenant: "globex" } });
    const refused = await rejectedFault(engine.backup(world.path("copy.db"), { principal: ana }));
    expect(refused).toMatchObject({ code: "AUTH_FORBIDDEN", message: expect.stringMatching(/other tenants/) });
    await engine.backup(world.path("copy.db"), { principal: { ...ana, roles: ["operator"] } });
    expect(existsSync(world.path("copy.db"))).toBe(true);
  });

  it("of a store that is not a file is not possible", async () => {
    const engine = await createEngine({ store: memory(), tools: [] });
    expect((await rejectedFault(engine.backup("copy.db", { principal: ana }))).code).toBe("NOT_POSSIBLE");
    await engine.close();
  });
});

describe("a restored backup", () => {
  it("repeats no act that was done after the backup: its run is parked, and a person approves the act", async () => {
    const world = newWorld();
    const live = await world.open("live.db");
    const { run_id } = await live.submit(mailAfterSignal, { principal: bot });
    await live.backup(world.path("copy.db"), { principal: ana });
    await live.signal("go", null, { principal: bot });
    expect((await (await live.run(run_id, { principal: ana })).finished()).status).toBe("completed");
    expect(world.sent).toEqual(["bo"]);
    await live.close();

    const restored = await restore(world, "copy.db", "restored.db");
    const run = await restored.run(run_id, { principal: ana });
    expect((await run.result()).restored?.backup_at).toEqual(expect.any(Number));
    await restored.signal("go", null, { principal: bot });
    expect((await rejectedFault(restored.resume(run_id, { principal: bot }))).code).toBe("AUTH_FORBIDDEN");
    await restored.resume(run_id, { principal: ana, reason: "checked" });
    const held = await run.result();
    expect(held.gates).toMatchObject([
      { step_id: "mail", reason: expect.stringMatching(/^the store was restored from a backup of 20/) },
    ]);
    expect(world.sent).toEqual(["bo"]);
    await restored.approve(held.gates[0]?.gate_id ?? "", { principal: ana, reason: "it was not sent" });
    expect((await run.finished()).status).toBe("completed");
    expect(world.sent).toEqual(["bo", "bo"]);
    expect((await restored.audit({ principal: ana })).broken).toEqual([]);
  });

  it("has a new incarnation each time, on record with the principal and the reason", async () => {
    const world = newWorld();
    const live = await world.open("live.db");
    await live.call("mail", { to: "al" }, { principal: bot });
    await live.backup(world.path("copy.db"), { principal: ana });
    const incarnations = new Set<string>();
    for (const name of ["one.db", "two.db"]) {
      const [record] = await (await restore(world, "copy.db", name)).backups({ principal: ana });
      expect(record).toMatchObject({
        kind: "restore",
        by: "ana",
        reason: "disk lost",
        changed: { parked: 0, ended: 1 },
      });
      if (record?.kind === "restore") incarnations.add(record.incarnation);
    }
    expect(incarnations.size).toBe(2);
  });

  it("reuses the receipts that it holds, and pauses its schedules", async () => {
    const world = newWorld();
    const live = await world.open("live.db");
    const plan = { steps: [{ step_id: "mail", name: "mail", payload: { to: "al" } }] };
    await live.schedules.set("daily", plan, { principal: { ...ana, id: "cron", kind: "service" }, cron: "* * * * *" });
    const { run_id } = await live.submit(plan, { principal: bot, requestKey: "one" });
    await (await live.run(run_id, { principal: ana })).finished();
    await live.backup(world.path("copy.db"), { principal: ana });
    const restored = await restore(world, "copy.db", "restored.db");
    expect(await restored.schedules.list({ principal: ana })).toMatchObject([{ schedule: "daily", status: "paused" }]);
    const again = await restored.submit(plan, { principal: bot, requestKey: "one" });
    expect([again.run_id, again.attached]).toEqual([run_id, true]);
    expect(world.sent.filter((to) => to === "al")).toHaveLength(1);
  });

  it("can be a copy that was made by hand, with its log, and is never overwritten", async () => {
    const world = newWorld();
    const live = await world.open("live.db");
    const { run_id } = await live.submit(mailAfterSignal, { principal: bot });
    for (const suffix of ["", "-wal"]) copyFileSync(world.path(`live.db${suffix}`), world.path(`hand.db${suffix}`));
    const restored = await restore(world, "hand.db", "restored.db");
    expect((await (await restored.run(run_id, { principal: ana })).now()).restored).toBeDefined();
    expect(() => storeFromBackup(world.path("hand.db"), world.path("restored.db"))).toThrow(/restored.db exists/);
    appendFileSync(world.path("broken.db"), "no database");
    const copy = storeFromBackup(world.path("broken.db"), world.path("new.db"));
    expect((await rejectedFault(copy.write())).code).toBe("STORE_UNUSABLE");
    await copy.discard();
    expect(readdirSync(world.folder).filter((name) => name.startsWith("new"))).toEqual([]);
  });
});

describe("adopting a backup in place", () => {
  it("parks every run of the tenant and of no other", async () => {
    const world = newWorld();
    const engine = await world.open("live.db", false);
    const own = await engine.submit(mailAfterSignal, { principal: bot });
    const other = await engine.submit(mailAfterSignal, { principal: { ...bot, tenant: "globex" } });
    const report = await engine.adoptBackup({ principal: ana, reason: "pg_restore", backupAt: 1_700_000_000_000 });
    expect(report).toMatchObject({ backup_at: 1_700_000_000_000, parked: 1, ended: 0, schedules: 0 });
    expect((await own.now()).restored?.incarnation).toBe(report.incarnation);
    expect((await other.now()).restored).toBeUndefined();
    expect((await engine.runs({ principal: ana, status: "restored" })).length).toBe(1);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });

  it("holds the acts of child runs that the restored run starts later", async () => {
    const world = newWorld();
    const engine = await world.open("live.db");
    const child = { steps: [{ step_id: "mail", name: "mail", payload: { to: "kid" } }] };
    const wait = { step_id: "wait", kind: "wait", name: "wait", payload: { signal: "go" } };
    const start = { step_id: "child", kind: "run", name: "child", payload: { plan: child }, depends_on: ["wait"] };
    const { run_id } = await engine.submit({ steps: [wait, start] }, { principal: bot });
    await engine.adoptBackup({ principal: ana });
    await engine.resume(run_id, { principal: ana });
    await engine.signal("go", null, { principal: bot });
    await expect.poll(async () => (await engine.gates({ principal: ana })).length, { timeout: 10_000 }).toBe(1);
    expect(world.sent).toEqual([]);
  });
});
