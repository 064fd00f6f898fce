import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../src/core/tool.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { actor, eventsOf, throws } from "./cast.ts";
import { bot, places } from "./stage.ts";

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
  actor(name, async ({ input, context }) => (await work(context, String(input.text))) ?? { ok: true }, {
    effect: "writes",
  });

describe.each(places)("a tool that writes, on $name", ({ newStage }) => {
  it("publishes its draft when it succeeds: later runs see it, and so does whoever comes after a crash", async () => {
    const stage = newStage();
    const write = writer(({ slice }, text) => slice(notes).append({ text }));
    const read = actor("read", ({ context }) => context.slice(notes).all() as never, { effect: "pure" });
    const options = { tools: [write.tool, read.tool], slices };
    const engine = await stage.open(options);
    const first = await engine.submit(one("write", { text: "sow" }), { principal: bot, project });
    expect((await first.result()).status).toBe("completed");
    const second = await engine.submit(one("read"), { principal: bot, project });
    expect((await second.result()).steps.a).toMatchObject({ output: [{ text: "sow" }] });
    await stage.crash();
    const again = await stage.open(options);
    await (await again.submit(one("write", { text: "reap" }), { principal: bot, project })).result();
    const state = await again.state({ principal: bot, project });
    expect(state.version).toBe(2);
    expect(state.slice(notes).all()).toEqual([{ text: "sow" }, { text: "reap" }]);
    expect(await again.audit({ principal: bot })).toMatchObject({ broken: [] });
  });

  it.each([
    ["throws", throws("TOOL_FAILED")],
    ["says success: false", () => ({ success: false })],
    ["answers with what its schema does not take", () => 7],
  ])("leaves nothing but its logs when it %s", async (_, ending) => {
    const stage = newStage();
    const failing = actor(
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
    const run = await engine.submit(one("write"), { principal: bot, project });
    expect((await run.result()).status).toBe("failed");
    const state = await engine.state({ principal: bot, project });
    expect(state.slice(notes).all()).toEqual([]);
    expect(state.slice(counts).size).toBe(0);
    expect(state.slice(diary).all()).toEqual(["it began"]);
  });

  it("fails when what it writes does not fit, though it looks away", async () => {
    const stage = newStage();
    const write = writer(({ slice }, text) => {
      slice(notes).append({ text: "kept?" });
      try {
        slice(notes).append({ text });
      } catch {}
    });
    const engine = await stage.open({ tools: [write.tool], slices });
    const run = await engine.submit(one("write", { text: "x".repeat(21) }), { principal: bot, project });
    expect((await run.result()).steps.a).toMatchObject({ state: "failed_final", fault: { code: "STATE_INVALID" } });
    expect((await engine.state({ principal: bot, project })).version).toBe(0);
  });

  it("works on a state of its own where the run names no project", async () => {
    const stage = newStage();
    const write = writer(({ slice }, text) => slice(notes).append({ text }));
    const engine = await stage.open({ tools: [write.tool], slices });
    const run = await engine.submit(one("write", { text: "mine" }), { principal: bot });
    await run.result();
    expect((await engine.state({ principal: bot, runId: run.run_id })).slice(notes).all()).toEqual([{ text: "mine" }]);
    expect((await engine.state({ principal: bot, project })).version).toBe(0);
    const other = { ...bot, tenant: "globex" };
    expect((await engine.state({ principal: other, project })).version).toBe(0);
  });

  it("is run again when others changed what it had read, and counts each of a hundred once", async () => {
    const stage = newStage();
    const add = writer(async ({ slice }) => {
      const count = slice(counts).get("n") ?? 0;
      await null;
      slice(counts).set("n", (count as number) + 1);
    }, "add");
    const engine = await stage.open({ tools: [add.tool], slices });
    const steps = Array.from({ length: 10 }, (_, index) => ({ step_id: `s${index}`, name: "add" }));
    const runs = await Promise.all(
      Array.from({ length: 10 }, () => engine.submit({ steps }, { principal: bot, project })),
    );
    for (const run of runs) expect((await stage.rest(run)).status).toBe("completed");
    expect((await engine.state({ principal: bot, project })).slice(counts).get("n")).toBe(100);
    expect((await eventsOf(runs[0] as (typeof runs)[0], "step.failed"))[0]).toMatchObject({
      fault: { code: "STATE_CONFLICT" },
    });
    expect(await engine.audit({ principal: bot })).toMatchObject({ broken: [] });
  });

  it("is remembered when retention has taken the bodies of its run", async () => {
    const stage = newStage();
    const write = writer(({ slice }, text) => slice(notes).append({ text }));
    const other = actor("other", () => ({ ok: 1 }), { effect: "pure" });
    const options = { tools: [write.tool, other.tool], slices };
    const engine = await stage.open(options);
    const steps = [
      { step_id: "a", name: "write", payload: { text: "kept" } },
      { step_id: "b", name: "other" },
    ];
    await (await engine.submit({ steps }, { principal: bot, project })).result();
    stage.clock.advance(1000);
    expect(await engine.retain({ principal: bot, endedBefore: stage.clock.now() })).toMatchObject({
      runs: 1,
      events: 3,
    });
    await stage.crash();
    const again = await stage.open(options);
    expect((await again.state({ principal: bot, project })).slice(notes).all()).toEqual([{ text: "kept" }]);
  });

  it("appends beside others without being run again", async () => {
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
    const run = await engine.submit({ steps }, { principal: bot, project });
    expect((await run.result()).status).toBe("completed");
    expect((await engine.state({ principal: bot, project })).slice(notes).size).toBe(20);
    expect(write.calls).toHaveLength(20);
  });
});
