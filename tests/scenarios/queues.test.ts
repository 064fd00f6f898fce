import { describe, expect, it } from "vitest";
import type { ClaimTerms, Store } from "../../src/core/store.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { fakeClock } from "../../src/testing/clock.ts";
import { manualTimers } from "../../src/testing/timers.ts";
import { actor, eventsOf, faultOf, promised } from "./cast.ts";
import { bot, places } from "./stage.ts";

const one = { steps: [{ step_id: "a", name: "send" }] };

/** Calls that end when the story says so, in the order they were made. */
function slow() {
  const ends: (() => void)[] = [];
  const send = actor("send", () => {
    const { promise, keep } = promised<object>();
    ends.push(() => keep({}));
    return promise;
  });
  return { ...send, end: () => ends.shift()?.() };
}

describe.each(places)("queues, on $name", ({ newStage }) => {
  it("are served by workers that serve them, and a run's queue and priority are on record", async () => {
    const stage = newStage();
    const send = actor("send", () => ({}));
    const engine = await stage.open({ tools: [send.tool], worker: { queues: ["mail"] } });
    const other = await engine.submit(one, { principal: bot, queue: "print", priority: 7 });
    const plain = await engine.submit(one, { principal: bot });
    const mail = await engine.submit(one, { principal: bot, queue: "mail" });
    await stage.pass(5000);
    const now = [await other.now(), await plain.now(), await mail.now()];
    expect(now.map(({ final }) => final)).toEqual([false, false, true]);
    const accepted = await Promise.all([other, plain].map((run) => eventsOf(run, "run.accepted")));
    expect(accepted.flat().map(({ queue, priority }) => ({ queue, priority }))).toEqual([
      { queue: "print", priority: 7 },
      { queue: undefined, priority: undefined },
    ]);
    await stage.crash();
    await stage.open({ tools: [send.tool], worker: { queues: ["print"] } });
    await stage.pass(5000);
    expect(send.calls.map(({ context }) => context.run_id)).toEqual([mail.run_id, other.run_id]);
    await stage.crash();
    await stage.open({ tools: [send.tool] });
    await stage.pass(5000);
    expect(send.calls.at(-1)?.context.run_id).toBe(plain.run_id);
  });

  it("have no more runs under way than their limit, and go on when one has ended", async () => {
    const stage = newStage();
    const send = slow();
    const engine = await stage.open({ tools: [send.tool], worker: { perQueue: { mail: 2 } } });
    for (const _ of [1, 2, 3, 4, 5]) await engine.submit(one, { principal: bot, queue: "mail" });
    await stage.pass(5000);
    expect(send.calls).toHaveLength(2);
    send.end();
    await stage.pass(0);
    expect(send.calls).toHaveLength(3);
    send.end();
    send.end();
    await stage.pass(0);
    expect(send.calls).toHaveLength(5);
  });

  it("are shared by tenants in turn, with a limit for each, by priority", async () => {
    const stage = newStage();
    const send = slow();
    const tenants = { acme: { mode: "auto_exec" }, globex: { mode: "auto_exec" } } as const;
    const orders = await stage.open({ tools: [send.tool], tenants, work: false });
    for (const priority of [1, 2, 3, 4, 5]) await orders.submit(one, { principal: bot, priority });
    const last = await orders.submit(one, { principal: { ...bot, tenant: "globex" } });
    await stage.open({ tools: [send.tool], tenants, worker: { perTenant: 2 } });
    await stage.pass(5000);
    expect(send.calls).toHaveLength(3);
    expect(send.calls.map(({ context }) => context.run_id)).toContain(last.run_id);
  });

  it("wait for whoever may take them, without looking all the time", async () => {
    const stage = newStage();
    const send = slow();
    const engine = await stage.open({ tools: [send.tool], worker: { perQueue: { default: 1 } } });
    await engine.submit(one, { principal: bot });
    await stage.pass(1000);
    const second = (await engine.submit(one, { principal: bot })).result();
    await stage.pass(3000);
    expect(send.calls).toHaveLength(1);
    send.end();
    await stage.pass(0);
    send.end();
    await stage.pass(0);
    expect((await second).status).toBe("completed");
  });

  it("show whose hands their runs are in, to their tenant", async () => {
    const stage = newStage();
    const send = slow();
    const engine = await stage.open({ tools: [send.tool] });
    const since = stage.clock.now();
    const runs = [
      await engine.submit(one, { principal: bot, queue: "mail" }),
      await engine.submit(one, { principal: bot }),
    ];
    await stage.pass(0);
    const held = runs.map(({ run_id }, at) => ({
      run_id,
      queue: ["mail", "default"][at],
      since,
      until: since + 15_000,
    }));
    held.sort((left, right) => (left.run_id < right.run_id ? -1 : 1)); // Ids of one moment are in no order.
    expect(await engine.workers({ principal: bot })).toEqual([{ worker: expect.stringMatching(/^wrk_/), runs: held }]);
    expect(await engine.workers({ principal: { ...bot, tenant: "globex" } })).toEqual([]);
    send.end();
    send.end();
    await stage.pass(0);
    expect(await engine.workers({ principal: bot })).toEqual([]);
  });

  it.each([
    [{ queue: "no spaces" }, "queue must be 1 to 64 letters, digits, dots, hyphens or underscores"],
    [{ queue: "" }, "queue must be"],
    [{ priority: 1.5 }, "priority must be a whole number, -1000 to 1000"],
    [{ priority: 1001 }, "priority must be a whole number"],
  ])("are refused when they are %o", async (wrong, message) => {
    const engine = await newStage().open({ tools: [actor("send", () => ({})).tool] });
    const fault = await faultOf(engine.submit(one, { principal: bot, ...wrong }));
    expect(fault.code).toBe("INVALID_INPUT");
    expect(fault.message).toContain(message);
  });
});

describe("a hint that there is work", () => {
  it("is heeded though it comes in the middle of a look at what is due", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const memory = memoryStore({ clock });
    const send = actor("send", () => ({}), { effect: "reads" });
    const [asked, answer] = [promised<void>(), promised<void>()];
    let hint = () => {};
    const watch: Store["watch"] = (heard) => {
      hint = heard;
      return () => {};
    };
    const claimDue: Store["claimDue"] = async (...given) => {
      const claims = await memory.claimDue(...given);
      asked.keep();
      await answer.promise;
      return claims;
    };
    const opened = createEngine({ store: { ...memory, watch, claimDue }, timers, tools: [send.tool] });
    await asked.promise;
    const office = await createEngine({ store: memory, timers, tools: [send.tool], work: false });
    await office.submit(one, { principal: bot });
    hint();
    answer.keep();
    await opened;
    await timers.pass(0);
    expect(send.calls).toHaveLength(1);
  });
});

/** Where several workers share a store. */
const shared = places.filter(({ name }) => name !== "SQLite");

describe.each(shared)("a run that a worker cannot go on with, on $name", ({ newStage }) => {
  const look = actor("look", () => ({}), { effect: "reads" });

  it("is given back, counts against no limit, and is taken by one that has its tool", async () => {
    const stage = newStage();
    const send = actor("send", () => ({}));
    const office = await stage.open({ tools: [send.tool, look.tool], work: false });
    const runs = await Promise.all([1, 2, 3].map(() => office.submit(one, { principal: bot })));
    await stage.open({ tools: [look.tool], worker: { perTenant: 1 } });
    await stage.pass(5000);
    expect(await Promise.all(runs.map((run) => eventsOf(run, "step.parked")))).toMatchObject([[{}], [{}], [{}]]);
    expect(await office.workers({ principal: bot })).toEqual([]);
    const other = await office.submit({ steps: [{ step_id: "a", name: "look" }] }, { principal: bot });
    await stage.pass(5000);
    expect((await other.now()).status).toBe("completed");
    await stage.open({ tools: [send.tool], worker: { perTenant: 1 } });
    await stage.pass(5000);
    expect((await Promise.all(runs.map((run) => run.now()))).map(({ status }) => status)).toEqual(
      runs.map(() => "completed"),
    );
    expect(send.calls).toHaveLength(3);
  });

  it("is not taken again and again by those that lack its tool", async () => {
    const stage = newStage();
    const office = await stage.open({ tools: [actor("send", () => ({})).tool], work: false });
    const run = await office.submit(one, { principal: bot });
    await stage.open({ tools: [look.tool] });
    await stage.open({ tools: [] });
    await stage.pass(5000);
    const epoch = async () => (await stage.store().claim("w" as never, "acme" as never, run.run_id as never))?.epoch;
    const before = await epoch();
    await stage.pass(60_000);
    expect(await epoch()).toBe(Number(before) + 1);
  });

  it("goes on with what time brings, though nobody has its tool", async () => {
    const stage = newStage();
    const office = await stage.open({ tools: [actor("send", () => ({})).tool], work: false });
    const wait = { step_id: "w", kind: "wait", payload: { ms: 30_000 } };
    const run = await office.submit({ steps: [...one.steps, wait] }, { principal: bot });
    await stage.open({ tools: [look.tool] });
    await stage.pass(5000);
    expect((await run.now()).steps.w?.state).toBe("waiting");
    await stage.pass(30_000);
    expect((await run.now()).steps.w?.state).toBe("succeeded");
  });
});

describe("a worker's terms", () => {
  it.each([
    [{ queues: [] }, "queues of worker"],
    [{ queues: ["a b"] }, "queues of worker"],
    [{ perQueue: { mail: 0 } }, "perQueue of worker"],
    [{ perTenant: -1 }, "perTenant of worker"],
    [{ queue: "mail" }, "queue"],
  ])("are refused when they are %o", async (worker, message) => {
    const fault = await faultOf(createEngine({ store: memoryStore(), tools: [], worker: worker as ClaimTerms }));
    expect(fault.code).toBe("CONFIG_INVALID");
    expect(fault.message).toContain(message);
  });
});
