import { describe, expect, it } from "vitest";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const counts = defineSlice({ name: "counts", shape: "map", entry: {} });
const invoked = defineSlice({
  name: "tool_invoked",
  shape: "list",
  entry: {},
  reducers: { "tool.invoked": (calls, call) => calls.append(call) },
});
const slices = [counts, invoked];
const at = { principal: botAgent, project: "p" };

const count = scriptedTool(
  "count",
  ({ input, context }) => {
    const name = String(input.name);
    const n = Number(context.slice(counts).get(name) ?? 0) + 1;
    context.slice(counts).set(name, n);
    return { n, at: context.now, chance: context.random() };
  },
  { effect: "writes" },
);
const steps = (...calls: readonly (readonly [string, string, object])[]) => ({
  sequential: true,
  steps: calls.map(([step_id, name, payload]) => ({ step_id, name, payload })),
});

describe.each(storeKinds)("a replay of a run, on $name", ({ newFixture }) => {
  it("is the same for handlers that depend on what is recorded, also after later changes and a crash", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [count.tool], slices });
    const run = await engine.submit(steps(["a", "count", { name: "x" }], ["b", "count", { name: "x" }]), at);
    await run.finished();
    await engine.call("count", { name: "x" }, at);
    await stage.crash();
    const next = await stage.open({ tools: [count.tool], slices });
    const before = count.calls.length;
    const replayed = await (await next.run(run.run_id, { principal: anaPerson })).replay();
    expect(replayed).toEqual(["a", "b"].map((step_id) => ({ step_id, tool: "count", attempt: 1, replay: "same" })));
    expect(count.calls.length).toBe(before + 2);
    expect((await next.state(at)).slice(counts).get("x")).toBe(3);
    expect(await next.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("tells a pure handler that answers differently, and one that writes something else", async () => {
    let answer = 1;
    const pure = scriptedTool("guess", () => ({ answer }), { effect: "pure" });
    const writes = scriptedTool("put", ({ context }) => context.slice(counts).set("y", answer) ?? {}, {
      effect: "writes",
    });
    const fails = scriptedTool("fail", () => (answer === 1 ? {} : Promise.reject(new Error("no"))), { effect: "pure" });
    const engine = await newFixture().open({ tools: [pure.tool, writes.tool, fails.tool], slices });
    const run = await engine.submit(steps(["g", "guess", {}], ["p", "put", {}], ["f", "fail", {}]), at);
    const { run_id } = await run.finished();
    answer = 2;
    const events = async () => {
      const all: unknown[] = [];
      for await (const one of (await engine.run(run_id, { principal: anaPerson })).events()) all.push(one);
      return all;
    };
    const recorded = await events();
    const [guess, put, fail] = await run.replay();
    expect(guess).toMatchObject({
      replay: "different",
      differs: "output",
      recorded: '{"answer":1}',
      computed: '{"answer":2}',
    });
    expect(put).toMatchObject({ step_id: "p", replay: "different", differs: "state" });
    expect(fail).toMatchObject({
      replay: "different",
      differs: "output",
      computed: expect.stringContaining("TOOL_FAILED"),
    });
    expect(await events()).toEqual(recorded);
    expect((await engine.state(at)).slice(counts).get("y")).toBe(1);
  });

  it("makes no act, no read and no call of another tool than the recorded one, and sends no notice", async () => {
    const stage = newFixture();
    const act = scriptedTool("mail", () => ({}), { effect: "acts" });
    const read = scriptedTool("page", () => ({}), { effect: "reads" });
    const told: string[] = [];
    const notes = scriptedTool("note", ({ context }) => context.notice("noted", {}) ?? {}, { effect: "pure" });
    const options = { tools: [act.tool, read.tool, notes.tool], onNotice: async () => void told.push("noted") };
    const engine = await stage.open(options);
    const run = await engine.submit(steps(["m", "mail", {}], ["r", "page", {}], ["n", "note", {}]), at);
    expect((await run.finished()).status).toBe("completed");
    const before = [act.calls.length, read.calls.length];
    const replayed = await run.replay();
    expect(replayed.map(({ replay }) => replay)).toEqual(["not_called", "not_called", "same"]);
    expect([act.calls.length, read.calls.length]).toEqual(before);
    await stage.crash();
    const later = scriptedTool("note", () => ({}), { effect: "pure", version: "2" });
    const changed = await stage.open({ tools: [act.tool, read.tool, later.tool] });
    const third = (await (await changed.run(run.run_id, { principal: anaPerson })).replay())[2];
    expect(third).toMatchObject({ replay: "not_called", why: "its tool is not here, or not as it was" });
    expect(later.calls).toHaveLength(0);
    expect(told.length).toBeLessThanOrEqual(1);
  });

  it("of another tenant, or of another agent, is refused", async () => {
    const engine = await newFixture().open({ tools: [count.tool], slices });
    const { run_id } = await engine.call("count", { name: "x" }, { principal: botAgent });
    const eve = { id: "eve", kind: "person", tenant: "other" } as const;
    const called = count.calls.length;
    expect((await rejectedFault(engine.run(run_id, { principal: eve }))).code).toBe("RUN_NOT_FOUND");
    const spy = { id: "spy", kind: "agent", tenant: "acme" } as const;
    const refused = await rejectedFault(engine.run(run_id, { principal: spy }).then((run) => run.replay()));
    expect(refused.code).toBe("AUTH_FORBIDDEN");
    expect(count.calls.length).toBe(called);
  });
});
