import { describe, expect, it } from "vitest";
import type { ClaimTerms, Store } from "../../src/core/store/store.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { fakeClock } from "../../src/testing/fake-clock.ts";
import { manualTimers } from "../../src/testing/manual-timers.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, deferred, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const one = { steps: [{ step_id: "a", name: "send" }] };

/** Calls that end when the story says so, in the order they were made. */
function slow() {
  const ends: (() => void)[] = [];
  const send = scriptedTool("send", () => {
    const { promise, keep } = deferred<object>();
    ends.push(() => keep({}));
    return promise;
  });
  return { ...send, end: () => ends.shift()?.() };
}

describe.each(storeKinds)("queues, on $name", ({ name, newFixture: newStage }) => {
  it("are served by their workers, and a run's queue and priority are recorded", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => ({}));
    const engine = await stage.open({ tools: [send.tool], worker: { queues: ["mail"] } });
    const other = await engine.submit(one, { principal: botAgent, queue: "print", priority: 7 });
    const plain = await engine.submit(one, { principal: botAgent });
    const mail = await engine.submit(one, { principal: botAgent, queue: "mail" });
    await stage.advance(5000);
    const now = [await other.now(), await plain.now(), await mail.now()];
    expect(now.map(({ final }) => final)).toEqual([false, false, true]);
    const accepted = await Promise.all([other, plain].map((run) => collectEvents(run, "run.accepted")));
    expect(accepted.flat().map(({ queue, priority }) => ({ queue, priority }))).toEqual([
      { queue: "print", priority: 7 },
      { queue: undefined, priority: undefined },
    ]);
    await stage.crash();
    await stage.open({ tools: [send.tool], worker: { queues: ["print"] } });
    await stage.advance(5000);
    expect(send.calls.map(({ context }) => context.run_id)).toEqual([mail.run_id, other.run_id]);
    await stage.crash();
    await stage.open({ tools: [send.tool] });
    await stage.advance(5000);
    expect(send.calls.at(-1)?.context.run_id).toBe(plain.run_id);
  });

  it("run at most their limit at once, and continue when a run ends", async () => {
    const stage = newStage();
    const send = slow();
    const engine = await stage.open({ tools: [send.tool], worker: { perQueue: { mail: 2 } } });
    for (const _ of [1, 2, 3, 4, 5]) await engine.submit(one, { principal: botAgent, queue: "mail" });
    await stage.advance(5000);
    expect(send.calls).toHaveLength(2);
    send.end();
    await stage.advance(0);
    expect(send.calls).toHaveLength(3);
    send.end();
    send.end();
    await stage.advance(0);
    expect(send.calls).toHaveLength(5);
  });

  it("alternate between tenants, with a limit for each, by priority", async () => {
    const stage = newStage();
    const send = slow();
    const tenants = { acme: { mode: "auto_exec" }, globex: { mode: "auto_exec" } } as const;
    const orders = await stage.open({ tools: [send.tool], tenants, work: false });
    for (const priority of [1, 2, 3, 4, 5]) await orders.submit(one, { principal: botAgent, priority });
    const last = await orders.submit(one, { principal: { ...botAgent, tenant: "globex" } });
    await stage.open({ tools: [send.tool], tenants, worker: { perTenant: 2 } });
    await stage.advance(5000);
    expect(send.calls).toHaveLength(3);
    expect(send.calls.map(({ context }) => context.run_id)).toContain(last.run_id);
  });

  it("wait for a fitting worker without polling", async () => {
    const stage = newStage();
    const send = slow();
    const engine = await stage.open({ tools: [send.tool], worker: { perQueue: { default: 1 } } });
    await engine.submit(one, { principal: botAgent });
    await stage.advance(1000);
    const second = (await engine.submit(one, { principal: botAgent })).result();
    await stage.advance(3000);
    expect(send.calls).toHaveLength(1);
    send.end();
    await stage.advance(0);
    send.end();
    await stage.advance(0);
    expect((await second).status).toBe("completed");
  });

  it("show which worker has their runs, to their tenant", async () => {
    const stage = newStage();
    const send = slow();
    const engine = await stage.open({ tools: [send.tool] });
    const since = stage.clock.now();
    const runs = [
      await engine.submit(one, { principal: botAgent, queue: "mail" }),
      await engine.submit(one, { principal: botAgent }),
    ];
    await stage.advance(0);
    const held = runs.map(({ run_id }, at) => ({
      run_id,
      queue: ["mail", "default"][at],
      since,
      until: name === "SQLite" ? null : since + 15_000,
    }));
    held.sort((left, right) => (left.run_id < right.run_id ? -1 : 1)); // Ids of one moment are in no order.
    const runsOf = async (tenant: string) =>
      (await engine.workers({ principal: { ...anaPerson, tenant } })).workers.map((worker) => worker.runs);
    expect(await runsOf("acme")).toEqual([held]);
    expect(await runsOf("globex")).toEqual([[]]);
    send.end();
    send.end();
    await stage.advance(0);
    expect(await runsOf("acme")).toEqual([[]]);
  });

  it.each([
    [{ queue: "no spaces" }, "queue must be 1 to 64 letters, digits, dots, hyphens or underscores"],
    [{ queue: "" }, "queue must be"],
    [{ priority: 1.5 }, "priority must be a whole number, -1000 to 1000"],
    [{ priority: 1001 }, "priority must be a whole number"],
  ])("are refused when they are %o", async (wrong, message) => {
    const engine = await newStage().open({ tools: [scriptedTool("send", () => ({})).tool] });
    const fault = await rejectedFault(engine.submit(one, { principal: botAgent, ...wrong }));
    expect(fault.code).toBe("INVALID_INPUT");
    expect(fault.message).toContain(message);
  });
});

describe("work hint", () => {
  it("is heeded though it comes during a scan for due runs", async () => {
    const clock = fakeClock();
    const timers = manualTimers(clock);
    const memory = memoryStore({ clock });
    const send = scriptedTool("send", () => ({}), { effect: "reads" });
    const [asked, answer] = [deferred<void>(), deferred<void>()];
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
    await office.submit(one, { principal: botAgent });
    hint();
    answer.keep();
    await opened;
    await timers.pass(0);
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("run that a worker cannot continue, on $name", ({ newFixture: newStage }) => {
  const look = scriptedTool("look", () => ({}), { effect: "reads" });

  it("is released, counts against no limit, and is claimed by a worker with its tool", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => ({}));
    const office = await stage.open({ tools: [send.tool, look.tool], work: false });
    const runs = await Promise.all([1, 2, 3].map(() => office.submit(one, { principal: botAgent })));
    await stage.open({ tools: [look.tool], worker: { perTenant: 1 } });
    await stage.advance(5000);
    expect(await Promise.all(runs.map((run) => collectEvents(run, "step.parked")))).toMatchObject([[{}], [{}], [{}]]);
    const { workers } = await office.workers({ principal: anaPerson });
    expect(workers.flatMap((worker) => worker.runs)).toEqual([]);
    const other = await office.submit({ steps: [{ step_id: "a", name: "look" }] }, { principal: botAgent });
    await stage.advance(5000);
    expect((await other.now()).status).toBe("completed");
    await stage.open({ tools: [send.tool], worker: { perTenant: 1 } });
    await stage.advance(5000);
    expect((await Promise.all(runs.map((run) => run.now()))).map(({ status }) => status)).toEqual(
      runs.map(() => "completed"),
    );
    expect(send.calls).toHaveLength(3);
  });

  it("is not claimed again by workers without its tool", async () => {
    const stage = newStage();
    const office = await stage.open({ tools: [scriptedTool("send", () => ({})).tool], work: false });
    const run = await office.submit(one, { principal: botAgent });
    await stage.open({ tools: [look.tool] });
    await stage.open({ tools: [] });
    await stage.advance(5000);
    const epoch = async () => (await stage.store().claim("w" as never, "acme" as never, run.run_id as never))?.epoch;
    const before = await epoch();
    await stage.advance(60_000);
    expect(await epoch()).toBe(Number(before) + 1);
  });

  it("continues with its timers though no worker has its tool", async () => {
    const stage = newStage();
    const office = await stage.open({ tools: [scriptedTool("send", () => ({})).tool], work: false });
    const wait = { step_id: "w", kind: "wait", payload: { ms: 30_000 } };
    const run = await office.submit({ steps: [...one.steps, wait] }, { principal: botAgent });
    await stage.open({ tools: [look.tool] });
    await stage.advance(5000);
    expect((await run.now()).steps.w?.state).toBe("waiting");
    await stage.advance(30_000);
    expect((await run.now()).steps.w?.state).toBe("succeeded");
  });
});

describe("worker claim terms", () => {
  it.each([
    [{ queues: [] }, "queues of worker"],
    [{ queues: ["a b"] }, "queues of worker"],
    [{ perQueue: { mail: 0 } }, "perQueue of worker"],
    [{ perTenant: -1 }, "perTenant of worker"],
    [{ queue: "mail" }, "queue"],
  ])("are refused when they are %o", async (worker, message) => {
    const fault = await rejectedFault(createEngine({ store: memoryStore(), tools: [], worker: worker as ClaimTerms }));
    expect(fault.code).toBe("CONFIG_INVALID");
    expect(fault.message).toContain(message);
  });
});
