import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { Tenant } from "../../src/core/values/ids.ts";
import type { Json } from "../../src/core/values/json.ts";
import { RESULTS_AHEAD_MAX } from "../../src/engine/journal/may-run-ahead.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { deferred, scriptedTool } from "./scripted-tool.ts";

/** Counts how often the store is asked to write. Writing takes a turn of the event loop, as it does on a disk. */
function counting(stage: EngineFixture): { readonly store: Store; appends: number } {
  const real = stage.store();
  const counter = {
    appends: 0,
    store: {
      ...real,
      append: async (entries: Parameters<Store["append"]>[0]) => {
        counter.appends += 1;
        await new Promise((resolve) => setImmediate(resolve));
        return real.append(entries);
      },
    },
  };
  return counter;
}

describe.each(storeKinds)("concurrency, on $name", ({ newFixture: newStage }) => {
  it("finishes a thousand parallel steps, shares appends and respects the limit", async () => {
    const stage = newStage();
    const counter = counting(stage);
    let running = 0;
    let most = 0;
    const look = scriptedTool(
      "look",
      async ({ input }) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return input;
      },
      { effect: "reads" },
    );
    const engine = await stage.open({ store: counter.store, tools: [look.tool], limits: { concurrency: 64 } });
    const steps = Array.from({ length: 1000 }, (_, n) => ({ step_id: `s${n}`, name: "look", payload: { n } }));
    const result = await (await engine.submit({ steps }, { principal: botAgent })).result();
    expect(result.status).toBe("completed");
    expect(Object.values(result.steps)).toEqual(steps.map(({ payload }) => ({ state: "succeeded", output: payload })));
    expect(look.calls).toHaveLength(1000);
    expect(most).toBeGreaterThan(32);
    expect(most).toBeLessThanOrEqual(64);
    expect(counter.appends).toBeLessThan(200);
  });

  it("commits simultaneous outcomes in one append", async () => {
    const stage = newStage();
    const counter = counting(stage);
    const look = scriptedTool("look", ({ input }) => input, { effect: "reads" });
    const engine = await stage.open({ store: counter.store, tools: [look.tool] });
    const steps = Array.from({ length: 100 }, (_, n) => ({ step_id: `s${n}`, name: "look", payload: { n } }));
    const run = await engine.submit({ steps }, { principal: botAgent });
    const accepted = counter.appends;
    expect((await run.result()).status).toBe("completed");
    expect(counter.appends).toBe(accepted + 1);
  });

  it("calls a step that can be called again as soon as the previous one has ended, and stores both results together", async () => {
    const stage = newStage();
    const real = stage.store();
    const told: string[] = [];
    const append: Store["append"] = async (entries) => {
      const landings = await real.append(entries);
      for (const { events } of entries) told.push(...events.map(({ type }) => type));
      return landings;
    };
    const called: Parameters<typeof scriptedTool>[1] = ({ input }) => {
      told.push(`called ${input.n}`);
      return input;
    };
    const look = scriptedTool("look", called, { effect: "reads" });
    const engine = await stage.open({ store: { ...real, append }, tools: [look.tool] });
    const plan = {
      steps: [
        { step_id: "a", name: "look", payload: { n: 1 } },
        { step_id: "b", name: "look", payload: { n: 2 }, depends_on: ["a"] },
      ],
    };
    await (await engine.submit(plan, { principal: botAgent })).result();
    expect(told).toEqual(["run.accepted", "called 1", "called 2", "step.succeeded", "step.succeeded", "run.ended"]);
  });

  it("performs each act of a fan-out once and gives the joining step all outputs", async () => {
    const stage = newStage();
    const send = scriptedTool("send", ({ input }) => ({ sent: input.n as number }));
    const sum = scriptedTool(
      "sum",
      ({ input }) => ({ total: Object.values(input).reduce<number>((all, n) => all + Number(n), 0) }),
      {
        effect: "pure",
      },
    );
    const engine = await stage.open({ tools: [send.tool, sum.tool] });
    const sends = Array.from({ length: 50 }, (_, n) => ({ step_id: `s${n}`, name: "send", payload: { n } }));
    const bindings = Object.fromEntries(sends.map(({ step_id }) => [`/${step_id}`, { step: step_id, path: "/sent" }]));
    const run = await engine.submit(
      { steps: [...sends, { step_id: "sum", name: "sum", bindings }] },
      { principal: botAgent },
    );
    expect((await run.result()).steps.sum).toMatchObject({ output: { total: 1225 } });
    expect(new Set(send.calls.map(({ context }) => context.key)).size).toBe(50);
  });

  it("starts steps in plan order", async () => {
    const stage = newStage();
    const look = scriptedTool("look", ({ input }) => input, { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool], limits: { concurrency: 1 } });
    const steps = Array.from({ length: 30 }, (_, n) => ({ step_id: `s${n}`, name: "look", payload: { n } }));
    await (await engine.submit({ steps }, { principal: botAgent })).result();
    expect(look.calls.map(({ input }) => input.n)).toEqual(steps.map(({ payload }) => payload.n));
  });

  it("keeps a run whose wait is over until a handler slot is free", async () => {
    const stage = newStage();
    const answer = deferred<Json>();
    const slow = scriptedTool("slow", () => answer.promise, { effect: "reads", timeoutMs: 600_000 });
    const engine = await stage.open({ tools: [slow.tool], limits: { concurrency: 1 } });
    const pause = { step_id: "pause", kind: "wait", payload: { ms: 5000 } };
    const paused = await engine.submit({ steps: [pause] }, { principal: botAgent });
    await paused.result();
    await engine.submit({ steps: [{ step_id: "slow", name: "slow" }] }, { principal: botAgent });
    for (let second = 0; second < 60; second += 1) await stage.advance(1000);
    const claims = await stage.store().claims("acme" as Tenant, "", 10);
    expect(claims.find(({ run }) => run === paused.run_id)?.epoch).toBe(2);
    answer.keep({});
    expect((await paused.result()).status).toBe("completed");
  });

  it("finishes parallel runs independently", async () => {
    const stage = newStage();
    const look = scriptedTool("look", ({ input }) => input, { effect: "reads" });
    const send = scriptedTool("send", ({ input }) => input);
    const engine = await stage.open({ tools: [look.tool, send.tool], limits: { concurrency: 8 } });
    const runs = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        engine.submit(
          {
            steps: [
              { step_id: "look", name: "look", payload: { n } },
              { step_id: "send", name: "send", bindings: { "/n": { step: "look", path: "/n" } } },
            ],
          },
          { principal: botAgent },
        ),
      ),
    );
    const results = await Promise.all(runs.map((run) => run.result()));
    expect(results.map(({ steps }) => steps.send)).toEqual(
      results.map((_, n) => ({ state: "succeeded", output: { n } })),
    );
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("finishes a long chain of steps through a crash", async () => {
    const stage = newStage();
    const add = scriptedTool("add", ({ input }) => ({ n: (input.n as number) + 1 }), { effect: "reads" });
    let crashed = false;
    const send = scriptedTool("send", ({ input }) => input);
    const tools = [add.tool, send.tool];
    const first = await stage.open({
      tools,
      failpoint: (point) => {
        if (point !== "end.after" || crashed) return;
        crashed = true;
        void stage.crash();
      },
    });
    const chain = Array.from({ length: 60 }, (_, n) => ({
      step_id: `s${n}`,
      name: n === 30 ? "send" : "add",
      ...(n === 0 ? { payload: { n: 0 } } : { bindings: { "/n": { step: `s${n - 1}`, path: "/n" } } }),
    }));
    const { run_id } = await first.submit({ steps: chain }, { principal: botAgent });
    for (let turn = 0; !crashed && turn < 100; turn += 1) await stage.advance(1);
    expect(crashed).toBe(true);
    const second = await stage.open({ tools });
    const result = await stage.runUntilIdle(await second.run(run_id, { principal: botAgent }));
    expect(result).toMatchObject({ status: "completed", steps: { s59: { output: { n: 59 } } } });
    expect(send.calls).toHaveLength(1);
    // The dead worker may have asked once more than it could record, and lost the results of its last turn.
    expect(add.calls.length).toBeLessThanOrEqual(59 + 1 + RESULTS_AHEAD_MAX);
  });
});
