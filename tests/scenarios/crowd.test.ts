import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store.ts";
import { actor } from "./cast.ts";
import { bot, places, type Stage } from "./stage.ts";

/** Counts how often the store is asked to write. Writing takes a turn of the event loop, as it does on a disk. */
function counting(stage: Stage): { readonly store: Store; appends: number } {
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

describe.each(places)("many at once, on $name", ({ newStage }) => {
  it("a thousand parallel steps finish, share their appends, and never run more than they may at a time", async () => {
    const stage = newStage();
    const counter = counting(stage);
    let running = 0;
    let most = 0;
    const look = actor(
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
    const result = await (await engine.submit({ steps }, { principal: bot })).result();
    expect(result.status).toBe("completed");
    expect(Object.values(result.steps)).toEqual(steps.map(({ payload }) => ({ state: "succeeded", output: payload })));
    expect(look.calls).toHaveLength(1000);
    expect(most).toBeGreaterThan(32);
    expect(most).toBeLessThanOrEqual(64);
    expect(counter.appends).toBeLessThan(200);
  });

  it("outcomes of one moment share one append: none of them waits for a sync that the first had to itself", async () => {
    const stage = newStage();
    const counter = counting(stage);
    const look = actor("look", ({ input }) => input, { effect: "reads" });
    const engine = await stage.open({ store: counter.store, tools: [look.tool] });
    const steps = Array.from({ length: 100 }, (_, n) => ({ step_id: `s${n}`, name: "look", payload: { n } }));
    const run = await engine.submit({ steps }, { principal: bot });
    const accepted = counter.appends;
    expect((await run.result()).status).toBe("completed");
    expect(counter.appends).toBe(accepted + 1);
  });

  it("a step that needs nothing is called as soon as the one before it is on record", async () => {
    const stage = newStage();
    const real = stage.store();
    const told: string[] = [];
    const append: Store["append"] = async (entries) => {
      const landings = await real.append(entries);
      for (const { events } of entries) told.push(...events.map(({ type }) => type));
      return landings;
    };
    const called: Parameters<typeof actor>[1] = ({ input }) => {
      told.push(`called ${input.n}`);
      return input;
    };
    const look = actor("look", called, { effect: "reads" });
    const engine = await stage.open({ store: { ...real, append }, tools: [look.tool] });
    const plan = {
      steps: [
        { step_id: "a", name: "look", payload: { n: 1 } },
        { step_id: "b", name: "look", payload: { n: 2 }, depends_on: ["a"] },
      ],
    };
    await (await engine.submit(plan, { principal: bot })).result();
    expect(told).toEqual(["run.accepted", "called 1", "step.succeeded", "called 2", "step.succeeded", "run.ended"]);
  });

  it("a fan of acts is done once each, and what gathers them sees them all", async () => {
    const stage = newStage();
    const send = actor("send", ({ input }) => ({ sent: input.n as number }));
    const sum = actor(
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
      { principal: bot },
    );
    expect((await run.result()).steps.sum).toMatchObject({ output: { total: 1225 } });
    expect(new Set(send.calls.map(({ context }) => context.key)).size).toBe(50);
  });

  it("steps start in the order of the plan", async () => {
    const stage = newStage();
    const look = actor("look", ({ input }) => input, { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool], limits: { concurrency: 1 } });
    const steps = Array.from({ length: 30 }, (_, n) => ({ step_id: `s${n}`, name: "look", payload: { n } }));
    await (await engine.submit({ steps }, { principal: bot })).result();
    expect(look.calls.map(({ input }) => input.n)).toEqual(steps.map(({ payload }) => payload.n));
  });

  it("runs side by side come to their own ends", async () => {
    const stage = newStage();
    const look = actor("look", ({ input }) => input, { effect: "reads" });
    const send = actor("send", ({ input }) => input);
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
          { principal: bot },
        ),
      ),
    );
    const results = await Promise.all(runs.map((run) => run.result()));
    expect(results.map(({ steps }) => steps.send)).toEqual(
      results.map((_, n) => ({ state: "succeeded", output: { n } })),
    );
    expect((await engine.audit({ principal: bot })).broken).toEqual([]);
  });

  it("a long chain goes step by step to its end, through a crash", async () => {
    const stage = newStage();
    const add = actor("add", ({ input }) => ({ n: (input.n as number) + 1 }), { effect: "reads" });
    let crashed = false;
    const send = actor("send", ({ input }) => input);
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
    const { run_id } = await first.submit({ steps: chain }, { principal: bot });
    for (let turn = 0; !crashed && turn < 100; turn += 1) await stage.pass(1);
    expect(crashed).toBe(true);
    const second = await stage.open({ tools });
    const result = await stage.rest(await second.run(run_id, { principal: bot }));
    expect(result).toMatchObject({ status: "completed", steps: { s59: { output: { n: 59 } } } });
    expect(send.calls).toHaveLength(1);
    expect(add.calls.length).toBeLessThanOrEqual(59 + 1); // The dead worker may have asked once more than it could record.
  });
});
