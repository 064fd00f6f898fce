import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { Tool, ToolContext } from "../../src/core/tool/tool.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { digestOfJson } from "../../src/engine/ports/digest.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, deferred, scriptedTool } from "./scripted-tool.ts";

const stock = defineSlice({ name: "stock", shape: "map", entry: { type: "integer" } });
const project = "shop";
const gated = (name: string, payload: object = {}) => ({
  steps: [{ step_id: "a", name, payload, gate: "human_confirm" }],
});

/** Takes from what is there, and answers what is left. */
const takes = () =>
  scriptedTool(
    "take",
    ({ input, context }) => {
      const all = context.slice(stock);
      const left = Number(all.get("apples") ?? 0) - Number(input.many);
      all.set("apples", left);
      return { left, at: context.now, chance: context.random() };
    },
    { effect: "writes" },
  );
const puts = () =>
  scriptedTool(
    "put",
    ({ input, context }) => {
      context.slice(stock).set(String(input.what), Number(input.many));
      return {};
    },
    { effect: "writes" },
  );

async function held(engine: Engine, plan: object) {
  const run = await engine.submit(plan, { principal: botAgent, project });
  const [gate] = (await run.result()).gates;
  return { run, gate };
}

describe.each(storeKinds)("preview of a held call, on $name", ({ newFixture: newStage }) => {
  const opened = async (more: object = {}) => {
    const stage = newStage();
    const take = takes();
    const engine = await stage.open({ tools: [take.tool, puts().tool], slices: [stock], ...more });
    const put = async (what: string, many: number) => {
      const steps = [{ step_id: "p", name: "put", payload: { what, many } }];
      await (await engine.submit({ steps }, { principal: botAgent, project })).result();
    };
    await put("apples", 5);
    return { stage, engine, take, put };
  };
  const apples = async (engine: Engine) =>
    (await engine.state({ principal: botAgent, project })).slice(stock).get("apples");

  it("shows its writes and its output, from which version, and writes nothing", async () => {
    const { engine } = await opened();
    const { gate } = await held(engine, gated("take", { many: 2 }));
    expect(gate).toMatchObject({
      reversible: true,
      preview: {
        output: { left: 3 },
        patch: [{ op: "set", path: "/stock/apples", value: 3 }],
        pins: { version: 1, reads: { "/stock/apples": digestOfJson([5]) }, resources: {} },
      },
    });
    expect(await engine.gate(gate?.gate_id ?? "", { principal: anaPerson })).toMatchObject({ preview: gate?.preview });
    expect(await apples(engine)).toBe(5);
  });

  it("equals what runs after the approval, though time has passed", async () => {
    const { stage, engine, put } = await opened();
    const { run, gate } = await held(engine, gated("take", { many: 2 }));
    await put("pears", 9); // No call has read this entry.
    stage.clock.advance(60_000);
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    const { steps } = await run.result();
    expect(steps.a).toMatchObject({ state: "succeeded", output: gate?.preview?.output });
    expect(await apples(engine)).toBe(3);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("does not bind an approved call with another input", async () => {
    const { engine } = await opened();
    const { run, gate } = await held(engine, gated("take", { many: 2 }));
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson, input: { many: 1 } });
    expect((await run.result()).steps.a).toMatchObject({ state: "succeeded", output: { left: 4 } });
    expect(await apples(engine)).toBe(4);
  });

  it("is void when its reads have changed: the call stops, is recorded, and a gate with a new preview opens", async () => {
    const { engine, take, put } = await opened();
    const { run, gate } = await held(engine, gated("take", { many: 2 }));
    await put("apples", 4);
    const called = take.calls.length;
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    const [again] = (await run.result()).gates;
    expect(again).toMatchObject({
      stale: { code: "PREVIEW_STALE", detail: { changed: ["/stock/apples"] } },
      votes: [],
      preview: { output: { left: 2 } },
    });
    expect(again?.gate_id).not.toBe(gate?.gate_id);
    expect(await engine.gate(gate?.gate_id ?? "", { principal: anaPerson })).toMatchObject({ status: "closed" });
    expect(await collectEvents(run, "step.started")).toEqual([]);
    expect(await apples(engine)).toBe(4);
    expect(take.calls).toHaveLength(called + 1);
    await engine.approve(again?.gate_id ?? "", { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect(await apples(engine)).toBe(2);
  });

  it("is void though another process made the change and this one has not seen it", async () => {
    const { stage, engine, put } = await opened();
    await put("apples", 4);
    const { run, gate } = await held(engine, gated("take", { many: 2 }));
    const office = await stage.open({ tools: [], slices: [stock], work: false });
    const [first] = await office.checkpoints.list({ principal: anaPerson, project });
    const at = { runId: first?.run_id ?? "", stepId: "p", side: "after" } as const;
    await office.checkpoints.restore(at, { principal: anaPerson });
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    const [again] = (await run.result()).gates;
    expect(again).toMatchObject({ stale: { code: "PREVIEW_STALE" }, preview: { output: { left: 3 } } });
  });

  it("binds the outcome: another outcome is dropped and needs a new approval", async () => {
    const stage = newStage();
    let told = 0;
    const fickle = scriptedTool(
      "fickle",
      ({ context }) => {
        told += 1;
        context.slice(stock).set("apples", told);
        return {};
      },
      { effect: "writes" },
    );
    const engine = await stage.open({ tools: [fickle.tool], slices: [stock] });
    const { run, gate } = await held(engine, gated("fickle"));
    expect(gate?.preview?.patch).toMatchObject([{}, { op: "set", value: 1 }]);
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    const result = await stage.runUntilIdle(run);
    expect(await collectEvents(run, "step.failed")).toMatchObject([{ fault: { code: "PREVIEW_STALE" } }]);
    expect(result.gates).toMatchObject([{ preview: { patch: [{}, { value: 3 }] } }]);
    expect(await apples(engine)).toBeUndefined();
  });

  it("shows the fault if the call would fail", async () => {
    const bad = scriptedTool("bad", () => Promise.reject(new Error("no such thing")), { effect: "pure" });
    const engine = await newStage().open({ tools: [bad.tool] });
    const { gate } = await held(engine, gated("bad"));
    expect(gate?.preview).toMatchObject({
      fault: { code: "TOOL_FAILED", message: expect.stringContaining("no such") },
    });
  });

  it("of an act comes from its tool and binds what the tool read", async () => {
    const stage = newStage();
    const ship = scriptedTool("ship", () => ({ boxes: 1 }), {
      preview: ((_input: unknown, { slice }: { slice: (one: typeof stock) => { get(key: string): unknown } }) => ({
        boxes: Number(slice(stock).get("apples") ?? 0),
      })) as never,
    });
    const engine = await stage.open({ tools: [ship.tool, puts().tool], slices: [stock], tenants: {} });
    const put = async (many: number) => {
      const steps = [{ step_id: "p", name: "put", payload: { what: "apples", many } }];
      await (await engine.submit({ steps }, { principal: botAgent, project })).result();
    };
    await put(5);
    const { run, gate } = await held(engine, { steps: [{ step_id: "a", name: "ship" }] });
    expect(gate?.preview).toMatchObject({ output: { boxes: 5 } });
    await put(6);
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    const [again] = (await run.result()).gates;
    expect(again).toMatchObject({ stale: { code: "PREVIEW_STALE" }, preview: { output: { boxes: 6 } } });
    expect(ship.calls).toHaveLength(0);
    await engine.approve(again?.gate_id ?? "", { principal: anaPerson });
    expect((await run.result()).steps.a).toMatchObject({ state: "succeeded", output: { boxes: 1 } });
    expect(ship.calls).toHaveLength(1);
  });

  /** Opens an engine and calls `meanwhile` after the start of a call is stored, before the engine has the answer. */
  const interrupted = async (tools: readonly Tool[], meanwhile: (engine: Engine) => Promise<unknown>) => {
    const stage = newStage();
    const store = stage.store();
    let wanted = true;
    const append: Store["append"] = async (entries) => {
      const landings = await store.append(entries);
      const starts = entries.some(({ events }) => events.some(({ type }) => type === "step.started"));
      if (starts && wanted) {
        wanted = false;
        await meanwhile(engine);
      }
      return landings;
    };
    const engine: Engine = await stage.open({
      tools: [...tools, puts().tool],
      slices: [stock],
      store: { ...store, append },
      tenants: {},
    });
    return { stage, engine };
  };
  const put = async (engine: Engine, what: string, many: number) => {
    const steps = [{ step_id: "p", name: "put", payload: { what, many } }];
    await (await engine.submit({ steps }, { principal: botAgent, project })).result();
  };
  const counted = (context: ToolContext) => ({ boxes: Number(context.slice(stock).get("apples") ?? 0) });
  const packs = (effect: "acts" | "writes") =>
    scriptedTool("pack", ({ context }) => counted(context), {
      effect,
      tries: 1,
      ...(effect === "acts" && { preview: ((_input: unknown, context: ToolContext) => counted(context)) as never }),
    });

  it.each(["acts", "writes"] as const)(
    "of a call that %s binds the state that the call gets, though others write after its start",
    async (effect) => {
      const pack = packs(effect);
      const { stage, engine } = await interrupted([pack.tool], (on) => put(on, "apples", 6));
      await put(engine, "apples", 5);
      const { run, gate } = await held(engine, gated("pack"));
      const shown = pack.calls.length;
      await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
      const { gates, steps } = await stage.runUntilIdle(run);
      expect(steps.a?.state).toBe("waiting_approval");
      const stale = { code: "PREVIEW_STALE", detail: { changed: ["/stock/apples"] } };
      expect(await collectEvents(run, "step.failed")).toMatchObject([{ fault: stale }]);
      expect(gates).toMatchObject([{ stale, votes: [], preview: { output: { boxes: 6 } } }]);
      expect(pack.calls).toHaveLength(effect === "acts" ? 0 : shown + 1);
      await engine.approve(gates[0]?.gate_id ?? "", { principal: anaPerson });
      expect((await stage.runUntilIdle(run)).steps.a).toMatchObject({ state: "succeeded", output: { boxes: 6 } });
      expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
    },
  );

  it("stands though others write entries that were not read", async () => {
    const pack = packs("acts");
    const { stage, engine } = await interrupted([pack.tool], (on) => put(on, "pears", 6));
    await put(engine, "apples", 5);
    const { run, gate } = await held(engine, gated("pack"));
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    expect((await stage.runUntilIdle(run)).steps.a).toMatchObject({ state: "succeeded", output: { boxes: 5 } });
    expect(pack.calls).toHaveLength(1);
  });

  it("of a call that changes files is bound to their content", async () => {
    const files = new MemoryFilesystem({ name: "files" });
    const edit = scriptedTool(
      "edit",
      async ({ context }) => {
        await context.resource<Filesystem>("files").write("a.txt", "new");
        return { ok: true };
      },
      { effect: "writes", resources: { files: "handle" } },
    );
    const engine = await newStage().open({ tools: [edit.tool], resources: { files } });
    const { run, gate } = await held(engine, gated("edit"));
    expect(edit.calls).toHaveLength(0);
    expect(Object.keys(gate?.preview?.pins.resources ?? {})).toEqual(["files"]);
    const other = await files.capture("someone", "handle");
    await (await files.open(other)).write("b.txt", "theirs");
    await files.close(other);
    await files.keep(other);
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    const [again] = (await run.result()).gates;
    expect(again).toMatchObject({ stale: { detail: { changed: ["files"] } } });
    expect(edit.calls).toHaveLength(0);
    await engine.approve(again?.gate_id ?? "", { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
  });

  it("of a call that changes files comes from its tool and binds its output", async () => {
    const files = new MemoryFilesystem({ name: "files" });
    let line = "one";
    const edit = scriptedTool(
      "edit",
      async ({ context }) => {
        await context.resource<Filesystem>("files").write("a.txt", line);
        return { diff: `+${line}` };
      },
      { effect: "writes", resources: { files: "handle" }, preview: (async () => ({ diff: `+${line}` })) as never },
    );
    const engine = await newStage().open({ tools: [edit.tool], resources: { files } });
    const { run, gate } = await held(engine, gated("edit"));
    expect(gate?.preview).toMatchObject({ output: { diff: "+one" } });
    expect(edit.calls).toHaveLength(0);
    line = "two";
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    const [again] = (await run.result()).gates;
    expect(again).toMatchObject({ stale: { code: "PREVIEW_STALE" }, preview: { output: { diff: "+two" } } });
    await engine.approve(again?.gate_id ?? "", { principal: anaPerson });
    expect(await run.result()).toMatchObject({ status: "completed", steps: { a: { output: { diff: "+two" } } } });
  });

  it("is bound to the cost: a higher cost needs a new approval, a lower one does not", async () => {
    let price = 10;
    const pay = scriptedTool("pay", () => ({ id: 1 }), { cost: () => ({ usd_micros: price }) });
    const engine = await newStage().open({ tools: [pay.tool], tenants: {} });
    const plan = { steps: [{ step_id: "a", name: "pay" }] };
    const cheap = await held(engine, plan);
    price = 9;
    await engine.approve(cheap.gate?.gate_id ?? "", { principal: anaPerson });
    expect((await cheap.run.result()).status).toBe("completed");
    const dear = await held(engine, plan);
    price = 11;
    await engine.approve(dear.gate?.gate_id ?? "", { principal: anaPerson });
    const [again] = (await dear.run.result()).gates;
    expect(again).toMatchObject({ stale: { detail: { changed: ["the cost"] } }, estimate: { usd_micros: 11 } });
    expect(pay.calls).toHaveLength(1);
  });

  /** A tool that is asked what it would do, and thinks about it until it is stopped. */
  const ponders = (more: object = {}) => {
    const began = deferred<void>();
    const stopped: string[] = [];
    const writing: (() => void)[] = [];
    const ponder = scriptedTool(
      "ponder",
      ({ context }) =>
        new Promise((answer) => {
          const all = context.slice(stock);
          context.signal.addEventListener("abort", () => {
            stopped.push(context.signal.reason.fault.code);
            answer({});
          });
          writing.push(() => all.set("apples", 9));
          began.keep();
        }),
      { effect: "writes", ...more },
    );
    return { tool: ponder.tool, began: began.promise, stopped, writing };
  };

  it("stops when its run is cancelled, and its later writes are dropped", async () => {
    const stage = newStage();
    const { tool, began, stopped, writing } = ponders();
    const engine = await stage.open({ tools: [tool], slices: [stock] });
    const run = await engine.submit(gated("ponder"), { principal: botAgent, project });
    await began;
    await run.cancel({ reason: "enough" });
    expect((await run.result()).steps.a?.state).toBe("cancelled");
    expect(await collectEvents(run, "gate.opened")).toEqual([]);
    expect(stopped).toEqual(["CANCELLED"]);
    expect(writing[0]).toThrow(/had ended/);
    expect(await apples(engine)).toBeUndefined();
  });

  it("ends with the deadline of its run", async () => {
    const stage = newStage();
    const { tool, began, stopped } = ponders({ timeoutMs: 60_000 });
    const engine = await stage.open({ tools: [tool], slices: [stock] });
    const run = await engine.submit(gated("ponder"), { principal: botAgent, project, deadlineMs: 1000 });
    await began;
    expect((await stage.runUntilIdle(run)).steps.a).toMatchObject({
      state: "rejected",
      fault: { code: "DEADLINE_EXCEEDED" },
    });
    expect(stopped).toEqual(["DEADLINE_EXCEEDED"]);
  });

  it("is not started by a worker that cannot confirm its lease", async () => {
    const stage = newStage();
    const store = stage.store();
    let at = 0;
    const { tool } = ponders();
    const fickle = scriptedTool("fickle", () => ({}), { effect: "pure" });
    const engine = await stage.open({
      tools: [tool, fickle.tool],
      slices: [stock],
      stopwatch: () => at,
      store: {
        ...store,
        row: (...asked) => {
          if (asked[1] === "project") at += 60_000; // This process stands still.
          return store.row(...asked);
        },
        renew: async (_, claims) => claims,
      },
    });
    // With a key, the run is claimed before its first decision.
    const run = await engine.submit(gated("fickle"), { principal: botAgent, project, requestKey: "look once" });
    await stage.advance(100);
    expect(fickle.calls).toEqual([]);
    expect(await collectEvents(run, "gate.opened")).toEqual([]);
  });

  it("is not computed by a run that costs something before approval", async () => {
    const stage = newStage();
    const dear = scriptedTool("dear", () => ({}), { effect: "pure", cost: () => ({ usd_micros: 5 }) });
    const sly = scriptedTool(
      "sly",
      ({ context }) => {
        context.cost({ usd_micros: 5 });
        return { ok: true };
      },
      { effect: "pure" },
    );
    const engine = await stage.open({ tools: [dear.tool, sly.tool] });
    const one = await held(engine, gated("dear"));
    expect([one.gate?.preview, one.gate?.estimate, dear.calls.length]).toEqual([null, { usd_micros: 5 }, 0]);
    const other = await held(engine, gated("sly"));
    expect(other.gate?.preview).toMatchObject({ fault: { code: "TOOL_INVALID" } });
    await engine.approve(other.gate?.gate_id ?? "", { principal: anaPerson });
    expect((await other.run.result()).steps.a).toMatchObject({ state: "succeeded", output: { ok: true } });
    expect((await collectEvents(other.run, "step.succeeded"))[0]).toMatchObject({ cost: { usd_micros: 5 } });
  });
});
