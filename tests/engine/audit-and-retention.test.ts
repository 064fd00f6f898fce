import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { connectSqlite, type SqliteDatabase, type SqliteValue } from "../../src/store/sqlite/sqlite-driver.ts";
import { anaPerson, botAgent, type EngineFixture, sqliteFileFixture, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool, throwsFault, throwsNotDone } from "./scripted-tool.ts";

const steps = [
  { step_id: "look", name: "look", outcome: { type: "Summary.Birds", status: "final" } },
  { step_id: "send", name: "send", payload: { to: "ana" }, depends_on: ["look"] },
  { step_id: "pay", name: "pay", payload: { invoice: 1 }, depends_on: ["send"] },
];
const cast = (more: object = {}) => {
  const look = scriptedTool("look", ({ context }) => context.cost({ usd_micros: 5 }) ?? { text: "x".repeat(70_000) }, {
    effect: "reads",
    cache: "use_if_safe",
  });
  const send = scriptedTool("send", ({ context }) => context.notice("sent", {}) ?? { id: "m1" });
  const pay = scriptedTool("pay", ({ context }) => ({ id: context.key }), {
    identity: ["invoice"],
    onDuplicate: "reuse",
    compensate: async () => null,
    ...more,
  });
  return { look, send, pay, tools: [look.tool, send.tool, pay.tool] };
};

/** Runs the plan to its end, through its gate. */
async function runOnce(engine: Engine, requestKey: string): Promise<string> {
  const run = await engine.submit({ steps }, { principal: botAgent, requestKey });
  for (let result = await run.result(); !result.final; result = await run.result())
    for (const { gate_id } of result.gates) await engine.approve(gate_id, { principal: anaPerson });
  return run.run_id;
}

describe("audit of a tampered file", () => {
  /** Changes a file with two finished runs and returns the report of the audit. */
  async function tampered(change: (db: SqliteDatabase, runs: { first: string; second: string }) => void) {
    const stage = sqliteFileFixture();
    const engine = await stage.open({ tools: cast().tools, tenants: {} });
    const first = await runOnce(engine, "one");
    const second = await runOnce(engine, "two");
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ runs: 2, erased: 0, broken: [] });
    await engine.close();
    const db = connectSqlite(stage.file);
    change(db, { first, second });
    db.close();
    const office = await stage.open({ tools: [], work: false });
    return { first, second, ...(await office.audit({ principal: anaPerson })) };
  }

  const set = (db: SqliteDatabase, sql: string, ...values: SqliteValue[]) => {
    expect(db.prepare(sql).run(...values).changes).toBeGreaterThan(0);
  };

  it.each<[string, string, number]>([
    [
      "a flipped letter in a body",
      "update event set body = replace(body, 'ana', 'eve') where journal = (select journal from head where run = ?) and position = 1",
      1,
    ],
    [
      "a changed type",
      "update event set type = 'step.failed' where journal = (select journal from head where run = ?) and position = 3",
      3,
    ],
    [
      "a changed time",
      "update event set at = at + 1 where journal = (select journal from head where run = ?) and position = 2",
      2,
    ],
    [
      "a changed version",
      "update event set v = 0 where journal = (select journal from head where run = ?) and position = 2",
      2,
    ],
    [
      "a changed hash",
      "update event set hash = zeroblob(32) where journal = (select journal from head where run = ?) and position = 4",
      4,
    ],
    [
      "a body with a line that reads like one more event",
      "update event set body = body || char(10) || '3 1 1 00 step.failed {}' where journal = (select journal from head where run = ?) and position = 2",
      2,
    ],
    [
      "an event taken out of the middle",
      "delete from event where journal = (select journal from head where run = ?) and position = 3",
      4,
    ],
    [
      "a body that is gone without a trace",
      "update event set body = null where journal = (select journal from head where run = ?) and position = 2",
      2,
    ],
  ])("finds %s", async (_, sql, position) => {
    const { broken, first } = await tampered((db, runs) => set(db, sql, runs.first));
    expect(broken).toMatchObject([{ run_id: first, position }]);
  });

  it("finds a truncated journal by its head", async () => {
    const { broken, first } = await tampered((db, runs) =>
      set(
        db,
        "delete from event where seq = (select max(event.seq) from event join head using (journal) where head.run = ?)",
        runs.first,
      ),
    );
    expect(broken).toMatchObject([{ run_id: first, what: expect.stringContaining("the head says") }]);
  });

  it("finds a journal whose head was deleted, with all of its events", async () => {
    const { broken, first, events } = await tampered((db, runs) =>
      set(db, "delete from head where run = ?", runs.first),
    );
    expect(broken).toMatchObject([{ run_id: first, what: expect.stringContaining("head") }]);
    expect(events).toBeGreaterThan(20);
  });

  it("finds a head that names the journal of another run", async () => {
    const { broken, first } = await tampered((db, runs) =>
      set(
        db,
        "update head set journal = (select journal from head where run = ?) where run = ?",
        runs.second,
        runs.first,
      ),
    );
    expect(broken[0]).toMatchObject({ run_id: first, position: 2 });
  });

  it("finds the name of another run at the first event of a journal", async () => {
    const { broken, first } = await tampered((db, runs) =>
      set(db, "update event set run = 'run_other' where run = ?", runs.first),
    );
    expect(broken.map(({ run_id }) => run_id)).toEqual(expect.arrayContaining([first, "run_other"]));
  });

  it("finds two events in swapped positions", async () => {
    const { broken, first } = await tampered((db, { first }) => {
      set(
        db,
        "update event set position = -1 where journal = (select journal from head where run = ?) and position = 3",
        first,
      );
      set(
        db,
        "update event set position = 3 where journal = (select journal from head where run = ?) and position = 4",
        first,
      );
      set(
        db,
        "update event set position = 4 where journal = (select journal from head where run = ?) and position = -1",
        first,
      );
    });
    expect(broken).toMatchObject([{ run_id: first, position: 3 }]);
  });

  it("finds an event of another run in its place, hash included", async () => {
    const { broken, first } = await tampered((db, runs) => {
      const theirs =
        "from event as other join head using (journal) where head.run = ? and other.position = event.position";
      set(
        db,
        `update event set body = (select other.body ${theirs}), hash = (select other.hash ${theirs}) where journal = (select journal from head where run = ?) and position = 2`,
        runs.second,
        runs.second,
        runs.first,
      );
    });
    expect(broken).toMatchObject([{ run_id: first, position: 2 }]);
  });

  it("finds an event appended after the last one", async () => {
    const { broken, first } = await tampered((db, runs) =>
      set(
        db,
        `insert into event (journal, position, type, v, at, body, hash)
         select event.journal, event.position + 1, type, v, at, body, event.hash from event join head using (journal)
         where head.run = ? order by event.position desc limit 1`,
        runs.first,
      ),
    );
    expect(broken).toMatchObject([{ run_id: first }]);
  });

  it("finds a changed or deleted blob", async () => {
    const changed = await tampered((db) => set(db, "update blob set bytes = cast('{}' as blob)"));
    expect(changed.broken[0]?.what).toContain("was changed");
    const gone = await tampered((db) => set(db, "delete from blob"));
    expect(gone.broken[0]?.what).toContain("is missing");
  });

  it.each<[string, string]>([
    ["a run whose row says running", "update run set row = json_set(row, '$.status', 'running') where key = ?"],
    ["a run whose row is gone", "delete from run where key = ?"],
    [
      "a gate whose row says open",
      "update gate set row = json_set(row, '$.status', 'open') where row ->> 'run_id' = ?",
    ],
    ["a gate that is gone", "delete from gate where row ->> 'run_id' = ?"],
    [
      "an act whose row says not done",
      "update ledger set row = json_set(row, '$.state', 'not_done') where row ->> 'run_id' = ?",
    ],
    [
      "an act of another generation",
      "update ledger set row = json_set(row, '$.generation', 7) where row ->> 'run_id' = ?",
    ],
    ["an act with another version", "update ledger set version = version + 1 where row ->> 'run_id' = ?"],
    ["an act that is gone", "delete from ledger where row ->> 'run_id' = ?"],
    [
      "an act whose row names another run",
      "update ledger set row = json_set(row, '$.run_id', 'run_other') where row ->> 'run_id' = ?",
    ],
    [
      "a request whose row has another digest",
      "update request set row = json_set(row, '$.digest', 'x') where row ->> 'run_id' = ?",
    ],
    [
      "an outcome whose row has another key",
      "update outcome set row = json_set(row, '$.reuse_key', 'x') where row ->> 'run_id' = ?",
    ],
    ["a notice whose row is gone", "delete from notice where row ->> 'run_id' = ?"],
  ])("finds %s", async (_, sql) => {
    const stage = sqliteFileFixture();
    const engine = await stage.open({ tools: cast().tools, tenants: {} });
    const run = await runOnce(engine, "one");
    await engine.close();
    const db = connectSqlite(stage.file);
    set(db, sql, run);
    db.close();
    const office = await stage.open({ tools: [], work: false });
    for (const which of [{}, { runId: run }]) {
      const { broken } = await office.audit({ principal: anaPerson, ...which });
      expect(broken).toMatchObject([{ run_id: run, what: expect.stringContaining("row") }]);
    }
  });

  it.each<[string, string, string]>([
    ["a run whose row is gone, though retention has emptied it", "delete from run where key = ?", "row is missing"],
    [
      "a run whose journal is gone and whose row is left",
      "delete from event where journal = (select journal from head where run = ?)",
      "no event of",
    ],
  ])("finds %s", async (_, sql, what) => {
    const stage = sqliteFileFixture();
    const engine = await stage.open({ tools: cast().tools, tenants: {}, onNotice: async () => {} });
    const run = await runOnce(engine, "one");
    stage.clock.advance(1);
    expect(await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() })).toMatchObject({ runs: 1 });
    await engine.close();
    const db = connectSqlite(stage.file);
    set(db, sql, run);
    if (sql.includes("event")) set(db, "delete from head where run = ?", run);
    db.close();
    const office = await stage.open({ tools: [], work: false });
    const { broken, rows } = await office.audit({ principal: anaPerson });
    const found = [...broken, ...rows.filter(({ table, what: why }) => table === "run" && !why.includes("index"))];
    expect(found).toMatchObject([{ what: expect.stringContaining(what) }]);
    expect(JSON.stringify(found)).toContain(run);
  });

  it.each<[string, string, number]>([
    ["that says less than was charged", "update tally set used = used - 1 where tally like 'usd_micros/tenant/%'", 4],
    ["that says more than was charged", "update tally set used = used + 1 where tally like 'usd_micros/tenant/%'", 6],
    ["that is gone", "delete from tally where tally like 'usd_micros/tenant/%'", 0],
  ])("finds a tally %s", async (_, sql, used) => {
    const { broken, tallies } = await tampered((db) => set(db, sql));
    expect(broken).toEqual([]);
    expect(tallies).toEqual([{ tally: "usd_micros/tenant/2023-11", used, charged: 5 }]);
  });

  it("finds a tally that no event charged", async () => {
    const { tallies } = await tampered((db) => set(db, "insert into tally values ('acme', 'usd_micros/x', 5)"));
    expect(tallies).toEqual([{ tally: "usd_micros/x", used: 5, charged: 0 }]);
  });

  it("finds a forged ledger row, and no call reuses the receipt that it names", async () => {
    const stage = sqliteFileFixture();
    const { tools, pay } = cast();
    const engine = await stage.open({ tools });
    const invoice = (number: number) => ({ steps: [{ step_id: "pay", name: "pay", payload: { invoice: number } }] });
    const submit = async (number: number) => (await engine.submit(invoice(number), { principal: botAgent })).result();
    await submit(1);
    await submit(2);
    const db = connectSqlite(stage.file);
    const [first, second] = db.prepare("select key, row from ledger order by row ->> 'run_id'").all() as {
      key: string;
      row: string;
    }[];
    const forged = (key: string, row: string) => JSON.stringify({ ...JSON.parse(row), key });
    set(db, "update ledger set row = ? where key = ?", forged(first?.key ?? "", second?.row ?? ""), first?.key ?? "");
    db.close();
    const { broken } = await engine.audit({ principal: anaPerson });
    expect(broken.map(({ what }) => what).join()).toContain(first?.key);
    const paid = JSON.parse(first?.row ?? "{}").input_digest;
    expect(paid).not.toBe(JSON.parse(second?.row ?? "{}").input_digest);
    const results = [await submit(1), await submit(2)].map(({ steps }) => steps.pay);
    expect(results.filter((step) => step?.fault?.code === "CHAIN_BROKEN")).toHaveLength(1);
    expect(results.filter((step) => step?.state === "succeeded")).toMatchObject([{ reused: {} }]);
    expect(pay.calls).toHaveLength(2);
  });

  it.each([
    ["marker", "delete from marker where attempt = 1"],
    ["number of markers", "delete from sent"],
  ])("takes no deleted %s as proof that a tool was not called", async (_, sql) => {
    const stage = sqliteFileFixture();
    const engine = await stage.open({ tools: cast().tools });
    const run = await engine.submit({ steps: steps.slice(0, 2) }, { principal: botAgent });
    await run.result();
    const mark = (attempt: number) =>
      stage.store().marked("acme" as never, run.run_id, "send" as never, attempt, stage.store().boot);
    expect(await mark(2)).toBe("no");
    const db = connectSqlite(stage.file);
    set(db, sql);
    db.close();
    expect(await mark(2)).toBe("unknown");
    expect((await engine.audit({ principal: anaPerson })).rows[0]).toMatchObject({ table: "marker" });
  });

  it("stops a run whose journal was changed", async () => {
    const stage = sqliteFileFixture();
    const { tools, send } = cast();
    const engine = await stage.open({ tools, tenants: {} });
    const run = await engine.submit({ steps }, { principal: botAgent });
    const gate = (await run.result()).gates[0]?.gate_id as string;
    await engine.close();
    const db = connectSqlite(stage.file);
    set(db, 'update event set body = replace(body, \'"to":"ana"\', \'"to":"eve"\') where type = \'gate.opened\'');
    db.close();
    const office = await stage.open({ tools, tenants: {} });
    expect((await rejectedFault(office.approve(gate, { principal: anaPerson }))).code).toBe("CHAIN_BROKEN");
    expect(send.calls).toHaveLength(0);
  });
});

describe.each(storeKinds)("audit, on $name", ({ newFixture: newStage }) => {
  it("is clean after doubt, undo, duplicates and takeovers", async () => {
    const stage: EngineFixture = newStage();
    const { tools } = cast();
    const engine = await stage.open({ tools, tenants: {} });
    const first = await runOnce(engine, "one");
    await runOnce(engine, "two");
    await engine.resolve(first, "pay", { principal: anaPerson, as: "undo" });
    await (await engine.run(first, { principal: botAgent })).result();
    const third = await runOnce(engine, "three");
    expect(await collectEvents(await engine.run(third, { principal: botAgent }), "step.started")).toMatchObject([
      {},
      { ledger: { generation: 2 } },
    ]);
    const report = await engine.audit({ principal: anaPerson });
    expect(report).toMatchObject({ runs: 3, erased: 0, broken: [], tallies: [] });
    expect(report.events).toBeGreaterThan(20);
  });

  it("is clean while runs execute", async () => {
    const stage = newStage();
    const spend = scriptedTool("spend", ({ context }) => context.cost({ usd_micros: 7 }) ?? 1, { effect: "reads" });
    const worker = await stage.open({ tools: [...cast().tools, spend.tool], tenants: {}, onNotice: async () => {} });
    const first = await runOnce(worker, "one");
    const store = stage.store();
    let begun = false;
    const working: Store["row"] = async (...given) => {
      if (!begun) {
        begun = true;
        await (await worker.submit({ steps: [{ step_id: "s", name: "spend" }] }, { principal: botAgent })).result();
        await worker.resolve(first, "pay", { principal: anaPerson, as: "undo" });
        await (await worker.run(first, { principal: botAgent })).result();
      }
      return store.row(...given);
    };
    const auditor = await stage.open({ tools: [], work: false, store: { ...store, row: working } });
    expect(await auditor.audit({ principal: anaPerson })).toMatchObject({ broken: [], tallies: [] });
    expect(spend.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("retention, on $name", ({ newFixture: newStage }) => {
  const month = 30 * 24 * 60 * 60 * 1000;

  async function retained(more: object = {}) {
    const stage = newStage();
    const { tools, look, send, pay } = cast(more);
    const engine = await stage.open({ tools, tenants: {}, onNotice: async () => {} });
    const old = await runOnce(engine, "old");
    stage.clock.advance(month);
    const young = await runOnce(engine, "young");
    const waiting = await engine.submit({ steps }, { principal: botAgent });
    await waiting.result();
    const erased = await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() - 1 });
    return { stage, engine, old, young, waiting, erased, look, send, pay };
  }

  it("erases the bodies of runs that ended before the given time, and of no others", async () => {
    const { stage, engine, old, young, waiting, erased } = await retained();
    expect(erased).toMatchObject({ runs: 1, events: expect.any(Number), waiting: 0, snapshots: 0 });
    const store = stage.store();
    const bodies = (await store.events("acme" as never, old as never, 0)).map(({ body }) => body);
    expect(bodies.filter((body) => body !== null)).toHaveLength(2); // The receipts of its two acts.
    expect((await (await engine.run(young, { principal: botAgent })).result()).status).toBe("completed");
    expect((await waiting.result()).gates).toHaveLength(1);
    const again = await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() - 1 });
    expect(again).toMatchObject({ runs: 0, events: 0, waiting: 0, snapshots: 0 });
  });

  it("waits for undelivered notices", async () => {
    const stage = newStage();
    const deaf = await stage.open({ tools: cast().tools, tenants: {} });
    await runOnce(deaf, "old");
    stage.clock.advance(month);
    const retain = { principal: anaPerson, endedBefore: stage.clock.now() };
    expect(await deaf.retain(retain)).toMatchObject({ runs: 0, events: 0, waiting: 1, snapshots: 0 });
    await deaf.close();
    const told: string[] = [];
    const engine = await stage.open({ tools: cast().tools, onNotice: async ({ topic }) => void told.push(topic) });
    await stage.advance(5000);
    expect(told).toEqual(["sent"]);
    expect(await engine.retain(retain)).toMatchObject({ runs: 1, waiting: 0 });
  });

  it("does not wait for a notice of the engine about a run that has ended, and records that it is withdrawn", async () => {
    const stage = newStage();
    const send = scriptedTool("send", throwsFault("TOOL_FAILED"));
    const deaf = await stage.open({ tools: [send.tool] });
    const run = await deaf.submit({ steps: [{ step_id: "a", name: "send" }] }, { principal: botAgent });
    expect((await run.result()).steps.a?.state).toBe("in_doubt");
    stage.clock.advance(month);
    const retain = () => deaf.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
    expect(await retain()).toMatchObject({ runs: 0, waiting: 0 });
    await deaf.resolve(run.run_id, "a", { principal: anaPerson, as: "give_up" });
    expect((await run.result()).final).toBe(true);
    stage.clock.advance(month);
    const store = stage.store();
    const listed = () => store.list("acme" as Tenant, { table: "notice", order: "oldest", limit: 10 });
    expect(await listed()).toHaveLength(1);
    expect(await retain()).toMatchObject({ runs: 1, waiting: 0 });
    expect(await listed()).toEqual([]);
    const types = (await store.events("acme" as Tenant, run.run_id as RunId, 0)).map(({ type }) => type);
    expect(types).toContain("notice.withdrawn");
    expect((await deaf.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("leaves a verifiable chain and reports how many events are erased", async () => {
    const { engine, erased } = await retained();
    const clean = { runs: 4, erased: erased.events, broken: [], tallies: [] };
    expect(await engine.audit({ principal: anaPerson })).toMatchObject(clean);
  });

  it("erases large values with their runs", async () => {
    const { stage, engine, waiting } = await retained();
    await waiting.cancel();
    stage.clock.advance(1);
    await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
    expect(JSON.stringify(await stage.dump()).includes(Buffer.from("xxxxxxxx").toString("hex"))).toBe(false);
  });

  it("keeps receipts, so that an old act is not repeated", async () => {
    const { engine, pay, old } = await retained();
    const calls = pay.calls.length;
    const again = await engine.submit(
      { steps: [{ step_id: "p", name: "pay", payload: { invoice: 1 } }] },
      { principal: botAgent },
    );
    const [gate] = (await again.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect((await again.result()).steps.p).toMatchObject({ state: "succeeded", reused: { run: old } });
    expect(pay.calls).toHaveLength(calls);
  });

  it("ends the reuse of erased outcomes", async () => {
    const { stage, engine, look } = await retained();
    stage.clock.advance(1);
    await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
    const calls = look.calls.length;
    const run = await engine.submit({ steps: steps.slice(0, 1) }, { principal: botAgent });
    expect((await run.result()).steps.look).not.toHaveProperty("reused");
    expect(look.calls).toHaveLength(calls + 1);
  });

  it("leaves the run in the list and returns a fault for its details", async () => {
    const { engine, old } = await retained();
    expect((await engine.runs({ principal: anaPerson })).map(({ run_id }) => run_id)).toContain(old);
    const run = await engine.run(old, { principal: botAgent });
    const refused = await rejectedFault(run.result());
    expect(refused).toMatchObject({ code: "RUN_NOT_FOUND", message: expect.stringContaining("erased by retention") });
    expect((await rejectedFault(engine.resume(old, { principal: botAgent }))).code).toBe("RUN_NOT_FOUND");
  });

  it("requires a time in the past", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const tomorrow = stage.clock.now() + 1;
    for (const endedBefore of [Number.NaN, "yesterday" as unknown as number, undefined as unknown as number, tomorrow])
      expect((await rejectedFault(engine.retain({ principal: anaPerson, endedBefore }))).code).toBe("INVALID_INPUT");
  });

  it("leaves a run alone that another process resumes meanwhile", async () => {
    const stage = newStage();
    const pay = scriptedTool("pay", [throwsNotDone("AUTH_FORBIDDEN"), () => ({ id: "p1" })]);
    const worker = await stage.open({ tools: [pay.tool] });
    const run = await worker.submit({ steps: [{ step_id: "a", name: "pay" }] }, { principal: botAgent });
    expect((await run.result()).status).toBe("failed");
    stage.clock.advance(month);
    const store = stage.store();
    const resuming: Store["list"] = async (tenant, query) => {
      if (query.table === "ledger") await (await worker.resume(run.run_id, { principal: anaPerson })).result();
      return store.list(tenant, query);
    };
    const cleaner = await stage.open({ tools: [], work: false, store: { ...store, list: resuming } });
    const erased = await cleaner.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
    expect(erased).toMatchObject({ runs: 0, events: 0, waiting: 0, snapshots: 0 });
    expect((await run.result()).steps.a).toEqual({ state: "succeeded", output: { id: "p1" } });
    expect(await worker.audit({ principal: anaPerson })).toMatchObject({ runs: 2, erased: 0, broken: [] });
  });

  it("reads each run at most once, and no erased run", async () => {
    const stage = newStage();
    const { tools } = cast();
    const worker = await stage.open({ tools, tenants: {}, onNotice: async () => {} });
    for (const key of ["one", "two"]) await runOnce(worker, key);
    stage.clock.advance(month);
    const store = stage.store();
    const whole: string[] = [];
    const reading: Store["events"] = (tenant, run, after, most) => {
      if (most === undefined && run.startsWith("run_")) whole.push(run);
      return store.events(tenant, run, after, most);
    };
    const cleaner = await stage.open({ tools: [], work: false, store: { ...store, events: reading } });
    const retain = () => cleaner.retain({ principal: anaPerson, endedBefore: stage.clock.now() });
    expect(await retain()).toMatchObject({ runs: 2 });
    expect(new Set(whole).size).toBe(whole.length);
    whole.length = 0;
    expect(await retain()).toMatchObject({ runs: 0 });
    expect(whole).toEqual([]);
  });
});
