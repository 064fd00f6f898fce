import { describe, expect, it } from "vitest";
import { FaultError, fault } from "../../src/core/fault.ts";
import type { Tenant } from "../../src/core/id.ts";
import type { Store } from "../../src/core/store.ts";
import { connect } from "../../src/store/sqlite/driver.ts";
import { actor, eventsOf, journalOf, promised } from "./cast.ts";
import { ana, bot, fileStage, places } from "./stage.ts";

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

describe.each(places)("a store that fails with an outcome in hand, on $name", ({ newStage }) => {
  it("is told to whoever waits, and the outcome lands when there is room again", async () => {
    const stage = newStage();
    const disk = filling(stage.store());
    const send = actor("send", () => {
      disk.full = true;
      return { id: 1 };
    });
    const engine = await stage.open({ tools: [send.tool], store: disk.store });
    const run = await engine.submit(one("send"), { principal: bot });
    await expect(run.result()).rejects.toMatchObject({ fault: { code: "STORE_FULL" } });
    disk.full = false;
    await stage.pass(2000);
    expect((await run.result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("keeps an act from starting that it cannot record, and lets it go when it can", async () => {
    const stage = newStage();
    const disk = filling(stage.store());
    const send = actor("send", () => ({ id: 1 }));
    const engine = await stage.open({ tools: [send.tool], store: disk.store });
    const waiting = { step_id: "w", kind: "wait", payload: { ms: 1000 } };
    const steps = [waiting, { step_id: "a", name: "send", depends_on: ["w"] }];
    const run = await engine.submit({ steps }, { principal: bot });
    await run.result();
    disk.full = true;
    await stage.pass(5000);
    expect(send.calls).toEqual([]);
    disk.full = false;
    await stage.pass(60_000);
    expect((await run.result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("does not keep the engine from closing; the next one says in doubt", async () => {
    const stage = newStage();
    const disk = filling(stage.store());
    const send = actor("send", () => {
      disk.full = true;
      return { id: 1 };
    });
    const engine = await stage.open({ tools: [send.tool], store: disk.store });
    const run = await engine.submit(one("send"), { principal: bot });
    await expect(run.result()).rejects.toMatchObject({ fault: { code: "STORE_FULL" } });
    await engine.close();
    await stage.crash();
    const next = await stage.open({ tools: [send.tool] });
    expect((await (await next.run(run.run_id, { principal: ana })).result()).steps.a?.state).toBe("in_doubt");
    expect(send.calls).toHaveLength(1);
  });

  it("keeps no claim on a run that it could not accept", async () => {
    const stage = newStage();
    const disk = filling(stage.store());
    const engine = await stage.open({ tools: [actor("send", () => 1).tool], store: disk.store });
    disk.full = true;
    await expect(engine.submit(one("send"), { principal: bot })).rejects.toMatchObject({
      fault: { code: "STORE_FULL" },
    });
    await stage.pass(1000);
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

describe.each(places)("a store that loses an answer and is away when it is asked again, on $name", ({ newStage }) => {
  it("has the outcome of one step, and is given that of the other, which came meanwhile", async () => {
    const stage = newStage();
    const disk = faltering(stage.store());
    const other = promised<number>();
    const look = actor("look", disk.falters, { effect: "reads" });
    const note = actor("note", () => other.promise, { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool, note.tool], store: disk.store });
    const steps = [
      { step_id: "a", name: "look" },
      { step_id: "b", name: "note" },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    await stage.pass(0);
    other.keep(2);
    await stage.pass(5000);
    expect((await run.result()).status).toBe("completed");
    expect((await journalOf(run)).map(({ type }) => type)).toEqual(whole);
    expect(note.calls).toHaveLength(1);
  });

  it("does not say to who asked that nothing was written", async () => {
    const stage = newStage();
    const disk = faltering(stage.store());
    const engine = await stage.open({ tools: [actor("send", () => 1).tool], store: disk.store });
    disk.falters();
    const submitting = engine.submit(one("send"), { principal: bot });
    const told = expect(submitting).rejects.toMatchObject({ fault: { code: "STORE_UNKNOWN" } });
    await stage.pass(1000);
    await told;
  });
});

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

describe.each(places)("a store that crashed under a living worker, on $name", ({ newStage }) => {
  const steps = [
    { step_id: "a", name: "look" },
    { step_id: "b", name: "note", depends_on: ["a"] },
  ];

  it("has lost what was not synced, and the run goes on from what is there", async () => {
    const stage = newStage();
    const disk = forgetting(stage.store());
    const look = actor("look", () => 1, { effect: "reads" });
    const note = actor("note", [() => (disk.loses = true), () => 2], { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool, note.tool], store: disk.store });
    const run = await engine.submit({ steps }, { principal: bot });
    await stage.pass(60_000);
    expect((await run.result()).status).toBe("completed");
    expect(note.calls).toHaveLength(2);
  });

  it("has not lost what was synced: then the journal is broken, and nothing goes on", async () => {
    const stage = newStage();
    const disk = forgetting(stage.store());
    const send = actor("send", () => (disk.loses = true));
    const engine = await stage.open({ tools: [send.tool], store: disk.store });
    const run = await engine.submit(one("send"), { principal: bot });
    await expect(run.result()).rejects.toMatchObject({ fault: { code: "CHAIN_BROKEN" } });
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(places)("following a run, on $name", ({ newStage }) => {
  it("ends at once when it has ended, wherever one begins to read", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [actor("send", () => ({})).tool] });
    const run = await engine.submit(one("send"), { principal: bot });
    await run.finished();
    const seen: string[] = [];
    for await (const { event } of run.events({ after: 99, follow: true })) seen.push(event.type);
    expect(seen).toEqual([]);
  });
});

describe.each(places)("a run parked for its tool, on $name", ({ newStage }) => {
  it("goes on by itself as soon as a worker has the tool", async () => {
    const stage = newStage();
    const send = actor("send", () => ({}));
    const other = actor("other", () => ({}));
    const plan = {
      steps: [
        { step_id: "pause", kind: "wait", payload: { ms: 1000 } },
        { step_id: "a", name: "send", depends_on: ["pause"] },
      ],
    };
    const first = await stage.open({ tools: [send.tool] });
    const { run_id } = await first.submit(plan, { principal: bot });
    await stage.crash();
    const without = await stage.open({ tools: [other.tool] });
    await stage.pass(5000);
    expect((await (await without.run(run_id, { principal: ana })).result()).blocked_on).toMatchObject([
      { reason_code: "TOOL_MISSING" },
    ]);
    await stage.crash();
    const back = await stage.open({ tools: [send.tool] });
    const run = await back.run(run_id, { principal: ana });
    await stage.pass(5000);
    expect((await run.result()).status).toBe("completed");
    expect(await eventsOf(run, "step.parked")).toHaveLength(2);
  });
});

describe.each(places)("counting attempts, on $name", ({ newStage }) => {
  it("counts each once, whether its start is on record or only its end", async () => {
    const stage = newStage();
    const engine = await stage.open({
      tools: [actor("send", () => ({})).tool, actor("look", () => ({}), { effect: "reads" }).tool],
    });
    const plan = {
      steps: [
        { step_id: "b", name: "look" },
        { step_id: "a", name: "send", depends_on: ["b"] },
      ],
    };
    const run = await engine.submit(plan, { principal: bot });
    expect((await run.finished()).spent.attempts).toBe(2);
  });
});

describe("a journal whose last event is gone, though its head remembers it", () => {
  it("is called broken by whoever wants to add to it", async () => {
    const stage = fileStage();
    const engine = await stage.open({ tools: [actor("send", () => ({})).tool], tenants: {} });
    const run = await engine.submit(one("send"), { principal: bot });
    await run.result();
    await engine.close();
    const db = connect(stage.file);
    db.exec("delete from event where position = (select max(position) from event)");
    db.close();
    const next = await stage.open({ tools: [], work: false });
    const again = await next.run(run.run_id, { principal: ana });
    await expect(again.cancel()).rejects.toMatchObject({ fault: { code: "CHAIN_BROKEN" } });
  });
});
