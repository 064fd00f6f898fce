import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import type { RunChange, RunListOptions } from "../../src/engine/api/list-api.ts";
import { anaPerson, botAgent, sqliteFileFixture, storeKinds } from "./engine-fixture.ts";
import { gated, mailTool, openChat, openedChat, searchTool } from "./open-run-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const plan = (name: string, more: object = {}) => ({ steps: [{ step_id: "a", name, payload: { q: "x" }, ...more }] });
const principal = anaPerson;

async function idsOf(engine: Engine, filter: Partial<RunListOptions>): Promise<readonly string[]> {
  return (await engine.runs({ principal, ...filter })).map(({ run_id }) => run_id);
}

describe.each(storeKinds)("the list of runs on $name", ({ newFixture }) => {
  it("finds runs by each filter and by several, newest first", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool, mailTool().tool], ...gated });
    const submit = async (name: string, more: object) => {
      stage.clock.advance(1000);
      const run = await engine.submit(plan(name), { principal: botAgent, ...more });
      await run.result();
      return run.run_id;
    };
    const a = await submit("search", { project: "p", title: "First", labels: ["urgent", "eu", "eu"] });
    const b = await submit("mail", { project: "p", labels: ["eu"] });
    const c = await submit("search", { session: "s", principal: { ...botAgent, id: "rob" } });
    stage.clock.advance(1000);
    const chat = await openChat(engine, { agent: { name: "support" }, labels: ["eu"], title: "Chat" });
    const d = chat.run_id;
    expect(await idsOf(engine, {})).toEqual([d, c, b, a]);
    expect(await idsOf(engine, { project: "p" })).toEqual([b, a]);
    expect(await idsOf(engine, { session: "s" })).toEqual([c]);
    expect(await idsOf(engine, { label: "eu" })).toEqual([d, b, a]);
    expect(await idsOf(engine, { label: "eu", project: "p", tool: "mail" })).toEqual([b]);
    expect(await idsOf(engine, { tool: "search" })).toEqual([c, a]);
    expect(await idsOf(engine, { by: "rob" })).toEqual([c]);
    expect(await idsOf(engine, { agent: "support" })).toEqual([d]);
    expect(await idsOf(engine, { status: "open" })).toEqual([d]);
    expect(await idsOf(engine, { status: "waiting", waitingFor: "approval" })).toEqual([b]);
    const now = stage.clock.now();
    expect(await idsOf(engine, { from: now - 2500, to: now - 500 })).toEqual([c, b]);
    const [row] = await engine.runs({ principal, label: "urgent" });
    expect(row).toMatchObject({ title: "First", labels: ["urgent", "eu"], steps: 1, succeeded: 1, tools: ["search"] });
    expect(row?.updated_at).toBe(row?.ended_at);
  });

  it("finds the runs with a held call that the principal can decide", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool, mailTool().tool], ...gated });
    const held = await engine.submit(plan("mail"), { principal: botAgent });
    await held.result();
    await (await engine.submit(plan("search"), { principal: botAgent })).result();
    expect(await idsOf(engine, { decidable: true })).toEqual([held.run_id]);
    expect(await idsOf(engine, { decidable: true, principal: botAgent })).toEqual([]);
    expect(await idsOf(engine, { decidable: true, status: "completed" })).toEqual([]);
    const counted = rejectedFault(engine.runs({ principal, decidable: true, count: true }));
    expect(await counted).toMatchObject({ code: "INVALID_INPUT" });
    const [gate] = await engine.gates({ principal });
    await engine.approve(gate?.gate_id as string, { principal });
    expect(await idsOf(engine, { decidable: true })).toEqual([]);
  });

  it("pages by a cursor that new runs do not move, and counts", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const submit = async () => {
      stage.clock.advance(10);
      await (await engine.submit(plan("search"), { principal: botAgent, labels: ["l"] })).result();
    };
    for (let count = 0; count < 5; count += 1) await submit();
    const all = await idsOf(engine, {});
    const first = await engine.runs({ principal, limit: 2, label: "l", count: true });
    expect([first.map(({ run_id }) => run_id), first.count]).toEqual([all.slice(0, 2), 5]);
    await submit();
    const second = await engine.runs({ principal, limit: 2, label: "l", after: first.next as string });
    expect(second.map(({ run_id }) => run_id)).toEqual(all.slice(2, 4));
    const last = await engine.runs({ principal, limit: 2, label: "l", after: second.next as string });
    expect([last.map(({ run_id }) => run_id), last.next]).toEqual([all.slice(4), null]);
  });

  it("tells rejected runs from failed ones, also when it counts", async () => {
    const stage = newFixture();
    const broken = scriptedTool("break", () => Promise.reject(new Error("no")), { effect: "reads" });
    const engine = await stage.open({ tools: [broken.tool] });
    const run = await engine.submit(plan("break"), { principal: botAgent });
    await run.result();
    await rejectedFault(engine.submit(plan("unknown"), { principal: botAgent }));
    const failed = await engine.runs({ principal, status: "failed", count: true });
    expect([failed.map(({ run_id }) => run_id), failed.count]).toEqual([[run.run_id], 1]);
    const rejected = await engine.runs({ principal, status: "rejected", count: true });
    expect([rejected.length, rejected.count, rejected[0]?.status]).toEqual([1, 1, "rejected"]);
  });

  it("lists and counts neither runs of another tenant nor runs that the principal may not read", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const submit = async (who: object) =>
      (await engine.submit(plan("search"), { principal: { ...botAgent, ...who }, labels: ["l"] })).result();
    await submit({});
    await submit({ id: "rob" });
    await submit({ tenant: "globex" });
    const seen = async (who: typeof principal) => {
      const page = await engine.runs({ principal: who, label: "l", count: true });
      return [page.map((run) => run.principal).sort(), page.count];
    };
    expect(await seen(principal)).toEqual([["bot", "rob"], 2]);
    expect(await seen(botAgent)).toEqual([["bot"], 1]);
    expect(await seen({ ...principal, tenant: "globex" })).toEqual([["bot"], 1]);
    expect(await seen({ ...principal, capabilities: [{ state_reads: [] }] })).toEqual([[], 0]);
    expect((await engine.runs({ principal: botAgent, by: "rob" })).length).toBe(0);
  });

  it("shows the counts and the cost of now while this process executes the run, without writing them", async () => {
    const stage = newFixture();
    const paid = scriptedTool(
      "search",
      ({ context }) => {
        context.cost({ credits: 3 });
        return 1;
      },
      { effect: "reads" },
    );
    const { engine, run } = await openedChat(stage, [paid]);
    const before = await stage.store().row("acme" as never, "run", run.run_id);
    await run.callTool({ id: "1", tool: "search", input: {} });
    await run.callTool({ id: "2", tool: "search", input: {} });
    const [row] = await engine.runs({ principal });
    expect(row).toMatchObject({ status: "open", steps: 2, succeeded: 2, tools: ["search"], spent: { credits: 6 } });
    expect(await stage.store().row("acme" as never, "run", run.run_id)).toEqual(before);
    await run.release();
    const stored = await stage.store().row("acme" as never, "run", run.run_id);
    expect(JSON.parse(stored?.row ?? "")).toMatchObject({ steps: 2, spent: { credits: 6 }, tools: ["search"] });
    expect(await engine.audit({ principal })).toMatchObject({ broken: [], rows: [] });
  });

  it("refuses filters that cannot match", async () => {
    const engine = await newFixture().open({ tools: [] });
    for (const wrong of [
      { status: "wating" },
      { label: "" },
      { from: -1 },
      { to: Number.NaN },
      { count: 1 },
      { labels: ["x"] },
      { limit: 0 },
    ])
      expect((await rejectedFault(engine.runs({ principal, ...wrong } as never))).code).toBe("INVALID_INPUT");
    for (const wrong of [{ title: "" }, { title: "x".repeat(201) }, { labels: "x" }, { labels: [""] }])
      expect((await rejectedFault(engine.submit(plan("x"), { principal, ...wrong } as never))).code).toBe(
        "INVALID_INPUT",
      );
  });
});

describe.each(storeKinds)("the list of gates on $name", ({ newFixture }) => {
  it("finds gates by run, tool, project, requester and status, newest first", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [mailTool().tool, scriptedTool("fax", () => 1).tool], ...gated });
    const submit = async (name: string, more: object = {}) => {
      stage.clock.advance(10);
      const run = await engine.submit(plan(name), { principal: botAgent, ...more });
      await run.result();
      return run.run_id;
    };
    const a = await submit("mail", { project: "p" });
    const b = await submit("fax", { principal: { ...botAgent, id: "rob" } });
    const runsOf = async (filter: object) =>
      (await engine.gates({ principal, ...filter })).map(({ run_id }) => run_id as string);
    expect(await runsOf({})).toEqual([b, a]);
    expect(await runsOf({ tool: "mail" })).toEqual([a]);
    expect(await runsOf({ runId: b })).toEqual([b]);
    expect(await runsOf({ project: "p" })).toEqual([a]);
    expect(await runsOf({ by: "rob" })).toEqual([b]);
    expect((await engine.gates({ principal, count: true })).count).toBe(2);
    const [gate] = await engine.gates({ principal, tool: "mail" });
    await engine.reject(gate?.gate_id as string, { principal });
    expect(await runsOf({ status: "rejected" })).toEqual([a]);
    expect(await runsOf({})).toEqual([b]);
  });

  it("lists as decidable only what the principal can decide now", async () => {
    const stage = newFixture();
    const rules = [{ id: "two", kind: "approval", on: { tools: ["mail"] }, people: 2, role: "chief" }];
    const policies = [{ schema_version: "1.0", name: "p", scope: {}, rules }];
    const engine = await stage.open({ tools: [mailTool().tool], policies });
    await (await engine.submit(plan("mail"), { principal: botAgent })).result();
    const chief = { ...principal, roles: ["chief"] };
    const mine = async (who: typeof principal) => (await engine.gates({ principal: who, decidable: true })).length;
    expect([await mine(principal), await mine(chief), await mine(botAgent)]).toEqual([0, 1, 0]);
    const [gate] = await engine.gates({ principal });
    await engine.approve(gate?.gate_id as string, { principal: chief });
    expect([await mine(chief), await mine({ ...chief, id: "bo" })]).toEqual([0, 1]);
  });
});

describe.each(storeKinds)("the list of acts in doubt on $name", ({ newFixture }) => {
  it("shows an act with its call until it is settled", async () => {
    const stage = newFixture();
    const lost = scriptedTool("mail", () => Promise.reject(new Error("gone")));
    const engine = await stage.open({ tools: [lost.tool] });
    const run = await engine.submit(plan("mail"), { principal: botAgent, project: "p" });
    await run.result();
    const [doubt] = await engine.inDoubt({ principal });
    expect(doubt).toMatchObject({
      run_id: run.run_id,
      step_id: "a",
      tool: "mail",
      attempt: 1,
      requester: "bot",
      project: "p",
      waiting_for: "person",
      input: { q: "x" },
      fault: { code: "OUTCOME_UNKNOWN" },
    });
    const count = async (filter: object) => (await engine.inDoubt({ principal, count: true, ...filter })).count;
    expect([await count({ tool: "mail" }), await count({ tool: "fax" }), await count({ project: "q" })]).toEqual([
      1, 0, 0,
    ]);
    expect((await engine.runs({ principal, waitingFor: "resolution" })).length).toBe(1);
    expect((await engine.inDoubt({ principal: { ...botAgent, id: "rob" } })).length).toBe(0);
    await engine.resolve(run.run_id, "a", { principal, as: "happened" });
    expect([...(await engine.inDoubt({ principal }))]).toEqual([]);
    expect(await engine.audit({ principal })).toMatchObject({ broken: [], rows: [] });
  });

  it("says that a verifier looks again", async () => {
    const stage = newFixture();
    const verify = async () => ({ saw: "absent" }) as const;
    const lost = scriptedTool("mail", () => Promise.reject(new Error("gone")), { verify });
    const engine = await stage.open({ tools: [lost.tool] });
    await engine.submit(plan("mail"), { principal: botAgent });
    await stage.advance(10);
    expect((await engine.inDoubt({ principal, waitingFor: "verifier" })).length).toBe(1);
  });
});

describe.each(storeKinds)("the list of outcomes on $name", ({ newFixture }) => {
  it("finds outcomes by type, status, run and project, and shows an agent only its own", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const outcome = { type: "draft.page", status: "draft" };
    const run = await engine.submit(plan("search", { outcome }), { principal: botAgent, project: "p" });
    await run.result();
    const [found] = await engine.outcomes({ principal, type: "draft.page", status: "draft", project: "p" });
    expect(found).toMatchObject({ run_id: run.run_id, step_id: "a", requester: "bot", type: "draft.page" });
    expect((await engine.outcomes({ principal, type: "final" })).length).toBe(0);
    expect((await engine.outcomes({ principal: { ...botAgent, id: "rob" } })).length).toBe(0);
    expect((await engine.outcomes({ principal: botAgent, count: true })).count).toBe(1);
  });
});

describe.each(storeKinds)("the changes of runs on $name", ({ newFixture }) => {
  it("are hinted for writes of this process and of another, and not for those of other tenants", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const watcher = await stage.open({ tools: [], work: false });
    const end = new AbortController();
    const seen: RunChange[] = [];
    const watching = (async () => {
      for await (const change of watcher.changes({ principal, signal: end.signal })) seen.push(change);
    })();
    await stage.advance(2000);
    await (await engine.submit(plan("search"), { principal: { ...botAgent, tenant: "globex" } })).result();
    const run = await engine.submit(plan("search"), { principal: botAgent });
    await run.result();
    for (let second = 0; second < 4; second += 1) await stage.advance(1000);
    expect(new Set(seen.map(({ run_id }) => run_id))).toEqual(new Set([run.run_id]));
    expect(seen.at(-1)?.status).toBe("completed");
    end.abort();
    await stage.advance(1000);
    await watching;
  });

  it("are hinted at once after a rest, and later ones within a tenth of a second", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const end = new AbortController();
    const seen: RunChange[] = [];
    const watching = (async () => {
      for await (const change of engine.changes({ principal, signal: end.signal })) seen.push(change);
    })();
    await stage.advance(2000);
    for (const wait of [10, 100]) {
      const run = await engine.submit(plan("search"), { principal: botAgent });
      await run.result();
      await stage.advance(wait);
      expect(seen.at(-1)).toMatchObject({ run_id: run.run_id, status: "completed" });
    }
    end.abort();
    await stage.advance(1000);
    await watching;
  });
});

describe.each(storeKinds)("a reader of changes that is killed, on $name", ({ newFixture }) => {
  it("is hinted at least once at each run that changed while it was away", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const first = await engine.submit(plan("search"), { principal: botAgent });
    await first.result();
    const since = stage.clock.now();
    await stage.advance(600_000);
    const missed = await engine.submit(plan("search"), { principal: botAgent });
    await missed.result();
    const end = new AbortController();
    const seen: RunChange[] = [];
    const read = async (from: number) => {
      for await (const change of engine.changes({ principal, since: from, signal: end.signal })) seen.push(change);
    };
    const reading = read(since + 300_000);
    await stage.advance(2000);
    expect(seen).toMatchObject([{ run_id: missed.run_id, status: "completed" }]);
    end.abort();
    await stage.advance(1000);
    await reading;
    const all: string[] = [];
    for await (const { run_id } of engine.changes({ principal, since })) {
      all.push(run_id);
      if (all.length === 2) break;
    }
    expect(new Set(all)).toEqual(new Set([first.run_id, missed.run_id]));
  });

  it("is refused a time that is none", async () => {
    const engine = await newFixture().open({ tools: [] });
    const [first] = [engine.changes({ principal, since: Number.NaN })[Symbol.asyncIterator]()];
    await expect(first?.next()).rejects.toThrow(/since/);
  });
});

describe("rows that an older version wrote", () => {
  it("are folded again by a worker: lists find them, and the audit agrees", async () => {
    const stage = sqliteFileFixture();
    const engine = await stage.open({ tools: [searchTool().tool] });
    const run = await engine.submit(plan("search"), { principal: botAgent, project: "p", labels: ["l"] });
    await run.result();
    await engine.close();
    await stage.sql(
      "update run set row = json_remove(row, '$.project', '$.labels', '$.tools', '$.steps', '$.succeeded', '$.done', '$.updated_at')",
    );
    await stage.sql("delete from tag where tag like 'project=%' or tag like 'labels=%' or tag like 'tools=%'");
    await stage.sql("insert into outdated select tenant, key from run");
    const worker = await stage.open({ tools: [] });
    await stage.advance(2000);
    expect(await idsOf(worker, { project: "p", label: "l", tool: "search" })).toEqual([run.run_id]);
    expect(await worker.audit({ principal })).toMatchObject({ broken: [], rows: [] });
    expect(await stage.sql("select count(*) as left from outdated")).toMatchObject([{ left: 0 }]);
  });
});
