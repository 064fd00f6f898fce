import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store.ts";
import type { Engine } from "../../src/engine/api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { actor, promised } from "./cast.ts";
import { pausing } from "./pauses.ts";
import { ana, bot, places } from "./stage.ts";

const stock = defineSlice({ name: "stock", shape: "map", entry: { type: "integer" } });
const project = "shop";

const call = async (engine: Engine, ...steps: readonly object[]) => {
  const plan = { steps: steps.map((step, n) => ({ step_id: "ab"[n], payload: {}, ...step })) };
  const run = await engine.submit(plan, { principal: bot, project });
  return (await run.result()).steps;
};
const put = (what: string) => ({ name: "put", payload: { what } });

const writes = (what: string) => (entries: Parameters<Store["append"]>[0]) =>
  entries.some(({ events }) => events.some(({ body }) => Buffer.from(body ?? []).includes(`/stock/${what}`)));

describe.each(places)("state that is read while others write it, on $name", ({ newStage }) => {
  const opened = async () => {
    const stage = newStage();
    const { store, pause } = pausing(stage.store());
    const doors = new Map<string, { readonly began: () => void; readonly told: Promise<void> }>();
    const passed = async (what: string) => {
      doors.get(what)?.began();
      await doors.get(what)?.told;
      return {};
    };
    const puts = actor(
      "put",
      ({ input, context }) => {
        context.slice(stock).set(String(input.what), 1);
        return passed(String(input.what));
      },
      { effect: "writes" },
    );
    const waits = actor("wait", () => passed("wait"), { effect: "pure" });
    const looks = actor(
      "look",
      ({ context }) =>
        context
          .slice(stock)
          .all()
          .map(([key]) => key),
      { effect: "pure" },
    );
    const engine = await stage.open({ tools: [puts.tool, waits.tool, looks.tool], slices: [stock], store });
    /** Calls of which the first has its state, and ends when it is told to. */
    const atWork = async (what: string, ...steps: readonly object[]) => {
      const [began, told] = [promised<void>(), promised<void>()];
      doors.set(what, { began: () => began.keep(), told: told.promise });
      const over = call(engine, ...steps);
      await began.promise;
      return { over, end: () => told.keep() };
    };
    await call(engine, put("a"));
    return { engine, pause, atWork };
  };
  /** Whoever takes a run up looks at the store; this one is under way already. */
  const later = [{ name: "wait" }, { name: "look", depends_on: ["a"] }] as const;

  it("has for the next call what landed while it was being read", async () => {
    const { engine, pause, atWork } = await opened();
    const looker = await atWork("wait", ...later);
    const b = await atWork("b", put("b"));
    const row = pause("row", (_tenant, table) => table === "project");
    const view = engine.state({ principal: ana, project });
    await row.reached; // It says that there is an a.
    b.end();
    await b.over;
    row.goOn();
    await view;
    looker.end();
    expect((await looker.over).b).toMatchObject({ output: ["a", "b"] });
  });

  it("has what landed while it was being read event by event", async () => {
    const { engine, pause, atWork } = await opened();
    const looker = await atWork("wait", ...later);
    const [b, c] = [await atWork("b", put("b")), await atWork("c", put("c"))];
    const landing = pause("append", writes("b"));
    b.end();
    await landing.reached; // It has landed, and nobody here knows.
    const events = pause("events");
    const view = engine.state({ principal: ana, project });
    await events.reached; // They tell of a b.
    landing.goOn();
    await b.over;
    c.end();
    await c.over;
    events.goOn();
    await view;
    looker.end();
    expect((await looker.over).b).toMatchObject({ output: ["a", "b", "c"] });
  });

  it("is not forgotten by whoever is about to go back in it, however many others are looked at meanwhile", async () => {
    const { engine, pause } = await opened();
    const [first] = await engine.checkpoints.list({ principal: ana, project });
    const at = { runId: first?.run_id ?? "", stepId: "a", side: "after" } as const;
    await call(engine, put("b"));
    const row = pause("row", (_tenant, table) => table === "setting");
    const back = engine.checkpoints.restore(at, { principal: ana });
    await row.reached;
    await Promise.all(Array.from({ length: 501 }, (_, n) => engine.state({ principal: ana, project: `other ${n}` })));
    await call(engine, put("c"));
    row.goOn();
    expect(await back).toBe(4);
    expect((await call(engine, { name: "look" })).a).toMatchObject({ output: ["a"] });
  });
});
