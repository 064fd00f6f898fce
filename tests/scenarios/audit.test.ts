import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store.ts";
import type { Engine } from "../../src/engine/api.ts";
import { connect, type Database, type Value } from "../../src/store/sqlite/driver.ts";
import { actor, eventsOf, faultOf, says } from "./cast.ts";
import { ana, bot, fileStage, places, type Stage } from "./stage.ts";

const steps = [
  { step_id: "look", name: "look", outcome: { type: "Summary.Birds", status: "final" } },
  { step_id: "send", name: "send", payload: { to: "ana" }, depends_on: ["look"] },
  { step_id: "pay", name: "pay", payload: { invoice: 1 }, depends_on: ["send"] },
];
const cast = (more: object = {}) => {
  const look = actor("look", ({ context }) => context.cost({ usd_micros: 5 }) ?? { text: "x".repeat(70_000) }, {
    effect: "reads",
    cache: "use_if_safe",
  });
  const send = actor("send", ({ context }) => context.notice("sent", {}) ?? { id: "m1" });
  const pay = actor("pay", ({ context }) => ({ id: context.key }), {
    identity: ["invoice"],
    onDuplicate: "reuse",
    compensate: async () => null,
    ...more,
  });
  return { look, send, pay, tools: [look.tool, send.tool, pay.tool] };
};

/** Runs the plan to its end, through its gate. */
async function runOnce(engine: Engine, requestKey: string): Promise<string> {
  const run = await engine.submit({ steps }, { principal: bot, requestKey });
  for (let result = await run.result(); !result.final; result = await run.result())
    for (const { gate_id } of result.gates) await engine.approve(gate_id, { principal: ana });
  return run.run_id;
}

describe("an audit of a file that was tampered with", () => {
  /** A file with two finished runs, and what an audit says after someone has changed it. */
  async function tampered(change: (db: Database, runs: { first: string; second: string }) => void) {
    const stage = fileStage();
    const engine = await stage.open({ tools: cast().tools, tenants: {} });
    const first = await runOnce(engine, "one");
    const second = await runOnce(engine, "two");
    expect(await engine.audit({ principal: ana })).toMatchObject({ runs: 2, erased: 0, broken: [] });
    await engine.close();
    const db = connect(stage.file);
    change(db, { first, second });
    db.close();
    const office = await stage.open({ tools: [], work: false });
    return { first, second, ...(await office.audit({ principal: ana })) };
  }

  const set = (db: Database, sql: string, ...values: Value[]) => {
    expect(db.prepare(sql).run(...values).changes).toBeGreaterThan(0);
  };

  it.each<[string, string, number]>([
    [
      "a flipped letter in a body",
      "update event set body = replace(body, 'ana', 'eve') where run = ? and position = 1",
      1,
    ],
    ["a changed type", "update event set type = 'step.failed' where run = ? and position = 3", 3],
    ["a changed time", "update event set at = at + 1 where run = ? and position = 2", 2],
    ["a changed version", "update event set v = 0 where run = ? and position = 2", 2],
    ["a changed hash", "update event set hash = zeroblob(32) where run = ? and position = 4", 4],
    [
      "a body with a line that reads like one more event",
      "update event set body = body || char(10) || '3 1 1 00 step.failed {}' where run = ? and position = 2",
      2,
    ],
    ["an event taken out of the middle", "delete from event where run = ? and position = 3", 4],
    ["a body that is gone without a trace", "update event set body = null where run = ? and position = 2", 2],
  ])("finds %s", async (_, sql, position) => {
    const { broken, first } = await tampered((db, runs) => set(db, sql, runs.first));
    expect(broken).toMatchObject([{ run_id: first, position }]);
  });

  it("finds a tail that was cut, by the head", async () => {
    const { broken, first } = await tampered((db, runs) =>
      set(
        db,
        "delete from event where run = ?1 and position = (select max(position) from event where run = ?1)",
        runs.first,
      ),
    );
    expect(broken).toMatchObject([{ run_id: first, what: expect.stringContaining("the head says") }]);
  });

  it("finds two events that changed places", async () => {
    const { broken, first } = await tampered((db, { first }) => {
      set(db, "update event set position = -1 where run = ? and position = 3", first);
      set(db, "update event set position = 3 where run = ? and position = 4", first);
      set(db, "update event set position = 4 where run = ? and position = -1", first);
    });
    expect(broken).toMatchObject([{ run_id: first, position: 3 }]);
  });

  it("finds an event of another run in its place, hash and all", async () => {
    const { broken, first } = await tampered((db, runs) => {
      const theirs = "from event as other where other.run = ? and other.position = event.position";
      set(
        db,
        `update event set body = (select body ${theirs}), hash = (select hash ${theirs}) where run = ? and position = 2`,
        runs.second,
        runs.second,
        runs.first,
      );
    });
    expect(broken).toMatchObject([{ run_id: first, position: 2 }]);
  });

  it("finds an event that was put behind the last one", async () => {
    const { broken, first } = await tampered((db, runs) =>
      set(
        db,
        "insert into event select tenant, run, position + 1, type, v, at, body, hash, null from event where run = ?1 and position = (select max(position) from event where run = ?1)",
        runs.first,
      ),
    );
    expect(broken).toMatchObject([{ run_id: first }]);
  });

  it("finds a blob that was changed or thrown away", async () => {
    const changed = await tampered((db) => set(db, "update blob set bytes = cast('{}' as blob)"));
    expect(changed.broken[0]?.what).toContain("was changed");
    const gone = await tampered((db) => set(db, "delete from blob"));
    expect(gone.broken[0]?.what).toContain("is gone");
  });

  it.each<[string, string]>([
    ["a run that is said to be running", "update run set row = json_set(row, '$.status', 'running') where key = ?"],
    ["a run whose row is gone", "delete from run where key = ?"],
    [
      "a gate that is said to be open",
      "update gate set row = json_set(row, '$.status', 'open') where row ->> 'run_id' = ?",
    ],
    ["a gate that is gone", "delete from gate where row ->> 'run_id' = ?"],
    [
      "an act that is said not to be done",
      "update ledger set row = json_set(row, '$.state', 'not_done') where row ->> 'run_id' = ?",
    ],
    [
      "an act of another generation",
      "update ledger set row = json_set(row, '$.generation', 7) where row ->> 'run_id' = ?",
    ],
    ["an act with another version", "update ledger set version = version + 1 where row ->> 'run_id' = ?"],
    ["an act that is gone", "delete from ledger where row ->> 'run_id' = ?"],
    [
      "an act that is said to be another run's",
      "update ledger set row = json_set(row, '$.run_id', 'run_other') where row ->> 'run_id' = ?",
    ],
    [
      "a request that is said to be another",
      "update request set row = json_set(row, '$.digest', 'x') where row ->> 'run_id' = ?",
    ],
    [
      "an outcome that is said to be reusable",
      "update outcome set row = json_set(row, '$.reuse_key', 'x') where row ->> 'run_id' = ?",
    ],
    ["a notice that is said to be delivered", "delete from notice where row ->> 'run_id' = ?"],
  ])("finds %s", async (_, sql) => {
    const stage = fileStage();
    const engine = await stage.open({ tools: cast().tools, tenants: {} });
    const run = await runOnce(engine, "one");
    await engine.close();
    const db = connect(stage.file);
    set(db, sql, run);
    db.close();
    const office = await stage.open({ tools: [], work: false });
    for (const which of [{}, { runId: run }]) {
      const { broken } = await office.audit({ principal: ana, ...which });
      expect(broken).toMatchObject([{ run_id: run, what: expect.stringContaining("row") }]);
    }
  });

  it.each<[string, string, string]>([
    ["a run whose row is gone, though retention has emptied it", "delete from run where key = ?", "row is gone"],
    ["a run of which nothing but its row is left", "delete from event where run = ?", "its journal is gone"],
  ])("finds %s", async (_, sql, what) => {
    const stage = fileStage();
    const engine = await stage.open({ tools: cast().tools, tenants: {}, onNotice: async () => {} });
    const run = await runOnce(engine, "one");
    stage.clock.advance(1);
    expect(await engine.retain({ principal: ana, endedBefore: stage.clock.now() })).toMatchObject({ runs: 1 });
    await engine.close();
    const db = connect(stage.file);
    set(db, sql, run);
    if (sql.includes("event")) set(db, "delete from head where run = ?", run);
    db.close();
    const office = await stage.open({ tools: [], work: false });
    const { broken } = await office.audit({ principal: ana });
    expect(broken).toMatchObject([{ run_id: run, what: expect.stringContaining(what) }]);
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

  it("finds a tally that nobody charged", async () => {
    const { tallies } = await tampered((db) => set(db, "insert into tally values ('acme', 'usd_micros/x', 5)"));
    expect(tallies).toEqual([{ tally: "usd_micros/x", used: 5, charged: 0 }]);
  });

  it("refuses to act on a journal that was changed in the middle of a run", async () => {
    const stage = fileStage();
    const { tools, send } = cast();
    const engine = await stage.open({ tools, tenants: {} });
    const run = await engine.submit({ steps }, { principal: bot });
    const gate = (await run.result()).gates[0]?.gate_id as string;
    await engine.close();
    const db = connect(stage.file);
    set(db, 'update event set body = replace(body, \'"to":"ana"\', \'"to":"eve"\') where type = \'gate.opened\'');
    db.close();
    const office = await stage.open({ tools, tenants: {} });
    expect((await faultOf(office.approve(gate, { principal: ana }))).code).toBe("CHAIN_BROKEN");
    expect(send.calls).toHaveLength(0);
  });
});

describe.each(places)("an audit, on $name", ({ newStage }) => {
  it("is clean after doubt, undoing, duplicates and take-overs", async () => {
    const stage: Stage = newStage();
    const { tools } = cast();
    const engine = await stage.open({ tools, tenants: {} });
    const first = await runOnce(engine, "one");
    await runOnce(engine, "two");
    await engine.resolve(first, "pay", { principal: ana, as: "undo" });
    await (await engine.run(first, { principal: bot })).result();
    const third = await runOnce(engine, "three");
    expect(await eventsOf(await engine.run(third, { principal: bot }), "step.started")).toMatchObject([
      {},
      { ledger: { generation: 2 } },
    ]);
    const report = await engine.audit({ principal: ana });
    expect(report).toMatchObject({ runs: 3, erased: 0, broken: [], tallies: [] });
    expect(report.events).toBeGreaterThan(20);
  });

  it("is clean while work goes on", async () => {
    const stage = newStage();
    const spend = actor("spend", ({ context }) => context.cost({ usd_micros: 7 }) ?? 1, { effect: "reads" });
    const worker = await stage.open({ tools: [...cast().tools, spend.tool], tenants: {}, onNotice: async () => {} });
    const first = await runOnce(worker, "one");
    const store = stage.store();
    let begun = false;
    const working: Store["row"] = async (...given) => {
      if (!begun) {
        begun = true;
        await (await worker.submit({ steps: [{ step_id: "s", name: "spend" }] }, { principal: bot })).result();
        await worker.resolve(first, "pay", { principal: ana, as: "undo" });
        await (await worker.run(first, { principal: bot })).result();
      }
      return store.row(...given);
    };
    const auditor = await stage.open({ tools: [], work: false, store: { ...store, row: working } });
    expect(await auditor.audit({ principal: ana })).toMatchObject({ broken: [], tallies: [] });
    expect(spend.calls).toHaveLength(1);
  });
});

describe.each(places)("retention, on $name", ({ newStage }) => {
  const month = 30 * 24 * 60 * 60 * 1000;

  async function retained(more: object = {}) {
    const stage = newStage();
    const { tools, look, send, pay } = cast(more);
    const engine = await stage.open({ tools, tenants: {}, onNotice: async () => {} });
    const old = await runOnce(engine, "old");
    stage.clock.advance(month);
    const young = await runOnce(engine, "young");
    const waiting = await engine.submit({ steps }, { principal: bot });
    await waiting.result();
    const erased = await engine.retain({ principal: ana, endedBefore: stage.clock.now() - 1 });
    return { stage, engine, old, young, waiting, erased, look, send, pay };
  }

  it("erases the bodies of runs that ended before, and of no others", async () => {
    const { stage, engine, old, young, waiting, erased } = await retained();
    expect(erased).toEqual({ runs: 1, events: expect.any(Number), waiting: 0, snapshots: 0 });
    const store = stage.store();
    const bodies = (await store.events("acme" as never, old as never, 0)).map(({ body }) => body);
    expect(bodies.filter((body) => body !== null)).toHaveLength(2); // The receipts of its two acts.
    expect((await (await engine.run(young, { principal: bot })).result()).status).toBe("completed");
    expect((await waiting.result()).gates).toHaveLength(1);
    const again = await engine.retain({ principal: ana, endedBefore: stage.clock.now() - 1 });
    expect(again).toEqual({ runs: 0, events: 0, waiting: 0, snapshots: 0 });
  });

  it("waits for notices that are still to be delivered", async () => {
    const stage = newStage();
    const deaf = await stage.open({ tools: cast().tools, tenants: {} });
    await runOnce(deaf, "old");
    stage.clock.advance(month);
    const retain = { principal: ana, endedBefore: stage.clock.now() };
    expect(await deaf.retain(retain)).toEqual({ runs: 0, events: 0, waiting: 1, snapshots: 0 });
    await deaf.close();
    const told: string[] = [];
    const engine = await stage.open({ tools: cast().tools, onNotice: async ({ topic }) => void told.push(topic) });
    await stage.pass(5000);
    expect(told).toEqual(["sent"]);
    expect(await engine.retain(retain)).toMatchObject({ runs: 1, waiting: 0 });
  });

  it("leaves a chain that still verifies, and says how much of it is gone", async () => {
    const { engine, erased } = await retained();
    const clean = { runs: 3, erased: erased.events, broken: [], tallies: [] };
    expect(await engine.audit({ principal: ana })).toMatchObject(clean);
  });

  it("takes large values with it", async () => {
    const { stage, engine, waiting } = await retained();
    await waiting.cancel();
    stage.clock.advance(1);
    await engine.retain({ principal: ana, endedBefore: stage.clock.now() });
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
    expect(JSON.stringify(await stage.dump()).includes(Buffer.from("xxxxxxxx").toString("hex"))).toBe(false);
  });

  it("keeps receipts, so that an act done long ago is still not done again", async () => {
    const { engine, pay, old } = await retained();
    const calls = pay.calls.length;
    const again = await engine.submit(
      { steps: [{ step_id: "p", name: "pay", payload: { invoice: 1 } }] },
      { principal: bot },
    );
    const [gate] = (await again.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: ana });
    expect((await again.result()).steps.p).toMatchObject({ state: "succeeded", reused: { run: old } });
    expect(pay.calls).toHaveLength(calls);
  });

  it("ends the reuse of what it erased", async () => {
    const { stage, engine, look } = await retained();
    stage.clock.advance(1);
    await engine.retain({ principal: ana, endedBefore: stage.clock.now() });
    const calls = look.calls.length;
    const run = await engine.submit({ steps: steps.slice(0, 1) }, { principal: bot });
    expect((await run.result()).steps.look).not.toHaveProperty("reused");
    expect(look.calls).toHaveLength(calls + 1);
  });

  it("makes of the run itself a name in a list, and says so to whoever asks for more", async () => {
    const { engine, old } = await retained();
    expect((await engine.runs({ principal: ana })).map(({ run_id }) => run_id)).toContain(old);
    const run = await engine.run(old, { principal: bot });
    const refused = await faultOf(run.result());
    expect(refused).toMatchObject({ code: "RUN_NOT_FOUND", message: expect.stringContaining("erased by retention") });
    expect((await faultOf(engine.resume(old, { principal: bot }))).code).toBe("RUN_NOT_FOUND");
  });

  it("wants a moment to look back from, which has passed", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [] });
    const tomorrow = stage.clock.now() + 1;
    for (const endedBefore of [Number.NaN, "yesterday" as unknown as number, undefined as unknown as number, tomorrow])
      expect((await faultOf(engine.retain({ principal: ana, endedBefore }))).code).toBe("INVALID_INPUT");
  });

  it("leaves a run alone that another process resumes meanwhile", async () => {
    const stage = newStage();
    const pay = actor("pay", [says("AUTH_FORBIDDEN"), () => ({ id: "p1" })]);
    const worker = await stage.open({ tools: [pay.tool] });
    const run = await worker.submit({ steps: [{ step_id: "a", name: "pay" }] }, { principal: bot });
    expect((await run.result()).status).toBe("failed");
    stage.clock.advance(month);
    const store = stage.store();
    const resuming: Store["list"] = async (tenant, query) => {
      if (query.table === "ledger") await (await worker.resume(run.run_id, { principal: ana })).result();
      return store.list(tenant, query);
    };
    const cleaner = await stage.open({ tools: [], work: false, store: { ...store, list: resuming } });
    const erased = await cleaner.retain({ principal: ana, endedBefore: stage.clock.now() });
    expect(erased).toEqual({ runs: 0, events: 0, waiting: 0, snapshots: 0 });
    expect((await run.result()).steps.a).toEqual({ state: "succeeded", output: { id: "p1" } });
    expect(await worker.audit({ principal: ana })).toMatchObject({ runs: 1, erased: 0, broken: [] });
  });

  it("reads each run at most once, and none that it has emptied before", async () => {
    const stage = newStage();
    const { tools } = cast();
    const worker = await stage.open({ tools, tenants: {}, onNotice: async () => {} });
    for (const key of ["one", "two"]) await runOnce(worker, key);
    stage.clock.advance(month);
    const store = stage.store();
    const whole: string[] = [];
    const reading: Store["events"] = (tenant, run, after, most) => {
      if (most === undefined) whole.push(run);
      return store.events(tenant, run, after, most);
    };
    const cleaner = await stage.open({ tools: [], work: false, store: { ...store, events: reading } });
    const retain = () => cleaner.retain({ principal: ana, endedBefore: stage.clock.now() });
    expect(await retain()).toMatchObject({ runs: 2 });
    expect(new Set(whole).size).toBe(whole.length);
    whole.length = 0;
    expect(await retain()).toMatchObject({ runs: 0 });
    expect(whole).toEqual([]);
  });
});
