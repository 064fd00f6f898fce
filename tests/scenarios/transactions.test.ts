import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandVisibility } from "../../src/core/fault.ts";
import type { JsonObject } from "../../src/core/json/json.ts";
import type { ToolContext } from "../../src/core/tool.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { actor, eventsOf, faultOf, hang, journalOf, promised, throws } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const counts = defineSlice({
  name: "counts",
  shape: "map",
  entry: { type: "integer" },
  reducers: {
    paid: (slice, { who, amount }: { who: string; amount: number }) =>
      slice.set(who, ((slice.get(who) as number | undefined) ?? 0) + amount),
    wrong: () => {
      throw new Error("the books are closed");
    },
  },
  invariant: (count, key) => ((count as number) < 0 ? `of ${key} is below zero` : null),
});
const invoked = defineSlice({
  name: "tool_invoked",
  shape: "list",
  entry: {},
  reducers: { "tool.invoked": (slice, event: JsonObject) => slice.append(event) },
});
const mine = defineSlice({ name: "mine", shape: "list", scope: "session", entry: {} });
const project = "books";
const one = (name: string, payload: object = {}) => ({ steps: [{ step_id: "a", name, payload }] });

describe.each(places)("an act and state, on $name", ({ newStage }) => {
  const pay = (event: string) =>
    actor("pay", ({ context }) => {
      context.dispatch(event, { who: "ana", amount: 5 });
      return { id: 1 };
    });

  it("are one: what it dispatched is applied when it commits, to the state as it then is", async () => {
    const stage = newStage();
    const go = promised<void>();
    const slow = actor("pay", async ({ context }) => {
      context.dispatch("paid", { who: "ana", amount: 5 });
      await go.promise;
      return { id: 1 };
    });
    const set = actor("set", ({ context }) => context.slice(counts).set("ana", 100) ?? { ok: 1 }, { effect: "writes" });
    const engine = await stage.open({ tools: [slow.tool, set.tool], slices: [counts] });
    const run = await engine.submit(one("pay"), { principal: bot, project });
    await stage.pass(0);
    await (await engine.submit(one("set"), { principal: bot, project })).result();
    go.keep();
    expect((await run.result()).status).toBe("completed");
    expect((await engine.state({ principal: bot, project })).slice(counts).get("ana")).toBe(105);
    expect(slow.calls).toHaveLength(1);
    expect(await engine.audit({ principal: bot })).toMatchObject({ broken: [] });
  });

  it("part where a reducer refuses: the receipt stands, state does not change, and the run stops there", async () => {
    const stage = newStage();
    const act = pay("wrong");
    const engine = await stage.open({ tools: [act.tool], slices: [counts] });
    const steps = [
      { step_id: "a", name: "pay" },
      { step_id: "b", name: "pay", depends_on: ["a"] },
    ];
    const run = await engine.submit({ steps }, { principal: bot, project });
    const result = await run.result();
    expect(result.steps).toMatchObject({
      a: { state: "failed_final", fault: { code: "STATE_AFTER_ACT", detail: { code: "REDUCER_FAILED" } } },
      b: { state: "skipped" },
    });
    expect((await eventsOf(run, "step.failed"))[0]).toMatchObject({
      output: { id: 1 },
      world: "compensatable_failure",
    });
    expect((await engine.state({ principal: bot, project })).version).toBe(0);
    expect(act.calls).toHaveLength(1);
  });

  it("part where one is undone and a reducer refuses: it is undone, and the undoing is on record with what was refused", async () => {
    const stage = newStage();
    const act = actor("pay", () => ({ id: 1 }), {
      compensate: async (_done: unknown, context: ToolContext) => context.dispatch("wrong", {}),
    });
    const engine = await stage.open({ tools: [act.tool], slices: [counts] });
    const run = await engine.submit(one("pay"), { principal: bot, project });
    await run.result();
    await engine.resolve(run.run_id, "a", { principal: ana, as: "undo" });
    const { final, steps } = await stage.rest(run);
    expect(final).toBe(true);
    expect(steps.a?.state).toBe("compensated");
    expect(Object.values(steps)).toContainEqual(
      expect.objectContaining({ state: "failed_final", fault: expect.objectContaining({ code: "STATE_AFTER_ACT" }) }),
    );
    expect(await engine.audit({ principal: bot })).toMatchObject({ broken: [] });
  });

  it("writes no draft: only what it dispatches reaches state", async () => {
    const stage = newStage();
    const act = actor("pay", ({ context }) => context.slice(counts).set("ana", 1) ?? { id: 1 });
    const engine = await stage.open({ tools: [act.tool], slices: [counts] });
    const run = await engine.submit(one("pay"), { principal: bot, project });
    await run.result();
    expect((await engine.state({ principal: bot, project })).version).toBe(0);
  });
});

describe.each(places)("a call that does not end well, on $name", ({ newStage }) => {
  const write = (then: Parameters<typeof actor>[1], more: object = {}) => {
    const deed = then as (call: Parameters<typeof hang>[0]) => unknown;
    return actor("write", (call) => call.context.slice(counts).set("a", 1) ?? deed(call), {
      effect: "writes",
      ...more,
    });
  };

  it("is rolled back when it asks to see more, and whoever called hears what it wants to see", async () => {
    const stage = newStage();
    const wanting = write(() => {
      throw expandVisibility(["reference.api"], "the signature is not shown");
    });
    const engine = await stage.open({ tools: [wanting.tool], slices: [counts] });
    const before = await engine.state({ principal: bot, project });
    expect(await faultOf(engine.call("write", {}, { principal: bot, project }))).toEqual({
      code: "VISIBILITY_WANTED",
      message: "the signature is not shown",
      detail: { sections: ["reference.api"] },
    });
    const after = await engine.state({ principal: bot, project });
    expect([after.version, after.slice(counts).all()]).toEqual([before.version, before.slice(counts).all()]);
  });

  it("is rolled back when the run's deadline passes, and that is the run's fault, not the tool's", async () => {
    const stage = newStage();
    const slow = write(hang, { timeoutMs: 60_000 });
    const engine = await stage.open({ tools: [slow.tool], slices: [counts] });
    const run = await engine.submit(one("write"), { principal: bot, project, deadlineMs: 2000 });
    expect((await stage.rest(run)).steps.a).toMatchObject({
      state: "failed_final",
      fault: { code: "DEADLINE_EXCEEDED" },
    });
    expect((await engine.state({ principal: bot, project })).version).toBe(0);
  });

  it("is rolled back when it is cancelled, and what its handler does afterwards changes nothing", async () => {
    const stage = newStage();
    const go = promised<void>();
    let late: unknown = null;
    const slow = write(async ({ context }) => {
      await go.promise;
      try {
        context.slice(counts).set("b", 2);
      } catch (error) {
        late = error;
      }
      return { ok: true };
    });
    const engine = await stage.open({ tools: [slow.tool], slices: [counts] });
    const run = await engine.submit(one("write"), { principal: bot, project });
    await stage.pass(0);
    await run.cancel();
    go.keep();
    expect((await stage.rest(run)).status).toBe("cancelled");
    expect(String(late)).toMatch(/after its call was over/);
    expect((await engine.state({ principal: bot, project })).version).toBe(0);
  });

  it("breaks an invariant, and leaves nothing", async () => {
    const bad = actor("bad", ({ context }) => context.dispatch("paid", { who: "ana", amount: -1 }) ?? { ok: 1 }, {
      effect: "writes",
    });
    const engine = await newStage().open({ tools: [bad.tool], slices: [counts] });
    const run = await engine.submit(one("bad"), { principal: bot, project });
    expect((await run.result()).steps.a).toMatchObject({
      fault: { code: "STATE_INVALID", message: expect.stringContaining("below zero") },
    });
    expect((await engine.state({ principal: bot, project })).version).toBe(0);
  });

  it("is in the log of calls, whether it threw, failed or succeeded", async () => {
    const stage = newStage();
    const tools = [
      actor("threw", throws("TOOL_FAILED"), { effect: "reads" }).tool,
      actor("failed", () => ({ success: false }), { effect: "writes" }).tool,
      actor("garbage", () => 7, { effect: "pure", output: { type: "object" } }).tool,
      actor("fine", () => ({ ok: 1 }), { effect: "pure" }).tool,
      actor("acted", () => ({ ok: 1 })).tool,
    ];
    const engine = await stage.open({ tools, slices: [counts, invoked] });
    for (const { name } of tools) await (await engine.submit(one(name), { principal: bot, project })).result();
    const log = (await engine.state({ principal: bot, project })).slice(invoked).all() as readonly JsonObject[];
    expect(log.map(({ tool, success }) => [tool, success])).toEqual([
      ["threw", false],
      ["failed", false],
      ["garbage", false],
      ["fine", true],
      ["acted", true],
    ]);
  });

  it("has its log kept though the log itself is broken for others: a record that cannot be kept takes nothing back", async () => {
    const picky = defineSlice({
      name: "tool_invoked",
      shape: "list",
      entry: { type: "integer" },
      reducers: { "tool.invoked": (slice, event: JsonObject) => slice.append(event as never) },
    });
    const fine = write(() => ({ ok: 1 }));
    const engine = await newStage().open({ tools: [fine.tool], slices: [counts, picky] });
    const run = await engine.submit(one("write"), { principal: bot, project });
    expect((await run.result()).status).toBe("completed");
    expect((await engine.state({ principal: bot, project })).slice(counts).get("a")).toBe(1);
  });

  it("reads, and may not write", async () => {
    const peek = actor("peek", ({ context }) => context.slice(counts).set("a", 1) ?? 1, { effect: "reads" });
    const engine = await newStage().open({ tools: [peek.tool], slices: [counts] });
    const run = await engine.submit(one("peek"), { principal: bot, project });
    expect((await run.result()).steps.a).toMatchObject({ fault: { code: "STATE_FORBIDDEN" } });
  });
});

describe.each(places)("steps that are about state, on $name", ({ newStage }) => {
  it.each(["", "00", "01", "1e0", "0x1", " 0", "-0", "+0", "0.0", "2"])(
    "mean an entry of a list by its number, and none by /lines/%s",
    async (key) => {
      const lines = defineSlice({ name: "lines", shape: "list", entry: { type: "string" } });
      const engine = await newStage().open({ tools: [], slices: [lines] });
      const step = (step_id: string, kind: string, path: string, more: object = {}) => ({
        step_id,
        kind,
        payload: { path, ...more },
        on_failure: "skip",
      });
      const call = async (...steps: readonly object[]) =>
        (await (await engine.submit({ steps }, { principal: bot, project })).result()).steps;
      await call(step("a", "state_write", "/lines/-", { value: "one" }));
      await call(step("a", "state_write", "/lines/-", { value: "two" }));
      expect(await call(step("a", "state_read", "/lines/1"))).toMatchObject({ a: { output: "two" } });
      expect(
        await call(step("r", "state_read", `/lines/${key}`), step("w", "state_write", `/lines/${key}`, { value: "x" })),
      ).toMatchObject({ r: { output: null }, w: { state: "failed_final", fault: { code: "STATE_INVALID" } } });
      expect((await engine.state({ principal: bot, project })).slice(lines).all()).toEqual(["one", "two"]);
    },
  );

  const read = (step_id: string, path: string, depends_on: readonly string[]) => ({
    step_id,
    kind: "state_read",
    payload: { path },
    depends_on,
  });

  it("write and read it, dispatch to it and are held to what it says", async () => {
    const engine = await newStage().open({ tools: [], slices: [counts] });
    const steps = [
      { step_id: "set", kind: "state_write", payload: { path: "/counts/ana", value: 2 } },
      {
        step_id: "pay",
        kind: "state_write",
        payload: { event: "paid", payload: { who: "ana", amount: 3 } },
        depends_on: ["set"],
      },
      read("look", "/counts/ana", ["pay"]),
      read("all", "/counts", ["pay"]),
      { step_id: "is", kind: "assertion", payload: { step: "look", path: "", operator: "eq", value: 5 } },
      {
        step_id: "copy",
        kind: "state_write",
        payload: { path: "/counts/bob" },
        bindings: { "/value": { step: "look", path: "" } },
      },
      { step_id: "low", kind: "state_write", payload: { path: "/counts/ana", value: -1 }, depends_on: ["copy"] },
    ];
    const run = await engine.submit({ steps }, { principal: bot, project });
    expect(await run.result()).toMatchObject({
      status: "partial",
      steps: {
        look: { output: 5 },
        all: { output: { ana: 5 } },
        is: { state: "succeeded" },
        low: { state: "failed_final", fault: { code: "STATE_INVALID" } },
      },
    });
    expect(Object.fromEntries((await engine.state({ principal: bot, project })).slice(counts).all())).toEqual({
      ana: 5,
      bob: 5,
    });
  });

  it.each([
    ["no place", { kind: "state_read", payload: { path: "counts" } }],
    ["neither a value nor an event", { kind: "state_write", payload: { path: "/counts/a" } }],
    ["both", { kind: "state_write", payload: { path: "/counts/a", value: 1, event: "paid" } }],
  ])("are refused with %s", async (_, step) => {
    const engine = await newStage().open({ tools: [], slices: [counts] });
    expect(engine.check({ steps: [{ step_id: "a", ...step }] })).toMatchObject({ ok: false });
  });
});

describe.each(places)("what a call works with, on $name", ({ newStage }) => {
  it("is its session's own where the slice says so", async () => {
    const say = actor("say", ({ input, context }) => context.slice(mine).append(input.word as never) ?? 1, {
      effect: "writes",
    });
    const engine = await newStage().open({ tools: [say.tool], slices: [mine] });
    for (const session of ["one", "two"])
      await (await engine.submit(one("say", { word: session }), { principal: bot, project, session })).result();
    const seen = async (session: string) =>
      (await engine.state({ principal: bot, project, session })).slice(mine).all();
    expect([await seen("one"), await seen("two")]).toEqual([["one"], ["two"]]);
  });

  it("is chance that comes out the same when the same attempt is made again after a crash", async () => {
    const stage = newStage();
    const rolls: number[][] = [];
    const roll = actor(
      "roll",
      [
        (call) => {
          rolls.push([call.context.random(), call.context.random()]);
          return hang(call);
        },
        ({ context }) => rolls.push([context.random(), context.random()]),
      ],
      { effect: "writes" },
    );
    const engine = await stage.open({ tools: [roll.tool], slices: [counts] });
    const run = await engine.submit(one("roll"), { principal: bot });
    await stage.pass(0);
    await stage.crash();
    const next = await stage.open({ tools: [roll.tool], slices: [counts] });
    await stage.rest(await next.run(run.run_id, { principal: bot }));
    expect(rolls).toHaveLength(2);
    expect(rolls[0]).toEqual(rolls[1]);
    expect(rolls[0]?.[0]).not.toBe(rolls[0]?.[1]);
  });

  it("is chance and time that come from the engine", async () => {
    const rolls: number[] = [];
    for (const seed of ["one", "two", "one"]) {
      const stage = newStage();
      const roll = actor("roll", ({ context }) => {
        stage.clock.advance(5);
        rolls.push(context.random());
        return { waited: context.clock.now() - context.now };
      });
      const engine = await stage.open({ tools: [roll.tool], seed, newId: (kind) => `${kind}_1` });
      const run = await engine.submit(one("roll"), { principal: bot });
      expect((await run.result()).steps.a).toMatchObject({ output: { waited: 5 } });
    }
    expect(rolls[0]).toBe(rolls[2]);
    expect(rolls[0]).not.toBe(rolls[1]);
  });

  it("is a copy when a plan is only rehearsed: state stays as it was", async () => {
    const set = actor("set", ({ context }) => context.slice(counts).set("a", 7) ?? { ok: 1 }, { effect: "writes" });
    const get = actor("get", ({ context }) => ({ a: context.slice(counts).get("a") ?? null }) as never, {
      effect: "pure",
    });
    const engine = await newStage().open({ tools: [set.tool, get.tool], slices: [counts] });
    const steps = [
      { step_id: "set", name: "set" },
      { step_id: "get", name: "get", depends_on: ["set"] },
    ];
    expect(await engine.simulate({ steps }, { principal: bot, project })).toMatchObject({
      status: "completed",
      steps: { get: { output: { a: 7 } } },
    });
    expect((await engine.state({ principal: bot, project })).version).toBe(0);
    await (await engine.submit({ steps }, { principal: bot, project })).result();
    expect((await engine.state({ principal: bot, project })).version).toBe(1);
  });
});

describe("calls beside each other", () => {
  type Call = { readonly reads: readonly string[]; readonly writes: readonly string[]; readonly fails: boolean };
  const keys = ["a", "b", "c"];
  const call = fc.record({
    reads: fc.subarray(keys),
    writes: fc.subarray(keys),
    fails: fc.boolean(),
  });

  it("come out as if they had been made one after the other, in the order they committed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 8 }), fc.integer(), async (calls, seed) => {
        const stage = (places[0] as (typeof places)[0]).newStage();
        const work = (
          { reads, writes }: Call,
          get: (key: string) => number,
          set: (key: string, to: number) => void,
          own: number,
        ) => {
          const sum = reads.reduce((total, key) => total + get(key), own);
          for (const key of writes) set(key, (sum * 31 + own) % 1009);
        };
        const tool = actor(
          "mix",
          async ({ input, context }) => {
            const index = Number(input.index);
            const mixed = calls[index] as Call;
            for (let turn = (seed >>> index) & 3; turn > 0; turn -= 1) await null;
            const slice = context.slice(counts);
            const got: [string, number][] = mixed.reads.map((key) => [
              key,
              (slice.get(key) as number | undefined) ?? 0,
            ]);
            for (let turn = (seed >>> (index + 3)) & 3; turn > 0; turn -= 1) await null;
            work(
              mixed,
              (key) => new Map(got).get(key) ?? 0,
              (key, to) => slice.set(key, to),
              index + 1,
            );
            if (mixed.fails) throw new Error("on purpose");
            return { ok: 1 };
          },
          { effect: "writes" },
        );
        const engine = await stage.open({ tools: [tool.tool], slices: [counts] });
        const steps = calls.map((_, index) => ({
          step_id: `s${index}`,
          name: "mix",
          payload: { index },
          on_failure: "skip",
        }));
        const run = await engine.submit({ steps }, { principal: bot, project });
        await stage.rest(run);
        const serial = new Map<string, number>();
        for (const event of await journalOf(run)) {
          if (event.type !== "step.succeeded") continue;
          const index = Number(event.step_id.slice(1));
          work(
            calls[index] as Call,
            (key) => serial.get(key) ?? 0,
            (key, to) => serial.set(key, to),
            index + 1,
          );
        }
        const state = await engine.state({ principal: bot, project });
        expect(new Map(state.slice(counts).all() as readonly (readonly [string, number])[])).toEqual(
          new Map([...serial].sort()),
        );
        await engine.close();
      }),
      { numRuns: 60 },
    );
  });
});
