import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Timers } from "../../../src/core/ports/clock.ts";
import type { Claim, Store } from "../../../src/core/store/store.ts";
import { FaultError, fault } from "../../../src/core/values/fault.ts";
import type { Instant, RunId, Tenant, WorkerId } from "../../../src/core/values/ids.ts";
import { createEngine } from "../../../src/engine/engine.ts";
import { WorkerLeases } from "../../../src/engine/worker/worker-leases.ts";
import { memoryStore } from "../../../src/store/memory/memory-store.ts";
import { postgres } from "../../../src/store/postgres/postgres-store.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite-store.ts";
import { fakeClock } from "../../../src/testing/fake-clock.ts";
import { manualTimers } from "../../../src/testing/manual-timers.ts";
import { testDatabase } from "../../store/postgres/test-database.ts";
import { botAgent } from "../engine-fixture.ts";
import { collectJournal, neverAnswers, rejectedFault, scriptedTool } from "../scripted-tool.ts";

const made = testDatabase();

/** The timers of a dead process. */
const dead: Timers = { after: () => () => {} };

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-leases-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "writ.db");
}

const stores: readonly { readonly name: string; open(leaseMs?: number): Promise<Store> }[] = [
  { name: "memory", open: async (leaseMs) => memoryStore(leaseMs === undefined ? {} : { leaseMs }) },
  { name: "SQLite", open: async (leaseMs) => openSqlite(file(), leaseMs === undefined ? {} : { leaseMs }) },
  { name: "Postgres", open: (leaseMs) => postgres(made.url, leaseMs === undefined ? {} : { leaseMs }) },
];

describe.each(stores)("lease, on $name", ({ open }) => {
  it("lasts 15 seconds by default, or as long as configured", async () => {
    const [usual, short] = [await open(), await open(1000)];
    onTestFinished(async () => void (await Promise.all([usual.close(), short.close()])));
    expect([usual.leaseMs, short.leaseMs]).toEqual([15_000, 1000]);
  });

  it.each([0, 999, 1000.5, 3_600_001, Number.NaN])("refuses %s ms and names the allowed range", async (leaseMs) => {
    const { code, message } = await rejectedFault(open(leaseMs));
    expect({ code, message }).toEqual({
      code: "CONFIG_INVALID",
      message: "the store was not opened: leaseMs must be a whole number of milliseconds, 1000 to 3600000",
    });
  });
});

describe.each([1000, 15_000])("runs under a lease of %s ms", (leaseMs) => {
  const setting = async (timersOfFirst: "dead" | "alive") => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const store = memoryStore({ clock, leaseMs });
    const look = scriptedTool("look", neverAnswers, { effect: "reads", timeoutMs: 3_600_000 });
    const options = { store, dice: () => 0.999, tools: [look.tool] };
    const first = await createEngine({ ...options, timers: timersOfFirst === "dead" ? dead : timers });
    await first.submit({ steps: [{ step_id: "look", name: "look" }] }, { principal: botAgent });
    await createEngine({ ...options, timers });
    return { timers, calls: look.calls };
  };

  it("are taken over within two seconds after the lease of a dead worker ends, and not before", async () => {
    const { timers, calls } = await setting("dead");
    await timers.pass(leaseMs - 1);
    expect(calls).toHaveLength(1);
    await timers.pass(2001);
    expect(calls).toHaveLength(2);
  });

  it("stay with a live worker", async () => {
    const { timers, calls } = await setting("alive");
    await timers.pass(leaseMs * 10);
    expect(calls).toHaveLength(1);
  });
});

describe("worker whose clock is set", () => {
  it.each([3_600_000, -3_600_000])("by %s ms still renews its leases in time", async (ms) => {
    const leaseMs = 15_000;
    const clock = fakeClock();
    const timers = manualTimers(clock);
    let jump = 0;
    const store = memoryStore({ clock, leaseMs });
    const renew = vi.spyOn(store, "renew");
    const look = scriptedTool("look", neverAnswers, { effect: "reads", timeoutMs: 86_400_000 });
    const engine = await createEngine({
      store,
      timers,
      tools: [look.tool],
      clock: { now: () => (clock.now() + jump) as Instant },
    });
    await engine.submit({ steps: [{ step_id: "look", name: "look" }] }, { principal: botAgent });
    await timers.pass(leaseMs);
    jump = ms;
    renew.mockClear();
    await timers.pass(leaseMs);
    expect(renew.mock.calls.length).toBeGreaterThanOrEqual(2);
  });
});

describe("worker paused for more than half of its lease", () => {
  const leaseMs = 15_000;

  /** Two steps set out together; while the first is called, nothing else in the process moves, for so long. */
  const stall = async (stillMs: number, meanwhile: (store: Store, run: RunId) => void, effect: "reads" | "acts") => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const told: string[] = [];
    const memory = memoryStore({ clock, leaseMs });
    const store: Store = {
      ...memory,
      renew: async (worker, claims) => {
        if (claims.length > 0) told.push("renewed");
        return refused.length > 0 ? Promise.reject(refused.shift()) : memory.renew(worker, claims);
      },
    };
    const refused: unknown[] = [];
    const still = scriptedTool(
      "still",
      ({ context }) => {
        told.push("still");
        clock.advance(stillMs);
        meanwhile(store, context.run_id);
        return new Promise((_, reject) => context.signal.addEventListener("abort", () => reject(new Error("aborted"))));
      },
      { effect: "reads", timeoutMs: 3_600_000 },
    );
    const next = scriptedTool("next", () => void told.push("next"), { effect });
    const tools = [still.tool, next.tool];
    const stopwatch = () => clock.now();
    const tenants = { acme: { mode: "auto_exec" } } as const;
    const engine = await createEngine({ store, timers, stopwatch, dice: () => 0.5, tools, tenants });
    const steps = [
      { step_id: "a", name: "still" },
      { step_id: "b", name: "next" },
    ];
    return { engine, steps, timers, told, refused, still, memory };
  };
  const take = (store: Store, run: RunId) => void store.claim("other" as WorkerId, "acme" as Tenant, run);
  const nothing = () => {};

  it.each(["reads", "acts"] as const)(
    "calls no tool that %s when another worker has the run, and aborts its running calls",
    async (effect) => {
      const { engine, steps, timers, told, still } = await stall(leaseMs, take, effect);
      await engine.submit({ steps }, { principal: botAgent });
      await timers.pass(1000);
      expect(told.filter((word) => word !== "renewed")).toEqual(["still"]);
      expect(still.calls[0]?.context.signal.aborted).toBe(true);
    },
  );

  it("writes nothing more under its epoch", async () => {
    const { engine, steps, timers, memory } = await stall(leaseMs, take, "reads");
    const { run_id } = await engine.submit({ steps }, { principal: botAgent });
    await timers.pass(10_000);
    expect((await memory.events("acme" as Tenant, run_id, 0)).map(({ type }) => type)).toEqual(["run.accepted"]);
  });

  it("renews before it calls a tool if no other worker has the run", async () => {
    const { engine, steps, timers, told } = await stall(leaseMs / 2 + 1, nothing, "reads");
    await engine.submit({ steps }, { principal: botAgent });
    await timers.pass(100);
    expect(told.slice(0, 3)).toEqual(["still", "renewed", "next"]);
  });

  it("calls at once after a shorter pause", async () => {
    const { engine, steps, timers, told } = await stall(leaseMs / 2, nothing, "reads");
    await engine.submit({ steps }, { principal: botAgent });
    await timers.pass(0);
    expect(told.slice(0, 2)).toEqual(["still", "next"]);
  });

  it("calls no tool while the store cannot confirm the lease, and retries later", async () => {
    const { engine, steps, timers, told, refused } = await stall(leaseMs, nothing, "acts");
    refused.push(new FaultError(fault("STORE_FAILED", "gone fishing")));
    await engine.submit({ steps }, { principal: botAgent });
    await timers.pass(60_000);
    expect(told.slice(0, 2)).toEqual(["still", "renewed"]);
    expect(told.filter((word) => word === "next")).toHaveLength(1);
  });

  it("does not record a failure for a call that was neither recorded nor made", async () => {
    const { engine, steps, timers, told, refused, memory } = await stall(leaseMs, nothing, "reads");
    refused.push(new FaultError(fault("STORE_FAILED", "gone fishing")));
    const { run_id } = await engine.submit({ steps }, { principal: botAgent });
    await timers.pass(2 * 3_600_000);
    expect(told).toContain("next");
    const events = await memory.events("acme" as Tenant, run_id, 0);
    expect(events.map(({ body }) => body).join()).not.toContain("DEPENDENCY_UNAVAILABLE");
  });
});

describe("lease check", () => {
  it("covers every run of the worker, so that a store that renews by itself keeps the others", async () => {
    let now = 0;
    const memory = memoryStore();
    const asked: (readonly RunId[])[] = [];
    const renew: Store["renew"] = (worker, claims) => {
      asked.push(claims.map(({ run }) => run));
      return memory.renew(worker, claims);
    };
    const leases = new WorkerLeases({ ...memory, renew }, "ana" as WorkerId, () => now, {});
    const claimOf = async (run: string) => (await leases.claim("acme" as Tenant, run as RunId)) as Claim;
    const [one, two] = [await claimOf("one"), await claimOf("two")];
    await leases.renew([one, two]);
    const late = await claimOf("late");
    now += 8000;
    await memory.claim("ana" as WorkerId, two.tenant, two.run); // From now on that one is lost.
    expect([await leases.confirm(one), await leases.confirm(late), await leases.confirm(two)]).toEqual([
      true,
      true,
      false,
    ]);
    expect(asked.slice(1)).toEqual([
      ["one", "two"],
      ["one", "two", "late"],
      ["one", "two"],
    ]);
  });
});

describe("changed wall clock", () => {
  it("neither loses a run on Postgres nor ends one early", async () => {
    const days = [-1, 1, -20_000, 20_000, 0].map((day) => day * 86_400_000);
    const now = vi.spyOn(Date, "now").mockImplementation(() => {
      const day = days.shift() ?? 0;
      days.push(day);
      return 1_700_000_000_000 + day;
    });
    onTestFinished(() => now.mockRestore());
    const look = scriptedTool("look", () => ({}), { effect: "reads" });
    const open = () => createEngine({ store: postgres(made.url, { leaseMs: 1000 }), tools: [look.tool] });
    const [one, two] = [await open(), await open()];
    onTestFinished(async () => void (await Promise.all([one.close(), two.close()])));
    const ids = ["a", "b", "c", "d", "e", "f"]; // Together longer than a lease.
    const steps = ids.flatMap((step_id, index) => [
      { step_id, kind: "wait", payload: { ms: 200 }, depends_on: index === 0 ? [] : [`${ids[index - 1]}2`] },
      { step_id: `${step_id}2`, name: "look", depends_on: [step_id] },
    ]);
    const run = await one.submit({ steps }, { principal: botAgent });
    expect((await run.finished()).status).toBe("completed");
    expect(look.calls).toHaveLength(ids.length);
  });
});

describe("machines with wall clocks hours apart", () => {
  it("agree on Postgres on every time: only the server's clock counts", async () => {
    await made.empty();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    onTestFinished(() => void vi.useRealTimers());
    const serverNow = async () => Number((await made.query<[string]>("select writ.now_ms()"))[0]?.[0]);
    const began = await serverNow();
    const hours = (count: number) => vi.setSystemTime(began + count * 3_600_000);
    const send = scriptedTool("send", () => ({}));
    const store = () => postgres(made.url);
    const open = () => createEngine({ store: store(), tools: [send.tool], limits: { gateMs: 1_800_000 } });
    hours(6);
    const ahead = await open();
    const steps = [
      { step_id: "w", kind: "wait", payload: { ms: 300 } },
      { step_id: "a", name: "send", depends_on: ["w"] },
    ];
    const run = await ahead.submit({ steps }, { principal: botAgent });
    for (let held = await run.result(); held.gates.length === 0; ) held = await run.result();
    hours(-6);
    const behind = await open();
    onTestFinished(async () => void (await Promise.all([ahead.close(), behind.close()])));
    const [gate] = (await (await behind.run(run.run_id, { principal: botAgent })).result()).gates;
    await behind.approve(gate?.gate_id ?? "", { principal: { ...botAgent, id: "ana", kind: "person" } });
    expect((await run.finished()).status).toBe("completed");
    const events = await collectJournal(run);
    const ended = await serverNow();
    expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).toSorted((left, right) => left - right));
    for (const { at, type } of events)
      expect([type, at >= began - 1000, at <= ended + 1000]).toEqual([type, true, true]);
    const waited = events.find(({ type }) => type === "step.succeeded")?.at ?? 0;
    expect(waited - (events[0]?.at ?? 0)).toBeGreaterThanOrEqual(300);
    expect(send.calls).toHaveLength(1);
  });
});
