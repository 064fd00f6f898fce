import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../src/core/tool/tool.ts";
import { expandVisibility } from "../../src/core/values/fault.ts";
import type { Json, JsonObject } from "../../src/core/values/json.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, collectJournal, rejectedFault, scriptedTool, type ToolBehaviour } from "./scripted-tool.ts";

const notes = defineSlice({ name: "notes", shape: "list", entry: {} });
const facts = defineSlice({ name: "facts", shape: "map", entry: {} });
const diary = defineSlice({
  name: "diary",
  shape: "list",
  policy: "log",
  entry: {},
  reducers: { seen: (slice, event: Json) => slice.append(event) },
});
const slices = [notes, facts, diary];
const project = "garden";
const one = (name: string, payload: object = {}) => ({ steps: [{ step_id: "a", name, payload }] });
const textIn = async (files: MemoryFilesystem, path: string) =>
  (await files.open(await files.capture("look", "handle"))).readText(path);

describe.each(storeKinds)("call with state and resources, on $name", ({ newFixture: newStage }) => {
  /** Touches everything that a handler is given, and then does what the story says. */
  const busy = (then: ToolBehaviour) =>
    scriptedTool(
      "busy",
      async (call) => {
        const { context } = call;
        context.slice(notes).append("written");
        context.slice(facts).set("a.b/c", { deep: true });
        context.dispatch("seen", "it began");
        await context.resource<Filesystem>("files").write("a.txt", "changed");
        context.errand("other", {});
        context.notice("told", { n: 1 });
        return then(call);
      },
      { effect: "writes", resources: { files: "handle" } },
    );

  it.each<[string, ToolBehaviour]>([
    ["throws", () => Promise.reject(new Error("no"))],
    ["says success: false, with a value that would fit", () => ({ success: false, value: { written: true } })],
    [
      "asks to see more",
      () => {
        throw expandVisibility(["more"], "not shown");
      },
    ],
  ])("that %s leaves nothing of its writes but log entries", async (_, then) => {
    const stage = newStage();
    const told: string[] = [];
    const files = new MemoryFilesystem({ files: { "a.txt": "as it was" } });
    const { tool } = busy(then);
    const other = scriptedTool("other", () => ({ ok: true }), { effect: "pure" });
    const engine = await stage.open({
      tools: [tool, other.tool],
      slices,
      resources: { files },
      onNotice: async ({ topic }) => void told.push(topic),
    });
    const before = [await files.digest(), (await engine.state({ principal: botAgent, project })).snapshot().slices];
    const run = await engine.submit(one("busy"), { principal: botAgent, project });
    expect((await stage.runUntilIdle(run)).status).toBe("failed");
    const state = await engine.state({ principal: botAgent, project });
    expect([await files.digest(), state.snapshot().slices]).toEqual(before);
    expect(state.slice(diary).all()).toEqual(["it began"]);
    expect([told, other.calls.length]).toEqual([[], 0]);
  });

  it("that succeeds commits all writes at once and records the versions it read", async () => {
    const stage = newStage();
    const files = new MemoryFilesystem({ files: { "a.txt": "as it was" } });
    const { tool } = busy(({ context }) => ({ at: context.now, chance: context.random() < 1 }));
    const other = scriptedTool("other", () => ({ ok: true }), { effect: "pure" });
    const engine = await stage.open({ tools: [tool, other.tool], slices, resources: { files } });
    stage.clock.advance(12_345);
    const now = stage.clock.now();
    const run = await engine.submit(one("busy"), { principal: botAgent, project });
    expect((await run.result()).steps.a).toMatchObject({ state: "succeeded", output: { at: now, chance: true } });
    expect((await collectEvents(run, "step.started"))[0]).toMatchObject({
      captures: [{ resource: files.name, tag: expect.stringMatching(`${run.run_id}/.*/a/1$`) }],
    });
    expect(other.calls).toHaveLength(1);
    const [checkpoint] = await engine.checkpoints.list({ principal: botAgent, project });
    expect(checkpoint).toMatchObject({ run_id: run.run_id, step_id: "a", attempt: 1, type: "step.succeeded", at: now });
    expect(await textIn(files, "a.txt")).toBe("changed");
  });

  it("has the resources that its tool declared, and no others", async () => {
    const files = new MemoryFilesystem({ files: { "a.txt": "" } });
    const sneaky = scriptedTool("sneaky", ({ context }) => context.resource("files"), { effect: "writes" });
    const lost = scriptedTool("lost", () => ({ ok: true }), { effect: "writes", resources: { tree: "raw" } });
    const engine = await newStage().open({ tools: [sneaky.tool, lost.tool], resources: { files } });
    const run = await engine.submit(one("sneaky"), { principal: botAgent });
    expect((await run.result()).steps.a).toMatchObject({ state: "failed_final", fault: { code: "STATE_FORBIDDEN" } });
    const parked = await engine.submit(one("lost"), { principal: botAgent });
    expect((await parked.result()).steps.a).toMatchObject({ state: "waiting" });
    expect(lost.calls).toHaveLength(0);
  });

  it("keeps a performed act: no restore reverts it, drops its receipt or sends it again", async () => {
    const stage = newStage();
    const send = scriptedTool("send", ({ context }) => context.dispatch("seen", "sent") ?? null, {
      identity: ["to"],
      onDuplicate: "reuse",
    });
    const write = scriptedTool("write", ({ context }) => context.slice(notes).append(1) ?? { ok: true }, {
      effect: "writes",
    });
    const engine = await stage.open({ tools: [send.tool, write.tool], slices });
    const steps = [
      { step_id: "w", name: "write" },
      { step_id: "s", name: "send", payload: { to: "ana" }, depends_on: ["w"] },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent, project });
    await run.result();
    await engine.checkpoints.restore({ runId: run.run_id, stepId: "w", side: "before" }, { principal: anaPerson });
    expect((await engine.state({ principal: botAgent, project })).slice(notes).size).toBe(0);
    expect((await run.now()).steps.s).toMatchObject({ state: "succeeded", output: null });
    const again = await engine.submit({ steps }, { principal: botAgent, project });
    // An empty answer is an answer, and what was told when it came is not told again.
    expect((await again.result()).steps.s).toMatchObject({ output: null, reused: { run: run.run_id } });
    expect(send.calls).toHaveLength(1);
    expect((await engine.state({ principal: botAgent, project })).slice(diary).all()).toEqual(["sent"]);
  });
});

describe.each(storeKinds)("state history, on $name", ({ newFixture: newStage }) => {
  const put = (work: (context: ToolContext, input: JsonObject) => unknown) =>
    scriptedTool("put", ({ context, input }) => work(context, input) ?? { ok: true }, { effect: "writes" });

  it("keeps keys with dots and slashes and paths of any depth, through crashes and a thousand versions", async () => {
    const stage = newStage();
    const deep = put(({ slice }, { n }) => {
      const map = slice(facts);
      if (!map.has("a.b/c~d")) map.set("a.b/c~d", { "x.y": { "1/2": [{ "": {} }] } });
      map.setAt("a.b/c~d", "/x.y/1~12/0//n", n ?? null);
      map.set(`k.${String(n)}`, n ?? null);
    });
    const options = { tools: [deep.tool], slices };
    const engine = await stage.open(options);
    const most = 450; // More than are read at a time.
    const steps = Array.from({ length: most }, (_, n) => ({
      step_id: `s${n}`,
      name: "put",
      payload: { n },
      ...(n > 0 && { depends_on: [`s${n - 1}`] }),
    }));
    for (const half of [steps, steps]) {
      const run = await engine.submit({ steps: half }, { principal: botAgent, project });
      expect((await stage.runUntilIdle(run)).status).toBe("completed");
    }
    await stage.crash();
    const state = await (await stage.open(options)).state({ principal: botAgent, project });
    expect(state.version).toBe(2 * most);
    expect(state.slice(facts).get("a.b/c~d")).toEqual({ "x.y": { "1/2": [{ "": { n: most - 1 } }] } });
    expect(state.slice(facts).get("a.b/c~d", "/x.y/1~12/0//n")).toBe(most - 1);
    expect(state.slice(facts).size).toBe(most + 1);
  });

  it("records changes only: the two hundredth patch is as short as the second", async () => {
    const stage = newStage();
    const add = put(({ slice }) => slice(notes).append({ text: "x".repeat(50) }));
    const engine = await stage.open({ tools: [add.tool], slices });
    const steps = Array.from({ length: 200 }, (_, n) => ({
      step_id: `s${100 + n}`,
      name: "put",
      ...(n > 0 && { depends_on: [`s${99 + n}`] }),
    }));
    const run = await engine.submit({ steps }, { principal: botAgent, project });
    await stage.runUntilIdle(run);
    const sizes = (await collectJournal(run))
      .filter(({ type }) => type === "step.succeeded")
      .map((event) => JSON.stringify(event).length);
    expect((sizes.at(-1) as number) - (sizes[1] as number)).toBeLessThan(20);
  });

  it("is emptied by an empty snapshot, logs excepted", async () => {
    const engine = await newStage().open({
      tools: [put(({ slice, dispatch }) => slice(notes).append(1) ?? dispatch("seen", 1)).tool],
      slices,
    });
    const empty = (await engine.state({ principal: botAgent, project })).snapshot();
    await (await engine.submit(one("put"), { principal: botAgent, project })).result();
    await engine.checkpoints.load(JSON.parse(JSON.stringify(empty)), { principal: botAgent, project });
    const state = await engine.state({ principal: botAgent, project });
    expect([state.slice(notes).all(), state.slice(diary).all()]).toEqual([[], [1]]);
  });

  it("is restored only by a person of the tenant, and only to an earlier version of the same project", async () => {
    const stage = newStage();
    const told: string[] = [];
    const tell = put(({ slice, notice }, { n }) => slice(notes).append(n ?? 0) ?? notice("told", {}));
    const engine = await stage.open({
      tools: [tell.tool],
      slices,
      onNotice: async ({ topic }) => void told.push(topic),
    });
    const run = await engine.submit(one("put", { n: 1 }), { principal: botAgent, project });
    await run.result();
    const elsewhere = await engine.submit(one("put", { n: 2 }), { principal: botAgent, project: "yard" });
    await elsewhere.result();
    await stage.advance(1000);
    const at = { runId: run.run_id, stepId: "a", side: "before" } as const;
    const stranger = { ...anaPerson, tenant: "globex" };
    expect((await rejectedFault(engine.checkpoints.restore(at, { principal: stranger }))).code).toBe("RUN_NOT_FOUND");
    await engine.checkpoints.restore(at, { principal: anaPerson });
    await stage.advance(1000);
    expect([told, tell.calls.length]).toEqual([["told", "told"], 2]);
    const now = async (name: string) => (await engine.state({ principal: botAgent, project: name })).slice(notes).all();
    expect([await now(project), await now("yard")]).toEqual([[], [2]]);
  });

  it("gets no errand and no notice from a simulation", async () => {
    const stage = newStage();
    const told: string[] = [];
    const other = scriptedTool("other", () => ({ ok: true }), { effect: "pure" });
    const tell = put(
      ({ slice, notice, errand }) => slice(notes).append(1) ?? notice("told", {}) ?? errand("other", {}),
    );
    const engine = await stage.open({
      tools: [tell.tool, other.tool],
      slices,
      onNotice: async ({ topic }) => void told.push(topic),
    });
    const before = await stage.dump();
    expect(await engine.simulate(one("put"), { principal: botAgent, project })).toMatchObject({ status: "completed" });
    await stage.advance(5000);
    expect([told, await stage.dump()]).toEqual([[], before]);
  });
});

describe("slice without a declared persistence", () => {
  it.each([
    ["plan", "state"],
    ["visibility_overrides", "state"],
    ["workspace_digest", "cache"],
    ["tool_invoked", "log"],
    ["prompt_rendered", "log"],
    ["prompt_executed", "log"],
    ["anything_else", "state"],
    ["constructor", "state"],
  ])("%s is a %s", (name, policy) => {
    expect(defineSlice({ name, shape: "list", entry: {} }).policy).toBe(policy);
  });
});
