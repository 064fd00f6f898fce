import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../src/core/tool/tool.ts";
import { expandVisibility } from "../../src/core/values/fault.ts";
import type { JsonObject } from "../../src/core/values/json.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  collectJournal,
  deferred,
  neverAnswers,
  rejectedFault,
  scriptedTool,
  throwsFault,
} from "./scripted-tool.ts";

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

describe.each(storeKinds)("act and state, on $name", ({ newFixture: newStage }) => {
  const pay = (event: string) =>
    scriptedTool("pay", ({ context }) => {
      context.dispatch(event, { who: "ana", amount: 5 });
      return { id: 1 };
    });

  it("commit together: dispatched events apply to the state at commit", async () => {
    const stage = newStage();
    const go = deferred<void>();
    const slow = scriptedTool("pay", async ({ context }) => {
      context.dispatch("paid", { who: "ana", amount: 5 });
      await go.promise;
      return { id: 1 };
    });
    const set = scriptedTool("set", ({ context }) => context.slice(counts).set("ana", 100) ?? { ok: 1 }, {
      effect: "writes",
    });
    const engine = await stage.open({ tools: [slow.tool, set.tool], slices: [counts] });
    const run = await engine.submit(one("pay"), { principal: botAgent, project });
    await stage.advance(0);
    await (await engine.submit(one("set"), { principal: botAgent, project })).result();
    go.keep();
    expect((await run.result()).status).toBe("completed");
    expect((await engine.state({ principal: botAgent, project })).slice(counts).get("ana")).toBe(105);
    expect(slow.calls).toHaveLength(1);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("differ where a reducer refuses: the receipt stands, state is unchanged, and the run stops", async () => {
    const stage = newStage();
    const act = pay("wrong");
    const engine = await stage.open({ tools: [act.tool], slices: [counts] });
    const steps = [
      { step_id: "a", name: "pay" },
      { step_id: "b", name: "pay", depends_on: ["a"] },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent, project });
    const result = await run.result();
    expect(result.steps).toMatchObject({
      a: { state: "failed_final", fault: { code: "STATE_AFTER_ACT", detail: { code: "REDUCER_FAILED" } } },
      b: { state: "skipped" },
    });
    expect((await collectEvents(run, "step.failed"))[0]).toMatchObject({
      output: { id: 1 },
      world: "compensatable_failure",
    });
    expect((await engine.state({ principal: botAgent, project })).version).toBe(0);
    expect(act.calls).toHaveLength(1);
  });

  it("differ where a reducer refuses an undo: the act is undone, and the refusal is recorded", async () => {
    const stage = newStage();
    const act = scriptedTool("pay", () => ({ id: 1 }), {
      compensate: async (_done: unknown, context: ToolContext) => context.dispatch("wrong", {}),
    });
    const engine = await stage.open({ tools: [act.tool], slices: [counts] });
    const run = await engine.submit(one("pay"), { principal: botAgent, project });
    await run.result();
    await engine.resolve(run.run_id, "a", { principal: anaPerson, as: "undo" });
    const { final, steps } = await stage.runUntilIdle(run);
    expect(final).toBe(true);
    expect(steps.a?.state).toBe("compensated");
    expect(Object.values(steps)).toContainEqual(
      expect.objectContaining({ state: "failed_final", fault: expect.objectContaining({ code: "STATE_AFTER_ACT" }) }),
    );
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("share no draft: only dispatched events of an act reach state", async () => {
    const stage = newStage();
    const act = scriptedTool("pay", ({ context }) => context.slice(counts).set("ana", 1) ?? { id: 1 });
    const engine = await stage.open({ tools: [act.tool], slices: [counts] });
    const run = await engine.submit(one("pay"), { principal: botAgent, project });
    await run.result();
    expect((await engine.state({ principal: botAgent, project })).version).toBe(0);
  });
});

describe.each(storeKinds)("call that does not succeed, on $name", ({ newFixture: newStage }) => {
  const write = (then: Parameters<typeof scriptedTool>[1], more: object = {}) => {
    const deed = then as (call: Parameters<typeof neverAnswers>[0]) => unknown;
    return scriptedTool("write", (call) => call.context.slice(counts).set("a", 1) ?? deed(call), {
      effect: "writes",
      ...more,
    });
  };

  it("is rolled back when it needs more input, and the caller gets what it needs", async () => {
    const stage = newStage();
    const wanting = write(() => {
      throw expandVisibility(["reference.api"], "the signature is not shown");
    });
    const engine = await stage.open({ tools: [wanting.tool], slices: [counts] });
    const before = await engine.state({ principal: botAgent, project });
    expect(await rejectedFault(engine.call("write", {}, { principal: botAgent, project }))).toEqual({
      code: "VISIBILITY_WANTED",
      message: "the signature is not shown",
      detail: { sections: ["reference.api"] },
    });
    const after = await engine.state({ principal: botAgent, project });
    expect([after.version, after.slice(counts).all()]).toEqual([before.version, before.slice(counts).all()]);
  });

  it("is rolled back at the run's deadline, with a fault of the run, not of the tool", async () => {
    const stage = newStage();
    const slow = write(neverAnswers, { timeoutMs: 60_000 });
    const engine = await stage.open({ tools: [slow.tool], slices: [counts] });
    const run = await engine.submit(one("write"), { principal: botAgent, project, deadlineMs: 2000 });
    expect((await stage.runUntilIdle(run)).steps.a).toMatchObject({
      state: "failed_final",
      fault: { code: "DEADLINE_EXCEEDED" },
    });
    expect((await engine.state({ principal: botAgent, project })).version).toBe(0);
  });

  it("is rolled back when it is cancelled, and its handler changes nothing afterwards", async () => {
    const stage = newStage();
    const go = deferred<void>();
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
    const run = await engine.submit(one("write"), { principal: botAgent, project });
    await stage.advance(0);
    await run.cancel();
    go.keep();
    expect((await stage.runUntilIdle(run)).status).toBe("cancelled");
    expect(String(late)).toMatch(/after its call had ended/);
    expect((await engine.state({ principal: botAgent, project })).version).toBe(0);
  });

  it("is rolled back when it breaks an invariant", async () => {
    const bad = scriptedTool(
      "bad",
      ({ context }) => context.dispatch("paid", { who: "ana", amount: -1 }) ?? { ok: 1 },
      {
        effect: "writes",
      },
    );
    const engine = await newStage().open({ tools: [bad.tool], slices: [counts] });
    const run = await engine.submit(one("bad"), { principal: botAgent, project });
    expect((await run.result()).steps.a).toMatchObject({
      fault: { code: "STATE_INVALID", message: expect.stringContaining("below zero") },
    });
    expect((await engine.state({ principal: botAgent, project })).version).toBe(0);
  });

  it("is in the log of calls, whether it threw, failed or succeeded", async () => {
    const stage = newStage();
    const tools = [
      scriptedTool("threw", throwsFault("TOOL_FAILED"), { effect: "reads" }).tool,
      scriptedTool("failed", () => ({ success: false }), { effect: "writes" }).tool,
      scriptedTool("garbage", () => 7, { effect: "pure", output: { type: "object" } }).tool,
      scriptedTool("fine", () => ({ ok: 1 }), { effect: "pure" }).tool,
      scriptedTool("acted", () => ({ ok: 1 })).tool,
    ];
    const engine = await stage.open({ tools, slices: [counts, invoked] });
    for (const { name } of tools) await (await engine.submit(one(name), { principal: botAgent, project })).result();
    const log = (await engine.state({ principal: botAgent, project })).slice(invoked).all() as readonly JsonObject[];
    expect(log.map(({ tool, success }) => [tool, success])).toEqual([
      ["threw", false],
      ["failed", false],
      ["garbage", false],
      ["fine", true],
      ["acted", true],
    ]);
  });

  it("keeps its own log entry though the log is broken for others", async () => {
    const picky = defineSlice({
      name: "tool_invoked",
      shape: "list",
      entry: { type: "integer" },
      reducers: { "tool.invoked": (slice, event: JsonObject) => slice.append(event as never) },
    });
    const fine = write(() => ({ ok: 1 }));
    const engine = await newStage().open({ tools: [fine.tool], slices: [counts, picky] });
    const run = await engine.submit(one("write"), { principal: botAgent, project });
    expect((await run.result()).status).toBe("completed");
    expect((await engine.state({ principal: botAgent, project })).slice(counts).get("a")).toBe(1);
  });

  it("is refused a write if it is a read", async () => {
    const peek = scriptedTool("peek", ({ context }) => context.slice(counts).set("a", 1) ?? 1, { effect: "reads" });
    const engine = await newStage().open({ tools: [peek.tool], slices: [counts] });
    const run = await engine.submit(one("peek"), { principal: botAgent, project });
    expect((await run.result()).steps.a).toMatchObject({ fault: { code: "STATE_FORBIDDEN" } });
  });
});

describe.each(storeKinds)("state steps, on $name", ({ newFixture: newStage }) => {
  it.each(["", "00", "01", "1e0", "0x1", " 0", "-0", "+0", "0.0", "2"])(
    "address a list entry by its index, and none by /lines/%s",
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
        (await (await engine.submit({ steps }, { principal: botAgent, project })).result()).steps;
      await call(step("a", "state_write", "/lines/-", { value: "one" }));
      await call(step("a", "state_write", "/lines/-", { value: "two" }));
      expect(await call(step("a", "state_read", "/lines/1"))).toMatchObject({ a: { output: "two" } });
      expect(
        await call(step("r", "state_read", `/lines/${key}`), step("w", "state_write", `/lines/${key}`, { value: "x" })),
      ).toMatchObject({ r: { output: null }, w: { state: "skipped", fault: { code: "STATE_INVALID" } } });
      expect((await engine.state({ principal: botAgent, project })).slice(lines).all()).toEqual(["one", "two"]);
    },
  );

  const read = (step_id: string, path: string, depends_on: readonly string[]) => ({
    step_id,
    kind: "state_read",
    payload: { path },
    depends_on,
  });

  it("of the same literal path are ordered as the plan lists them", async () => {
    const engine = await newStage().open({ tools: [], slices: [counts] });
    const steps = [
      read("early", "/counts/ana", []),
      { step_id: "set", kind: "state_write", payload: { path: "/counts/ana", value: 2 } },
      read("look", "/counts/ana", []),
      read("all", "/counts", []),
      { step_id: "again", kind: "state_write", payload: { path: "/counts/ana", value: 3 } },
      read("late", "/counts/ana", []),
    ];
    const run = await engine.submit({ steps }, { principal: botAgent, project });
    expect(await run.result()).toMatchObject({
      status: "completed",
      steps: {
        early: { output: null },
        look: { output: 2 },
        all: { output: { ana: 2 } },
        late: { output: 3 },
      },
    });
  });

  it("write, read, dispatch and assert state", async () => {
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
    const run = await engine.submit({ steps }, { principal: botAgent, project });
    expect(await run.result()).toMatchObject({
      status: "partial",
      steps: {
        look: { output: 5 },
        all: { output: { ana: 5 } },
        is: { state: "succeeded" },
        low: { state: "failed_final", fault: { code: "STATE_INVALID" } },
      },
    });
    expect(Object.fromEntries((await engine.state({ principal: botAgent, project })).slice(counts).all())).toEqual({
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

describe.each(storeKinds)("context of a call, on $name", ({ newFixture: newStage }) => {
  it("has the session's own state where the slice says so", async () => {
    const say = scriptedTool("say", ({ input, context }) => context.slice(mine).append(input.word as never) ?? 1, {
      effect: "writes",
    });
    const engine = await newStage().open({ tools: [say.tool], slices: [mine] });
    for (const session of ["one", "two"])
      await (await engine.submit(one("say", { word: session }), { principal: botAgent, project, session })).result();
    const seen = async (session: string) =>
      (await engine.state({ principal: botAgent, project, session })).slice(mine).all();
    expect([await seen("one"), await seen("two")]).toEqual([["one"], ["two"]]);
  });

  it("has the same random values when the attempt is repeated after a crash", async () => {
    const stage = newStage();
    const rolls: number[][] = [];
    const roll = scriptedTool(
      "roll",
      [
        (call) => {
          rolls.push([call.context.random(), call.context.random()]);
          return neverAnswers(call);
        },
        ({ context }) => rolls.push([context.random(), context.random()]),
      ],
      { effect: "writes" },
    );
    const engine = await stage.open({ tools: [roll.tool], slices: [counts] });
    const run = await engine.submit(one("roll"), { principal: botAgent });
    await stage.advance(0);
    await stage.crash();
    const next = await stage.open({ tools: [roll.tool], slices: [counts] });
    await stage.runUntilIdle(await next.run(run.run_id, { principal: botAgent }));
    expect(rolls).toHaveLength(2);
    expect(rolls[0]).toEqual(rolls[1]);
    expect(rolls[0]?.[0]).not.toBe(rolls[0]?.[1]);
  });

  it("has random values and time from the engine", async () => {
    const rolls: number[] = [];
    for (const seed of ["one", "two", "one"]) {
      const stage = newStage();
      const roll = scriptedTool("roll", ({ context }) => {
        stage.clock.advance(5);
        rolls.push(context.random());
        return { waited: context.clock.now() - context.now };
      });
      const engine = await stage.open({ tools: [roll.tool], seed, newId: (kind) => `${kind}_1` });
      const run = await engine.submit(one("roll"), { principal: botAgent });
      expect((await run.result()).steps.a).toMatchObject({ output: { waited: 5 } });
    }
    expect(rolls[0]).toBe(rolls[2]);
    expect(rolls[0]).not.toBe(rolls[1]);
  });

  it("has a copy of state in a simulation", async () => {
    const set = scriptedTool("set", ({ context }) => context.slice(counts).set("a", 7) ?? { ok: 1 }, {
      effect: "writes",
    });
    const get = scriptedTool("get", ({ context }) => ({ a: context.slice(counts).get("a") ?? null }) as never, {
      effect: "pure",
    });
    const engine = await newStage().open({ tools: [set.tool, get.tool], slices: [counts] });
    const steps = [
      { step_id: "set", name: "set" },
      { step_id: "get", name: "get", depends_on: ["set"] },
    ];
    expect(await engine.simulate({ steps }, { principal: botAgent, project })).toMatchObject({
      status: "completed",
      steps: { get: { output: { a: 7 } } },
    });
    expect((await engine.state({ principal: botAgent, project })).version).toBe(0);
    await (await engine.submit({ steps }, { principal: botAgent, project })).result();
    expect((await engine.state({ principal: botAgent, project })).version).toBe(1);
  });
});

describe("parallel calls", () => {
  type Call = { readonly reads: readonly string[]; readonly writes: readonly string[]; readonly fails: boolean };
  const keys = ["a", "b", "c"];
  const call = fc.record({
    reads: fc.subarray(keys),
    writes: fc.subarray(keys),
    fails: fc.boolean(),
  });

  it("have the outcome of a serial order, the order of their commits", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 8 }), fc.integer(), async (calls, seed) => {
        const stage = (storeKinds[0] as (typeof storeKinds)[0]).newFixture();
        const work = (
          { reads, writes }: Call,
          get: (key: string) => number,
          set: (key: string, to: number) => void,
          own: number,
        ) => {
          const sum = reads.reduce((total, key) => total + get(key), own);
          for (const key of writes) set(key, (sum * 31 + own) % 1009);
        };
        const tool = scriptedTool(
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
        const run = await engine.submit({ steps }, { principal: botAgent, project });
        await stage.runUntilIdle(run);
        const serial = new Map<string, number>();
        for (const event of await collectJournal(run)) {
          if (event.type !== "step.succeeded") continue;
          const index = Number(event.step_id.slice(1));
          work(
            calls[index] as Call,
            (key) => serial.get(key) ?? 0,
            (key, to) => serial.set(key, to),
            index + 1,
          );
        }
        const state = await engine.state({ principal: botAgent, project });
        expect(new Map(state.slice(counts).all() as readonly (readonly [string, number])[])).toEqual(
          new Map([...serial].sort()),
        );
        await engine.close();
      }),
      { numRuns: 60 },
    );
  });
});
