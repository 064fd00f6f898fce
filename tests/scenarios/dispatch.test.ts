import { describe, expect, it } from "vitest";
import type { Notice } from "../../src/core/event.ts";
import type { Tenant, WorkerId } from "../../src/core/id.ts";
import { actor, eventsOf, promised, says } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const one = (name: string) => ({ steps: [{ step_id: "a", name }] });

describe.each(places)("an errand, on $name", ({ newStage }) => {
  it("is a step of its own after the commit that asked for it, and takes the whole road", async () => {
    const log = actor("log", ({ input }) => input, { effect: "reads" });
    const work = actor("work", ({ context }) => {
      context.errand("log", { n: 1 });
      context.errand("log", { n: 2 });
      return { ok: true };
    });
    const engine = await newStage().open({ tools: [log.tool, work.tool] });
    const run = await engine.submit(one("work"), { principal: bot });
    expect(await run.result()).toMatchObject({
      status: "completed",
      steps: { a: { state: "succeeded" }, "a.1": { output: { n: 1 } }, "a.2": { output: { n: 2 } } },
    });
    expect(await eventsOf(run, "step.proposed")).toMatchObject([
      { step_id: "a.1", cause: { by: "errand", of: "a" } },
      { step_id: "a.2", cause: { by: "errand", of: "a" } },
    ]);
  });

  it("that acts is held like any act", async () => {
    const send = actor("send", () => ({ id: 1 }));
    const draft = actor("draft", ({ context }) => context.errand("send", { to: "ana" }) ?? { ok: true }, {
      effect: "writes",
    });
    const engine = await newStage().open({ tools: [send.tool, draft.tool], tenants: {} });
    const run = await engine.submit(one("draft"), { principal: bot });
    const { gates } = await run.result();
    expect(gates).toMatchObject([{ step_id: "a.1", tool: "send", input: { to: "ana" } }]);
    expect(send.calls).toHaveLength(0);
    await engine.approve(gates[0]?.gate_id as string, { principal: ana });
    expect((await run.result()).status).toBe("completed");
  });

  it("is not run when the step that asked for it failed", async () => {
    const log = actor("log", () => null, { effect: "reads" });
    const work = actor(
      "work",
      ({ context }) => {
        context.errand("log", {});
        throw new Error("after asking");
      },
      { effect: "reads" },
    );
    const engine = await newStage().open({ tools: [log.tool, work.tool] });
    const run = await engine.submit(one("work"), { principal: bot });
    expect(Object.keys((await run.result()).steps)).toEqual(["a"]);
    expect(log.calls).toHaveLength(0);
  });

  it("that fails, is refused or has no tool does not take its step back", async () => {
    const bad = actor("bad", says("AUTH_FORBIDDEN"), { effect: "reads" });
    const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const picky = actor("picky", () => null, { effect: "reads", input });
    const work = actor(
      "work",
      ({ context }) => {
        for (const name of ["bad", "picky", "nobody"]) context.errand(name, {});
        return { ok: true };
      },
      { effect: "reads" },
    );
    const engine = await newStage().open({ tools: [bad.tool, picky.tool, work.tool] });
    const run = await engine.submit(one("work"), { principal: bot });
    expect(await run.result()).toMatchObject({
      status: "partial",
      steps: {
        a: { state: "succeeded" },
        "a.1": { state: "failed_final", fault: { code: "AUTH_FORBIDDEN" } },
        "a.2": { state: "rejected", fault: { code: "INVALID_INPUT" } },
        "a.3": { state: "rejected", fault: { code: "TOOL_UNKNOWN" } },
      },
    });
  });

  it("of an act that a cancel found in flight is not begun any more", async () => {
    const stage = newStage();
    const answer = promised<object>();
    const log = actor("log", () => null, { effect: "reads" });
    const work = actor("work", async ({ context }) => {
      context.errand("log", {});
      return answer.promise;
    });
    const engine = await stage.open({ tools: [log.tool, work.tool] });
    const run = await engine.submit(one("work"), { principal: bot });
    await stage.pass(0);
    await run.cancel();
    answer.keep({ ok: true });
    expect(await run.finished()).toMatchObject({ status: "cancelled", steps: { a: { state: "succeeded" } } });
    expect(log.calls).toHaveLength(0);
  });

  it("survives a crash right after the commit", async () => {
    const stage = newStage();
    const log = actor("log", () => null, { effect: "reads" });
    const work = actor("work", ({ context }) => context.errand("log", {}) ?? { ok: true });
    const tools = [log.tool, work.tool];
    const first = await stage.open({
      tools,
      failpoint: (point) => {
        if (point === "end.after") void stage.crash();
      },
    });
    const { run_id } = await first.submit(one("work"), { principal: bot });
    await stage.pass(0);
    const called = log.calls.length;
    const second = await stage.open({ tools });
    expect((await stage.rest(await second.run(run_id, { principal: bot }))).status).toBe("completed");
    expect(log.calls.length).toBeGreaterThanOrEqual(Math.max(1, called));
    expect(work.calls).toHaveLength(1);
  });

  it("is bounded in number", async () => {
    const work = actor(
      "work",
      ({ context }) => {
        for (let n = 0; n < 5; n += 1) context.errand("work", {});
        return { ok: true };
      },
      { effect: "reads" },
    );
    const engine = await newStage().open({ tools: [work.tool], limits: { errandsPerStep: 4 } });
    const run = await engine.submit(one("work"), { principal: bot });
    expect((await run.result()).steps.a).toMatchObject({ fault: { code: "LIMIT_EXCEEDED" } });
  });
});

describe.each(places)("a notice, on $name", ({ newStage }) => {
  const telling = () =>
    actor("tell", ({ context }) => {
      context.notice("mail.sent", { n: 1 });
      context.notice("mail.sent", { n: 2 });
      return { ok: true };
    });

  it("is delivered after the commit, in order, with a stable id, once when all goes well", async () => {
    const stage = newStage();
    const told: (Notice & { run_id: string })[] = [];
    const engine = await stage.open({ tools: [telling().tool], onNotice: async (notice) => void told.push(notice) });
    const run = await engine.submit(one("tell"), { principal: bot });
    await run.result();
    await stage.pass(60_000);
    expect(told).toMatchObject([
      { topic: "mail.sent", payload: { n: 1 }, run_id: run.run_id },
      { topic: "mail.sent", payload: { n: 2 }, run_id: run.run_id },
    ]);
    expect(new Set(told.map(({ notice_id }) => notice_id)).size).toBe(2);
    expect((await eventsOf(run, "notice.delivered")).map(({ notice_id }) => notice_id)).toEqual(
      told.map(({ notice_id }) => notice_id),
    );
  });

  it("is tried again with patience until it is taken, under the same id", async () => {
    const stage = newStage();
    const tries: { id: string; at: number }[] = [];
    const engine = await stage.open({
      tools: [telling().tool],
      onNotice: async ({ notice_id, payload }) => {
        if ((payload as { n: number }).n !== 1) return;
        tries.push({ id: notice_id, at: stage.clock.now() });
        if (tries.length <= 3) throw new Error("queue is down");
      },
    });
    const run = await engine.submit(one("tell"), { principal: bot });
    expect((await run.result()).status).toBe("completed");
    await stage.pass(120_000);
    expect(new Set(tries.map(({ id }) => id)).size).toBe(1);
    expect(tries).toHaveLength(4);
    const pauses = tries.slice(1).map(({ at }, index) => at - (tries[index]?.at ?? 0));
    expect(pauses).toEqual([...pauses].sort((left, right) => left - right));
    expect(pauses[0]).toBeGreaterThan(0);
    expect(pauses[2]).toBeGreaterThan(pauses[0] as number);
  });

  it.each<[string, () => Promise<void>]>([
    ["is refused", () => Promise.reject(new Error("not this one"))],
    ["is never answered", () => new Promise(() => {})],
    [
      "makes the taker throw",
      () => {
        throw new Error("not a promise");
      },
    ],
  ])("that %s holds up no other, of its own step or of a later one", async (_, taking) => {
    const stage = newStage();
    const told: number[] = [];
    const later = actor("later", ({ context }) => context.notice("mail.sent", { n: 3 }) ?? 1, { effect: "reads" });
    const engine = await stage.open({
      tools: [telling().tool, later.tool],
      limits: { noticeMs: 5000 },
      onNotice: ({ payload }) => {
        const { n } = payload as { n: number };
        if (n === 1) return taking();
        told.push(n);
        return Promise.resolve();
      },
    });
    const steps = [
      { step_id: "a", name: "tell" },
      { step_id: "pause", kind: "wait", payload: { ms: 2000 }, depends_on: ["a"] },
      { step_id: "b", name: "later", depends_on: ["pause"] },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    await stage.pass(60_000);
    expect(told).toEqual([2, 3]);
    expect(await eventsOf(run, "notice.delivered")).toHaveLength(2);
  });

  it("is not delivered again by a worker that hears it was fenced when it says what it delivered", async () => {
    const stage = newStage();
    const told: number[] = [];
    const [asked, taken] = [promised<void>(), promised<void>()];
    const engine = await stage.open({
      tools: [telling().tool],
      store: { ...stage.store(), renew: async () => [] },
      onNotice: async ({ payload }) => {
        told.push((payload as { n: number }).n);
        asked.keep();
        await taken.promise;
      },
    });
    const run = await engine.submit(one("tell"), { principal: bot });
    await asked.promise;
    stage.clock.advance(31_000);
    expect(await stage.store().claim("rival" as WorkerId, "acme" as Tenant, run.run_id)).not.toBeNull();
    taken.keep();
    await stage.pass(10_000);
    expect(told).toEqual([1]);
    expect(await eventsOf(run, "notice.delivered")).toEqual([]);
  });

  it("is delivered by the next worker when the first died before it was taken", async () => {
    const stage = newStage();
    const tell = telling();
    const first = await stage.open({ tools: [tell.tool], onNotice: () => Promise.reject(new Error("down")) });
    const run = await first.submit(one("tell"), { principal: bot });
    await run.result();
    await stage.crash();
    const told: string[] = [];
    const second = await stage.open({
      tools: [tell.tool],
      onNotice: async ({ notice_id }) => void told.push(notice_id),
    });
    await stage.pass(5000);
    expect(told).toHaveLength(2);
    expect(await eventsOf(await second.run(run.run_id, { principal: bot }), "notice.delivered")).toHaveLength(2);
    expect(tell.calls).toHaveLength(1);
  });

  it("is taken by whoever is asked when the engine closes, with those behind it, and by nobody again", async () => {
    const stage = newStage();
    const [asked, taken] = [promised<void>(), promised<void>()];
    const told: number[] = [];
    const onNotice = async ({ payload }: Notice) => {
      told.push((payload as { n: number }).n);
      asked.keep();
      await taken.promise;
    };
    const first = await stage.open({ tools: [telling().tool], onNotice });
    await (await first.submit(one("tell"), { principal: bot })).result();
    await asked.promise;
    const closed = first.close();
    await stage.pass(1000);
    taken.keep();
    await closed;
    expect(told).toEqual([1, 2]);
    await stage.open({ tools: [telling().tool], onNotice });
    await stage.pass(60_000);
    expect(told).toEqual([1, 2]);
  });

  it("that nobody takes does not hold up who closes the engine, and is left to the next with those behind it", async () => {
    const stage = newStage();
    const told: number[] = [];
    const [asked, refused] = [promised<void>(), promised<void>()];
    const onNotice = async ({ payload }: Notice) => {
      told.push((payload as { n: number }).n);
      asked.keep();
      await refused.promise;
      if (told.length === 1) throw new Error("down");
    };
    const first = await stage.open({ tools: [telling().tool], onNotice });
    await (await first.submit(one("tell"), { principal: bot })).result();
    await asked.promise;
    const closed = first.close();
    refused.keep();
    await closed;
    expect(told).toEqual([1]);
    await stage.open({ tools: [telling().tool], onNotice });
    await stage.pass(60_000);
    expect(told).toEqual([1, 1, 2]);
  });

  it("is kept where nobody takes it, and handed over by the engine that does", async () => {
    const stage = newStage();
    const tell = telling();
    const deaf = await stage.open({ tools: [tell.tool] });
    const run = await deaf.submit(one("tell"), { principal: bot });
    expect(await run.finished()).toMatchObject({ status: "completed" });
    await stage.pass(10_000);
    await deaf.close();
    const told: string[] = [];
    await stage.open({ tools: [tell.tool], onNotice: async ({ notice_id }) => void told.push(notice_id) });
    await stage.pass(60_000);
    expect(told).toHaveLength(2);
  });

  it("that nobody takes does not keep other runs from being worked on", async () => {
    const stage = newStage();
    const tell = actor("tell", ({ context }) => context.notice("t", {}) ?? 1, { effect: "reads" });
    const look = actor("look", () => 1, { effect: "reads" });
    const office = await stage.open({ tools: [tell.tool, look.tool], work: false });
    for (let n = 0; n < 120; n += 1) await office.submit(one("tell"), { principal: bot });
    const worker = await stage.open({ tools: [tell.tool, look.tool] });
    await stage.pass(10_000);
    expect(tell.calls).toHaveLength(120);
    const run = await office.submit(one("look"), { principal: bot });
    await stage.pass(10_000);
    expect(look.calls).toHaveLength(1);
    await worker.close();
    expect((await run.now()).status).toBe("completed");
  });

  it("that cannot be delivered changes nothing of the run", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [telling().tool], onNotice: () => Promise.reject(new Error("down")) });
    const run = await engine.submit(one("tell"), { principal: bot });
    expect(await run.finished()).toMatchObject({ status: "completed", final: true, blocked_on: [] });
    await stage.pass(90_000);
    expect(await run.result()).toMatchObject({ status: "completed" });
    const closed = engine.close();
    await stage.pass(60_000);
    await closed;
  });

  it("is not sent for a step that failed", async () => {
    const stage = newStage();
    const told: unknown[] = [];
    const tell = actor(
      "tell",
      ({ context }) => {
        context.notice("t", {});
        throw new Error("no");
      },
      { effect: "reads" },
    );
    const engine = await stage.open({ tools: [tell.tool], onNotice: async (notice) => void told.push(notice) });
    await (await engine.submit(one("tell"), { principal: bot })).result();
    await stage.pass(10_000);
    expect(told).toEqual([]);
  });
});
