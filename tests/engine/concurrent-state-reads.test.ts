import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { pausableStore } from "./pausable-store.ts";
import { deferred, scriptedTool } from "./scripted-tool.ts";

const stock = defineSlice({ name: "stock", shape: "map", entry: { type: "integer" } });
const project = "shop";

const call = async (engine: Engine, ...steps: readonly object[]) => {
  const plan = { steps: steps.map((step, n) => ({ step_id: "ab"[n], payload: {}, ...step })) };
  const run = await engine.submit(plan, { principal: botAgent, project });
  return (await run.result()).steps;
};
const put = (what: string) => ({ name: "put", payload: { what } });

const writes = (what: string) => (entries: Parameters<Store["append"]>[0]) =>
  entries.some(({ events }) => events.some(({ body }) => Buffer.from(body ?? []).includes(`/stock/${what}`)));

describe.each(storeKinds)("state read during concurrent writes, on $name", ({ newFixture: newStage }) => {
  const opened = async () => {
    const stage = newStage();
    const { store, pause } = pausableStore(stage.store());
    const doors = new Map<string, { readonly began: () => void; readonly told: Promise<void> }>();
    const passed = async (what: string) => {
      doors.get(what)?.began();
      await doors.get(what)?.told;
      return {};
    };
    const puts = scriptedTool(
      "put",
      ({ input, context }) => {
        context.slice(stock).set(String(input.what), 1);
        return passed(String(input.what));
      },
      { effect: "writes" },
    );
    const waits = scriptedTool("wait", () => passed("wait"), { effect: "pure" });
    const looks = scriptedTool(
      "look",
      ({ context }) =>
        context
          .slice(stock)
          .all()
          .map(([key]) => key),
      { effect: "pure" },
    );
    const engine = await stage.open({ tools: [puts.tool, waits.tool, looks.tool], slices: [stock], store });
    /** Starts calls. The first has read its state, and ends when `told` resolves. */
    const atWork = async (what: string, ...steps: readonly object[]) => {
      const [began, told] = [deferred<void>(), deferred<void>()];
      doors.set(what, { began: () => began.keep(), told: told.promise });
      const over = call(engine, ...steps);
      await began.promise;
      return { over, end: () => told.keep() };
    };
    await call(engine, put("a"));
    return { engine, pause, atWork };
  };
  /** A run that is already claimed. Claiming a run reads the store. */
  const later = [{ name: "wait" }, { name: "look", depends_on: ["a"] }] as const;

  it("includes for the next call what landed during the read", async () => {
    const { engine, pause, atWork } = await opened();
    const looker = await atWork("wait", ...later);
    const b = await atWork("b", put("b"));
    const row = pause("row", (_tenant, table) => table === "project");
    const view = engine.state({ principal: anaPerson, project });
    await row.reached; // It says that there is an a.
    b.end();
    await b.over;
    row.resume();
    await view;
    looker.end();
    expect((await looker.over).b).toMatchObject({ output: ["a", "b"] });
  });

  it("includes what landed while it was read event by event", async () => {
    const { engine, pause, atWork } = await opened();
    const looker = await atWork("wait", ...later);
    const [b, c] = [await atWork("b", put("b")), await atWork("c", put("c"))];
    const landing = pause("append", writes("b"));
    b.end();
    await landing.reached; // It has landed, and the engine has no answer yet.
    const events = pause("events");
    const view = engine.state({ principal: anaPerson, project });
    await events.reached; // They contain b.
    landing.resume();
    await b.over;
    c.end();
    await c.over;
    events.resume();
    await view;
    looker.end();
    expect((await looker.over).b).toMatchObject({ output: ["a", "b", "c"] });
  });

  it("stays cached for a pending restore, for any number of other reads", async () => {
    const { engine, pause } = await opened();
    const [first] = await engine.checkpoints.list({ principal: anaPerson, project });
    const at = { runId: first?.run_id ?? "", stepId: "a", side: "after" } as const;
    await call(engine, put("b"));
    const row = pause("row", (_tenant, table) => table === "setting");
    const back = engine.checkpoints.restore(at, { principal: anaPerson });
    await row.reached;
    await Promise.all(
      Array.from({ length: 501 }, (_, n) => engine.state({ principal: anaPerson, project: `other ${n}` })),
    );
    await call(engine, put("c"));
    row.resume();
    expect((await back).version).toBe(4);
    expect((await call(engine, { name: "look" })).a).toMatchObject({ output: ["a"] });
  });
});
