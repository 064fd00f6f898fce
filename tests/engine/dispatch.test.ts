import { describe, expect, it } from "vitest";
import type { Notice } from "../../src/core/event/event.ts";
import type { Tenant, WorkerId } from "../../src/core/values/ids.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, deferred, scriptedTool, throwsNotDone } from "./scripted-tool.ts";

const one = (name: string) => ({ steps: [{ step_id: "a", name }] });

describe.each(storeKinds)("errand, on $name", ({ newFixture: newStage }) => {
  it("becomes a step after the commit that requested it, and passes all stages", async () => {
    const log = scriptedTool("log", ({ input }) => input, { effect: "reads" });
    const work = scriptedTool("work", ({ context }) => {
      context.errand("log", { n: 1 });
      context.errand("log", { n: 2 });
      return { ok: true };
    });
    const engine = await newStage().open({ tools: [log.tool, work.tool] });
    const run = await engine.submit(one("work"), { principal: botAgent });
    expect(await run.result()).toMatchObject({
      status: "completed",
      steps: { a: { state: "succeeded" }, "a.1": { output: { n: 1 } }, "a.2": { output: { n: 2 } } },
    });
    expect(await collectEvents(run, "step.proposed")).toMatchObject([
      { step_id: "a.1", cause: { by: "errand", of: "a" } },
      { step_id: "a.2", cause: { by: "errand", of: "a" } },
    ]);
  });

  it("that acts is held like any act", async () => {
    const send = scriptedTool("send", () => ({ id: 1 }));
    const draft = scriptedTool("draft", ({ context }) => context.errand("send", { to: "ana" }) ?? { ok: true }, {
      effect: "writes",
    });
    const engine = await newStage().open({ tools: [send.tool, draft.tool], tenants: {} });
    const run = await engine.submit(one("draft"), { principal: botAgent });
    const { gates } = await run.result();
    expect(gates).toMatchObject([{ step_id: "a.1", tool: "send", input: { to: "ana" } }]);
    expect(send.calls).toHaveLength(0);
    await engine.approve(gates[0]?.gate_id as string, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
  });

  it("is not run when its step failed", async () => {
    const log = scriptedTool("log", () => null, { effect: "reads" });
    const work = scriptedTool(
      "work",
      ({ context }) => {
        context.errand("log", {});
        throw new Error("after asking");
      },
      { effect: "reads" },
    );
    const engine = await newStage().open({ tools: [log.tool, work.tool] });
    const run = await engine.submit(one("work"), { principal: botAgent });
    expect(Object.keys((await run.result()).steps)).toEqual(["a"]);
    expect(log.calls).toHaveLength(0);
  });

  it("that fails, is refused or has no tool does not revert its step", async () => {
    const bad = scriptedTool("bad", throwsNotDone("AUTH_FORBIDDEN"), { effect: "reads" });
    const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const picky = scriptedTool("picky", () => null, { effect: "reads", input });
    const work = scriptedTool(
      "work",
      ({ context }) => {
        for (const name of ["bad", "picky", "nobody"]) context.errand(name, {});
        return { ok: true };
      },
      { effect: "reads" },
    );
    const engine = await newStage().open({ tools: [bad.tool, picky.tool, work.tool] });
    const run = await engine.submit(one("work"), { principal: botAgent });
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

  it("of an act that was running at a cancel is not started", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const log = scriptedTool("log", () => null, { effect: "reads" });
    const work = scriptedTool("work", async ({ context }) => {
      context.errand("log", {});
      return answer.promise;
    });
    const engine = await stage.open({ tools: [log.tool, work.tool] });
    const run = await engine.submit(one("work"), { principal: botAgent });
    await stage.advance(0);
    await run.cancel();
    answer.keep({ ok: true });
    expect(await run.finished()).toMatchObject({ status: "cancelled", steps: { a: { state: "succeeded" } } });
    expect(log.calls).toHaveLength(0);
  });

  it("survives a crash right after the commit", async () => {
    const stage = newStage();
    const log = scriptedTool("log", () => null, { effect: "reads" });
    const work = scriptedTool("work", ({ context }) => context.errand("log", {}) ?? { ok: true });
    const tools = [log.tool, work.tool];
    const first = await stage.open({
      tools,
      failpoint: (point) => {
        if (point === "end.after") void stage.crash();
      },
    });
    const { run_id } = await first.submit(one("work"), { principal: botAgent });
    await stage.advance(0);
    const called = log.calls.length;
    const second = await stage.open({ tools });
    expect((await stage.runUntilIdle(await second.run(run_id, { principal: botAgent }))).status).toBe("completed");
    expect(log.calls.length).toBeGreaterThanOrEqual(Math.max(1, called));
    expect(work.calls).toHaveLength(1);
  });

  it("is limited in number", async () => {
    const work = scriptedTool(
      "work",
      ({ context }) => {
        for (let n = 0; n < 5; n += 1) context.errand("work", {});
        return { ok: true };
      },
      { effect: "reads" },
    );
    const engine = await newStage().open({ tools: [work.tool], limits: { errandsPerStep: 4 } });
    const run = await engine.submit(one("work"), { principal: botAgent });
    expect((await run.result()).steps.a).toMatchObject({ fault: { code: "LIMIT_EXCEEDED" } });
  });
});

describe.each(storeKinds)("notice, on $name", ({ newFixture: newStage }) => {
  const telling = () =>
    scriptedTool("tell", ({ context }) => {
      context.notice("mail.sent", { n: 1 });
      context.notice("mail.sent", { n: 2 });
      return { ok: true };
    });

  it("is delivered after the commit, in order, with a stable id, once if nothing fails", async () => {
    const stage = newStage();
    const told: (Notice & { run_id: string })[] = [];
    const engine = await stage.open({ tools: [telling().tool], onNotice: async (notice) => void told.push(notice) });
    const run = await engine.submit(one("tell"), { principal: botAgent });
    await run.result();
    await stage.advance(60_000);
    expect(told).toMatchObject([
      { topic: "mail.sent", payload: { n: 1 }, run_id: run.run_id },
      { topic: "mail.sent", payload: { n: 2 }, run_id: run.run_id },
    ]);
    expect(new Set(told.map(({ notice_id }) => notice_id)).size).toBe(2);
    expect((await collectEvents(run, "notice.delivered")).map(({ notice_id }) => notice_id)).toEqual(
      told.map(({ notice_id }) => notice_id),
    );
  });

  it("is retried with backoff until it is accepted, under the same id", async () => {
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
    const run = await engine.submit(one("tell"), { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
    await stage.advance(120_000);
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
  ])("that %s does not delay other notices of its step or of a later one", async (_, taking) => {
    const stage = newStage();
    const told: number[] = [];
    const later = scriptedTool("later", ({ context }) => context.notice("mail.sent", { n: 3 }) ?? 1, {
      effect: "reads",
    });
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
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.advance(60_000);
    expect(told).toEqual([2, 3]);
    expect(await collectEvents(run, "notice.delivered")).toHaveLength(2);
  });

  it("is not delivered again by a worker that learns it was fenced when it reports the delivery", async () => {
    const stage = newStage();
    const told: number[] = [];
    const [asked, taken] = [deferred<void>(), deferred<void>()];
    const engine = await stage.open({
      tools: [telling().tool],
      store: { ...stage.store(), renew: async () => [] },
      onNotice: async ({ payload }) => {
        told.push((payload as { n: number }).n);
        asked.keep();
        await taken.promise;
      },
    });
    const run = await engine.submit(one("tell"), { principal: botAgent });
    await asked.promise;
    stage.loseLeases();
    expect(await stage.store().claim("rival" as WorkerId, "acme" as Tenant, run.run_id)).not.toBeNull();
    taken.keep();
    await stage.advance(10_000);
    expect(told).toEqual([1]);
    expect(await collectEvents(run, "notice.delivered")).toEqual([]);
  });

  it("is delivered by the next worker when the first died before it was accepted", async () => {
    const stage = newStage();
    const tell = telling();
    const first = await stage.open({ tools: [tell.tool], onNotice: () => Promise.reject(new Error("down")) });
    const run = await first.submit(one("tell"), { principal: botAgent });
    await run.result();
    await stage.crash();
    const told: string[] = [];
    const second = await stage.open({
      tools: [tell.tool],
      onNotice: async ({ notice_id }) => void told.push(notice_id),
    });
    await stage.advance(5000);
    expect(told).toHaveLength(2);
    expect(await collectEvents(await second.run(run.run_id, { principal: botAgent }), "notice.delivered")).toHaveLength(
      2,
    );
    expect(tell.calls).toHaveLength(1);
  });

  it("that is being delivered when the engine closes is accepted with those behind it, and not repeated", async () => {
    const stage = newStage();
    const [asked, taken] = [deferred<void>(), deferred<void>()];
    const told: number[] = [];
    const onNotice = async ({ payload }: Notice) => {
      told.push((payload as { n: number }).n);
      asked.keep();
      await taken.promise;
    };
    const first = await stage.open({ tools: [telling().tool], onNotice });
    await (await first.submit(one("tell"), { principal: botAgent })).result();
    await asked.promise;
    const closed = first.close();
    await stage.advance(1000);
    taken.keep();
    await closed;
    expect(told).toEqual([1, 2]);
    await stage.open({ tools: [telling().tool], onNotice });
    await stage.advance(60_000);
    expect(told).toEqual([1, 2]);
  });

  it("that is not accepted does not delay closing the engine, and is left to the next one with those behind it", async () => {
    const stage = newStage();
    const told: number[] = [];
    const [asked, refused] = [deferred<void>(), deferred<void>()];
    const onNotice = async ({ payload }: Notice) => {
      told.push((payload as { n: number }).n);
      asked.keep();
      await refused.promise;
      if (told.length === 1) throw new Error("down");
    };
    const first = await stage.open({ tools: [telling().tool], onNotice });
    await (await first.submit(one("tell"), { principal: botAgent })).result();
    await asked.promise;
    const closed = first.close();
    refused.keep();
    await closed;
    expect(told).toEqual([1]);
    await stage.open({ tools: [telling().tool], onNotice });
    await stage.advance(60_000);
    expect(told).toEqual([1, 1, 2]);
  });

  it("is kept without a handler and delivered by an engine that has one", async () => {
    const stage = newStage();
    const tell = telling();
    const deaf = await stage.open({ tools: [tell.tool] });
    const run = await deaf.submit(one("tell"), { principal: botAgent });
    expect(await run.finished()).toMatchObject({ status: "completed" });
    await stage.advance(10_000);
    await deaf.close();
    const told: string[] = [];
    await stage.open({ tools: [tell.tool], onNotice: async ({ notice_id }) => void told.push(notice_id) });
    await stage.advance(60_000);
    expect(told).toHaveLength(2);
  });

  it("that is not accepted does not stop other runs", async () => {
    const stage = newStage();
    const tell = scriptedTool("tell", ({ context }) => context.notice("t", {}) ?? 1, { effect: "reads" });
    const look = scriptedTool("look", () => 1, { effect: "reads" });
    const office = await stage.open({ tools: [tell.tool, look.tool], work: false });
    for (let n = 0; n < 120; n += 1) await office.submit(one("tell"), { principal: botAgent });
    const worker = await stage.open({ tools: [tell.tool, look.tool] });
    await stage.advance(10_000);
    expect(tell.calls).toHaveLength(120);
    const run = await office.submit(one("look"), { principal: botAgent });
    await stage.advance(10_000);
    expect(look.calls).toHaveLength(1);
    await worker.close();
    expect((await run.now()).status).toBe("completed");
  });

  it("that cannot be delivered does not change the run", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [telling().tool], onNotice: () => Promise.reject(new Error("down")) });
    const run = await engine.submit(one("tell"), { principal: botAgent });
    expect(await run.finished()).toMatchObject({ status: "completed", final: true, blocked_on: [] });
    await stage.advance(90_000);
    expect(await run.result()).toMatchObject({ status: "completed" });
    const closed = engine.close();
    await stage.advance(60_000);
    await closed;
  });

  it("is not sent for a step that failed", async () => {
    const stage = newStage();
    const told: unknown[] = [];
    const tell = scriptedTool(
      "tell",
      ({ context }) => {
        context.notice("t", {});
        throw new Error("no");
      },
      { effect: "reads" },
    );
    const engine = await stage.open({ tools: [tell.tool], onNotice: async (notice) => void told.push(notice) });
    await (await engine.submit(one("tell"), { principal: botAgent })).result();
    await stage.advance(10_000);
    expect(told).toEqual([]);
  });
});
