import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../src/core/tool/tool.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool, throwsFault } from "./scripted-tool.ts";

const note = { type: "object", properties: { text: { type: "string", maxLength: 20 } }, required: ["text"] } as const;
const notes = defineSlice({ name: "notes", shape: "list", entry: note });
const counts = defineSlice({
  name: "counts",
  shape: "map",
  entry: { type: "integer" },
  invariant: (count) => ((count as number) > 100 ? "is more than 100" : null),
});
const diary = defineSlice({
  name: "diary",
  shape: "list",
  policy: "log",
  entry: { type: "string" },
  reducers: { seen: (slice, event) => slice.append(event) },
});
const slices = [notes, counts, diary];

const project = "garden";
const one = (name: string, payload: object = {}) => ({ steps: [{ step_id: "a", name, payload }] });

/** A tool that writes what the story says. */
const writer = (work: (context: ToolContext, text: string) => unknown, name = "write") =>
  scriptedTool(name, async ({ input, context }) => (await work(context, String(input.text))) ?? { ok: true }, {
    effect: "writes",
  });

describe.each(storeKinds)("tool that writes state, on $name", ({ newFixture: newStage }) => {
  it("publishes its draft when it succeeds, for later runs and after a crash", async () => {
    const stage = newStage();
    const write = writer(({ slice }, text) => slice(notes).append({ text }));
    const read = scriptedTool("read", ({ context }) => context.slice(notes).all() as never, { effect: "pure" });
    const options = { tools: [write.tool, read.tool], slices };
    const engine = await stage.open(options);
    const first = await engine.submit(one("write", { text: "sow" }), { principal: botAgent, project });
    expect((await first.result()).status).toBe("completed");
    const second = await engine.submit(one("read"), { principal: botAgent, project });
    expect((await second.result()).steps.a).toMatchObject({ output: [{ text: "sow" }] });
    await stage.crash();
    const again = await stage.open(options);
    await (await again.submit(one("write", { text: "reap" }), { principal: botAgent, project })).result();
    const state = await again.state({ principal: botAgent, project });
    expect(state.version).toBe(2);
    expect(state.slice(notes).all()).toEqual([{ text: "sow" }, { text: "reap" }]);
    expect(await again.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it.each([
    ["throws", throwsFault("TOOL_FAILED")],
    ["says success: false", () => ({ success: false })],
    ["answers with what its schema does not take", () => 7],
  ])("leaves nothing but its logs when it %s", async (_, ending) => {
    const stage = newStage();
    const failing = scriptedTool(
      "write",
      (call) => {
        call.context.slice(notes).append({ text: "lost" });
        call.context.slice(counts).set("a", 1);
        call.context.dispatch("seen", "it began");
        return ending(call);
      },
      { effect: "writes", output: { type: "object" } },
    );
    const engine = await stage.open({ tools: [failing.tool], slices });
    const run = await engine.submit(one("write"), { principal: botAgent, project });
    expect((await run.result()).status).toBe("failed");
    const state = await engine.state({ principal: botAgent, project });
    expect(state.slice(notes).all()).toEqual([]);
    expect(state.slice(counts).size).toBe(0);
    expect(state.slice(diary).all()).toEqual(["it began"]);
  });

  it("fails when a write does not match the schema, though it ignores the error", async () => {
    const stage = newStage();
    const write = writer(({ slice }, text) => {
      slice(notes).append({ text: "kept?" });
      try {
        slice(notes).append({ text });
      } catch {}
    });
    const engine = await stage.open({ tools: [write.tool], slices });
    const run = await engine.submit(one("write", { text: "x".repeat(21) }), { principal: botAgent, project });
    expect((await run.result()).steps.a).toMatchObject({ state: "failed_final", fault: { code: "STATE_INVALID" } });
    expect((await engine.state({ principal: botAgent, project })).version).toBe(0);
  });

  it("uses the run's own state where the run names no project", async () => {
    const stage = newStage();
    const write = writer(({ slice }, text) => slice(notes).append({ text }));
    const engine = await stage.open({ tools: [write.tool], slices });
    const run = await engine.submit(one("write", { text: "mine" }), { principal: botAgent });
    await run.result();
    expect((await engine.state({ principal: botAgent, runId: run.run_id })).slice(notes).all()).toEqual([
      { text: "mine" },
    ]);
    expect((await engine.state({ principal: botAgent, project })).version).toBe(0);
    const other = { ...botAgent, tenant: "globex" };
    expect((await engine.state({ principal: other, project })).version).toBe(0);
  });

  it("is rerun when its reads have changed, and counts each of a hundred once", async () => {
    const stage = newStage();
    const add = writer(async ({ slice }) => {
      const count = slice(counts).get("n") ?? 0;
      await null;
      slice(counts).set("n", (count as number) + 1);
    }, "add");
    const engine = await stage.open({ tools: [add.tool], slices });
    const steps = Array.from({ length: 10 }, (_, index) => ({ step_id: `s${index}`, name: "add" }));
    const runs = await Promise.all(
      Array.from({ length: 10 }, () => engine.submit({ steps }, { principal: botAgent, project })),
    );
    for (const run of runs) expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect((await engine.state({ principal: botAgent, project })).slice(counts).get("n")).toBe(100);
    expect((await collectEvents(runs[0] as (typeof runs)[0], "step.failed"))[0]).toMatchObject({
      fault: { code: "STATE_CONFLICT" },
    });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("keeps its state when retention erases its run", async () => {
    const stage = newStage();
    const write = writer(({ slice }, text) => slice(notes).append({ text }));
    const other = scriptedTool("other", () => ({ ok: 1 }), { effect: "pure" });
    const options = { tools: [write.tool, other.tool], slices };
    const engine = await stage.open(options);
    const steps = [
      { step_id: "a", name: "write", payload: { text: "kept" } },
      { step_id: "b", name: "other" },
    ];
    await (await engine.submit({ steps }, { principal: botAgent, project })).result();
    stage.clock.advance(1000);
    expect(await engine.retain({ principal: anaPerson, endedBefore: stage.clock.now() })).toMatchObject({
      runs: 1,
      events: 3,
    });
    await stage.crash();
    const again = await stage.open(options);
    expect((await again.state({ principal: botAgent, project })).slice(notes).all()).toEqual([{ text: "kept" }]);
  });

  it("appends to a log without a rerun", async () => {
    const stage = newStage();
    const write = writer(async ({ slice }, text) => {
      await null;
      slice(notes).append({ text });
    });
    const engine = await stage.open({ tools: [write.tool], slices });
    const steps = Array.from({ length: 20 }, (_, index) => ({
      step_id: `s${index}`,
      name: "write",
      payload: { text: `${index}` },
    }));
    const run = await engine.submit({ steps }, { principal: botAgent, project });
    expect((await run.result()).status).toBe("completed");
    expect((await engine.state({ principal: botAgent, project })).slice(notes).size).toBe(20);
    expect(write.calls).toHaveLength(20);
  });
});
