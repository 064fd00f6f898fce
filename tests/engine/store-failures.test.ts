import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import type { Tenant } from "../../src/core/values/ids.ts";
import { connectSqlite } from "../../src/store/sqlite/sqlite-driver.ts";
import { anaPerson, botAgent, sqliteFileFixture, storeKinds } from "./engine-fixture.ts";
import { collectEvents, collectJournal, deferred, scriptedTool } from "./scripted-tool.ts";

const one = (name: string) => ({ steps: [{ step_id: "a", name }] });

/** A store that takes nothing while it is full. */
function filling(store: Store): { readonly store: Store; full: boolean } {
  const disk = {
    full: false,
    store: {
      ...store,
      append: (entries: Parameters<Store["append"]>[0]) =>
        disk.full ? Promise.reject(new FaultError(fault("STORE_FULL", "no room left"))) : store.append(entries),
    },
  };
  return disk;
}

describe.each(storeKinds)("store that fails before an outcome is recorded, on $name", ({ newFixture: newStage }) => {
  it("is reported to callers, and the outcome lands when there is space again", async () => {
    const stage = newStage();
    const disk = filling(stage.store());
    const send = scriptedTool("send", () => {
      disk.full = true;
      return { id: 1 };
    });
    const engine = await stage.open({ tools: [send.tool], store: disk.store });
    const run = await engine.submit(one("send"), { principal: botAgent });
    await expect(run.result()).rejects.toMatchObject({ fault: { code: "STORE_FULL" } });
    disk.full = false;
    await stage.advance(2000);
    expect((await run.result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("prevents an act that it cannot record, and admits it when it can", async () => {
    const stage = newStage();
    const disk = filling(stage.store());
    const send = scriptedTool("send", () => ({ id: 1 }));
    const engine = await stage.open({ tools: [send.tool], store: disk.store });
    const waiting = { step_id: "w", kind: "wait", payload: { ms: 1000 } };
    const steps = [waiting, { step_id: "a", name: "send", depends_on: ["w"] }];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await run.result();
    disk.full = true;
    await stage.advance(5000);
    expect(send.calls).toEqual([]);
    disk.full = false;
    await stage.advance(60_000);
    expect((await run.result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("does not prevent closing; the next engine records in doubt", async () => {
    const stage = newStage();
    const disk = filling(stage.store());
    const send = scriptedTool("send", () => {
      disk.full = true;
      return { id: 1 };
    });
    const engine = await stage.open({ tools: [send.tool], store: disk.store });
    const run = await engine.submit(one("send"), { principal: botAgent });
    await expect(run.result()).rejects.toMatchObject({ fault: { code: "STORE_FULL" } });
    await engine.close();
    await stage.crash();
    const next = await stage.open({ tools: [send.tool] });
    expect((await (await next.run(run.run_id, { principal: anaPerson })).result()).steps.a?.state).toBe("in_doubt");
    expect(send.calls).toHaveLength(1);
  });

  it("keeps no claim on a run that it could not accept", async () => {
    const stage = newStage();
    const disk = filling(stage.store());
    const engine = await stage.open({ tools: [scriptedTool("send", () => 1).tool], store: disk.store });
    disk.full = true;
    await expect(engine.submit(one("send"), { principal: botAgent })).rejects.toMatchObject({
      fault: { code: "STORE_FULL" },
    });
    await stage.advance(1000);
    expect(await stage.store().holdings("acme" as Tenant, "", 9)).toEqual([]);
  });
});

/** A store that takes the next append and loses its answer, and is away when it is asked again; for reading until one more append. */
function faltering(store: Store): { readonly store: Store; falters(): number } {
  const next: ("loses" | "is away" | "is back")[] = [];
  const away = () => new FaultError(fault("STORE_FAILED", "nobody is there"));
  return {
    falters: () => next.push("loses", "is away", "is back"),
    store: {
      ...store,
      append: async (entries) => {
        const now = next.shift();
        if (now === "is away") throw away();
        const landings = await store.append(entries);
        if (now === "loses") throw new FaultError(fault("STORE_UNKNOWN", "the line is dead"));
        return landings;
      },
      head: (tenant, run) => (next.length > 0 ? Promise.reject(away()) : store.head(tenant, run)),
    },
  };
}

const whole = ["run.accepted", "step.succeeded", "step.succeeded", "run.ended"];

describe.each(storeKinds)(
  "store that loses an answer and is down at the retry, on $name",
  ({ newFixture: newStage }) => {
    it("has the outcome of one step and receives that of the other", async () => {
      const stage = newStage();
      const disk = faltering(stage.store());
      const other = deferred<number>();
      const look = scriptedTool("look", disk.falters, { effect: "reads" });
      const note = scriptedTool("note", () => other.promise, { effect: "reads" });
      const engine = await stage.open({ tools: [look.tool, note.tool], store: disk.store });
      const steps = [
        { step_id: "a", name: "look" },
        { step_id: "b", name: "note" },
      ];
      const run = await engine.submit({ steps }, { principal: botAgent });
      await stage.advance(0);
      other.keep(2);
      await stage.advance(5000);
      expect((await run.result()).status).toBe("completed");
      expect((await collectJournal(run)).map(({ type }) => type)).toEqual(whole);
      expect(note.calls).toHaveLength(1);
    });

    it("does not tell the caller that nothing was written", async () => {
      const stage = newStage();
      const disk = faltering(stage.store());
      const engine = await stage.open({ tools: [scriptedTool("send", () => 1).tool], store: disk.store });
      disk.falters();
      const submitting = engine.submit(one("send"), { principal: botAgent });
      const told = expect(submitting).rejects.toMatchObject({ fault: { code: "STORE_UNKNOWN" } });
      await stage.advance(1000);
      await told;
    });
  },
);

/** A store that has lost the last event of the run, once; that it is there after all only spares us to take it away. */
function forgetting(store: Store): { readonly store: Store; loses: boolean } {
  const disk = {
    loses: false,
    store: {
      ...store,
      append: async (entries: Parameters<Store["append"]>[0]): ReturnType<Store["append"]> => {
        const [position = 0] = entries.map(({ expect }) => expect.position);
        if (!disk.loses) return store.append(entries);
        disk.loses = false;
        return [{ landed: false, why: "position", position: position - 1, hash: null }];
      },
    },
  };
  return disk;
}

describe.each(storeKinds)("store that crashed under a live worker, on $name", ({ newFixture: newStage }) => {
  const steps = [
    { step_id: "a", name: "look" },
    { step_id: "b", name: "note", depends_on: ["a"] },
  ];

  it("has lost unsynced events, and the run continues from the remaining ones", async () => {
    const stage = newStage();
    const disk = forgetting(stage.store());
    const look = scriptedTool("look", () => 1, { effect: "reads" });
    const note = scriptedTool("note", [() => (disk.loses = true), () => 2], { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool, note.tool], store: disk.store });
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.advance(60_000);
    expect((await run.result()).status).toBe("completed");
    expect(note.calls).toHaveLength(2);
  });

  it("has lost synced events: the journal is broken, and nothing continues", async () => {
    const stage = newStage();
    const disk = forgetting(stage.store());
    const send = scriptedTool("send", () => (disk.loses = true));
    const engine = await stage.open({ tools: [send.tool], store: disk.store });
    const run = await engine.submit(one("send"), { principal: botAgent });
    await expect(run.result()).rejects.toMatchObject({ fault: { code: "CHAIN_BROKEN" } });
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("following an ended run, on $name", ({ newFixture: newStage }) => {
  it("ends at once, from any position", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [scriptedTool("send", () => ({})).tool] });
    const run = await engine.submit(one("send"), { principal: botAgent });
    await run.finished();
    const seen: string[] = [];
    for await (const { event } of run.events({ after: 99, follow: true })) seen.push(event.type);
    expect(seen).toEqual([]);
  });
});

describe.each(storeKinds)("run parked for its tool, on $name", ({ newFixture: newStage }) => {
  it("continues by itself as soon as a worker has the tool", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => ({}));
    const other = scriptedTool("other", () => ({}));
    const plan = {
      steps: [
        { step_id: "pause", kind: "wait", payload: { ms: 1000 } },
        { step_id: "a", name: "send", depends_on: ["pause"] },
      ],
    };
    const first = await stage.open({ tools: [send.tool] });
    const { run_id } = await first.submit(plan, { principal: botAgent });
    await stage.crash();
    const without = await stage.open({ tools: [other.tool] });
    await stage.advance(5000);
    expect((await (await without.run(run_id, { principal: anaPerson })).result()).blocked_on).toMatchObject([
      { reason_code: "TOOL_MISSING" },
    ]);
    await stage.crash();
    const back = await stage.open({ tools: [send.tool] });
    const run = await back.run(run_id, { principal: anaPerson });
    await stage.advance(5000);
    expect((await run.result()).status).toBe("completed");
    expect(await collectEvents(run, "step.parked")).toHaveLength(2);
  });
});

describe.each(storeKinds)("attempt count, on $name", ({ newFixture: newStage }) => {
  it("counts each attempt once, whether its start or only its end is recorded", async () => {
    const stage = newStage();
    const engine = await stage.open({
      tools: [scriptedTool("send", () => ({})).tool, scriptedTool("look", () => ({}), { effect: "reads" }).tool],
    });
    const plan = {
      steps: [
        { step_id: "b", name: "look" },
        { step_id: "a", name: "send", depends_on: ["b"] },
      ],
    };
    const run = await engine.submit(plan, { principal: botAgent });
    expect((await run.finished()).spent.attempts).toBe(2);
  });
});

describe("journal without its last event", () => {
  it("is reported as broken by the next append", async () => {
    const stage = sqliteFileFixture();
    const engine = await stage.open({ tools: [scriptedTool("send", () => ({})).tool], tenants: {} });
    const run = await engine.submit(one("send"), { principal: botAgent });
    await run.result();
    await engine.close();
    const db = connectSqlite(stage.file);
    db.exec("delete from event where position = (select max(position) from event)");
    db.close();
    const next = await stage.open({ tools: [], work: false });
    const again = await next.run(run.run_id, { principal: anaPerson });
    await expect(again.cancel()).rejects.toMatchObject({ fault: { code: "CHAIN_BROKEN" } });
  });
});
