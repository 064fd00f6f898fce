import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { Engine } from "../../src/engine/api/engine-api.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const text = { type: "string" } as const;
const notes = defineSlice({ name: "notes", shape: "list", entry: text });
const facts = defineSlice({ name: "facts", shape: "map", entry: text });
const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: text });
const digest = defineSlice({ name: "workspace_digest", shape: "list", entry: text });
const slices = [notes, facts, diary, digest];
const project = "garden";

/** Writes the same word everywhere. */
const write = scriptedTool(
  "write",
  ({ input, context }) => {
    const word = String(input.word);
    context.slice(notes).append(word);
    context.slice(facts).set("last.of/all", word);
    context.slice(facts).set(word, word);
    context.slice(diary).append(word);
    context.slice(digest).replace([word]);
    return { word };
  },
  { effect: "writes" },
);
const send = scriptedTool("send", ({ input }) => ({ sent: input.word ?? null }));
const tools = [write.tool, send.tool];

const said = (step_id: string, name = "write", depends_on: readonly string[] = []) => ({
  step_id,
  name,
  payload: { word: step_id },
  depends_on,
});
const abc = { steps: [said("a"), said("b", "write", ["a"]), said("c", "write", ["b"])] };

async function seen(engine: Engine, of: { readonly runId: string } | { readonly project: string } = { project }) {
  const state = await engine.state({ principal: botAgent, ...of });
  return {
    notes: state.slice(notes).all(),
    facts: Object.fromEntries(state.slice(facts).all()),
    diary: state.slice(diary).all(),
    digest: state.slice(digest).all(),
  };
}

describe.each(storeKinds)("checkpoints, on $name", ({ newFixture: newStage }) => {
  it("restore state to before and after any call as a new version, also after a crash", async () => {
    const stage = newStage();
    const options = { tools, slices };
    const engine = await stage.open(options);
    const run = await engine.submit(abc, { principal: botAgent, project });
    await run.result();
    await stage.crash();
    const again = await stage.open(options);
    const listed = await again.checkpoints.list({ principal: botAgent, project });
    expect(listed.map(({ step_id, version, type }) => [step_id, version, type])).toEqual([
      ["a", 1, "step.succeeded"],
      ["b", 2, "step.succeeded"],
      ["c", 3, "step.succeeded"],
    ]);
    const before = { runId: run.run_id, stepId: "b", side: "before" } as const;
    expect(await again.checkpoints.restore(before, { principal: anaPerson, reason: "b was wrong" })).toMatchObject({
      version: 4,
    });
    expect(await seen(again)).toEqual({
      notes: ["a"],
      facts: { a: "a", "last.of/all": "a" },
      diary: ["a", "b", "c"],
      digest: [],
    });
    expect(
      (await collectEvents(await again.run(run.run_id, { principal: botAgent }), "state.restored"))[0],
    ).toMatchObject({
      by: "ana",
      to: 1,
    });
    await again.checkpoints.restore(
      { ...before, stepId: "c", side: "after" },
      { principal: anaPerson, preserveLogs: false },
    );
    expect(await seen(again)).toMatchObject({ notes: ["a", "b", "c"], facts: { b: "b", "last.of/all": "c" } });
    await again.checkpoints.restore({ ...before, stepId: "a" }, { principal: anaPerson, preserveLogs: false });
    expect(await seen(again)).toEqual({ notes: [], facts: {}, diary: [], digest: [] });
    expect(await again.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("are kept up to the configured number, and no others are found", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools, slices, limits: { checkpoints: 2 } });
    const run = await engine.submit(abc, { principal: botAgent, project });
    await run.result();
    const at = { runId: run.run_id, stepId: "b", side: "before" } as const;
    expect((await engine.checkpoints.list({ principal: botAgent, project })).map(({ step_id }) => step_id)).toEqual([
      "b",
      "c",
    ]);
    expect(await engine.checkpoints.restore(at, { principal: anaPerson })).toMatchObject({ version: 4 });
    for (const stepId of ["a", "b", "nobody"])
      expect(
        await rejectedFault(engine.checkpoints.restore({ ...at, stepId }, { principal: anaPerson })),
      ).toMatchObject({
        code: "CHECKPOINT_NOT_FOUND",
        message: expect.stringContaining(stepId),
      });
    const few = await stage.open({ tools, slices, work: false, limits: { checkpointBytes: 1 } });
    expect(await few.checkpoints.list({ principal: botAgent, project })).toEqual([]);
  });

  it("are listed by reading each event once, though runs alternate", async () => {
    const stage = newStage();
    const real = stage.store();
    let read = 0;
    const events: Store["events"] = async (...asked) => {
      const found = await real.events(...asked);
      read += found.length;
      return found;
    };
    const engine = await stage.open({ tools, slices, store: { ...real, events } });
    const steps = Array.from({ length: 20 }, (_, index) => said(`s${index}`, "write", index ? [`s${index - 1}`] : []));
    const runs = await Promise.all([1, 2].map(() => engine.submit({ steps }, { principal: botAgent, project })));
    for (const run of runs) expect((await stage.runUntilIdle(run)).status).toBe("completed");
    const history = () => engine.projects.history(project, { principal: botAgent, limit: 40 });
    for (const look of [() => engine.checkpoints.list({ principal: botAgent, project }), history]) {
      read = 0;
      expect(await look()).toHaveLength(40);
      expect(read).toBeLessThan(200);
    }
  });

  it("restore the cached state though many others were read in between", async () => {
    const stage = newStage();
    const real = stage.store();
    const asked = { others: async () => {} };
    const row: Store["row"] = async (...which) => {
      const { others } = asked;
      if (which[1] !== "project") {
        asked.others = async () => {};
        await others();
      }
      return real.row(...which);
    };
    const engine = await stage.open({ tools, slices, store: { ...real, row } });
    const run = await engine.submit(abc, { principal: botAgent, project });
    await run.result();
    asked.others = async () => {
      for (let other = 0; other < 501; other += 1)
        await engine.state({ principal: botAgent, project: `other ${other}` });
    };
    const at = { runId: run.run_id, stepId: "a", side: "after" } as const;
    expect(await engine.checkpoints.restore(at, { principal: anaPerson })).toMatchObject({ version: 4 });
    expect((await seen(engine)).notes).toEqual(["a"]);
  });

  it("can be compared in both directions", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools, slices });
    const run = await engine.submit(abc, { principal: botAgent, project });
    await run.result();
    const at = (stepId: string, side: "before" | "after") => ({ runId: run.run_id, stepId, side });
    const { state: there } = await engine.checkpoints.diff(at("a", "after"), at("b", "after"), { principal: botAgent });
    expect(there).toEqual([
      { path: "/diary/1", after: "b" },
      { path: "/facts/b", after: "b" },
      { path: "/facts/last.of~1all", before: "a", after: "b" },
      { path: "/notes/1", after: "b" },
      { path: "/workspace_digest/0", before: "a", after: "b" },
    ]);
    const { state: back } = await engine.checkpoints.diff(at("c", "before"), at("b", "before"), {
      principal: botAgent,
    });
    expect(back).toEqual(
      there.map(({ path, before, after }) => ({
        path,
        ...(after && { before: after }),
        ...(before && { after: before }),
      })),
    );
    expect(await engine.checkpoints.diff(at("b", "before"), at("a", "after"), { principal: botAgent })).toEqual({
      state: [],
      files: {},
    });
  });

  it("are the start of a fork with its own state and the receipts of the original", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools, slices });
    const before = send.calls.length;
    const steps = [said("a"), said("mail", "send", ["a"]), said("b", "write", ["mail"])];
    const run = await engine.submit({ steps }, { principal: botAgent, project });
    expect((await run.result()).status).toBe("completed");
    const fork = await engine.checkpoints.fork(
      { runId: run.run_id, stepId: "a", side: "after" },
      { principal: anaPerson },
    );
    expect(await fork.result()).toMatchObject({
      status: "completed",
      steps: { a: { reused: { run: run.run_id } }, mail: { reused: { run: run.run_id } } },
    });
    expect(send.calls.length - before).toBe(1);
    expect((await seen(engine, { runId: fork.run_id })).notes).toEqual(["a", "b"]);
    expect((await seen(engine)).notes).toEqual(["a", "b"]);
    const other = { steps: [said("a"), { ...said("mail", "send", ["a"]), payload: { word: "another" } }] };
    const differing = await engine.checkpoints.fork(
      { runId: run.run_id, stepId: "a", side: "after" },
      { principal: anaPerson, plan: other },
    );
    expect((await differing.result()).gates).toMatchObject([
      { step_id: "mail", reason: expect.stringContaining("has acted in run") },
    ]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("are the start of a fork in an engine without slices, too", async () => {
    const act = scriptedTool("act", ({ input }) => ({ sent: input.word ?? null }));
    const engine = await newStage().open({ tools: [act.tool] });
    const steps = [said("a", "act"), said("b", "act", ["a"])];
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
    const plan = { steps: [said("a", "act"), said("c", "act", ["a"])] };
    for (const [stepId, side] of [
      ["a", "after"],
      ["b", "before"],
    ] as const) {
      const calls = act.calls.length;
      const same = await engine.checkpoints.fork({ runId: run.run_id, stepId, side }, { principal: anaPerson });
      const reused = { reused: { run: run.run_id } };
      expect(await same.result()).toMatchObject({ status: "completed", steps: { a: reused, b: reused } });
      expect(act.calls).toHaveLength(calls);
      const fork = await engine.checkpoints.fork({ runId: run.run_id, stepId, side }, { principal: anaPerson, plan });
      expect((await fork.result()).gates).toMatchObject([{ step_id: "c" }]);
    }
    expect(
      await rejectedFault(
        engine.checkpoints.fork({ runId: run.run_id, stepId: "x", side: "after" }, { principal: anaPerson }),
      ),
    ).toMatchObject({ code: "CHECKPOINT_NOT_FOUND" });
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("can be exported and imported, without logs and caches unless requested", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools, slices });
    await (await engine.submit(abc, { principal: botAgent, project })).result();
    const state = await engine.state({ principal: botAgent, project });
    expect(Object.keys(state.snapshot().slices)).toEqual(["notes", "facts"]);
    expect(Object.keys(state.snapshot({ includeAll: true }).slices)).toEqual(slices.map(({ name }) => name));
    const kept = JSON.parse(JSON.stringify(state.snapshot({ tags: { when: "before" } })));
    expect(kept).toMatchObject({ schema_version: "2", version: 3, tags: { when: "before" } });
    await (await engine.submit({ steps: [said("d")] }, { principal: botAgent, project })).result();
    const loaded = await engine.checkpoints.load(kept, { principal: botAgent, project });
    expect(loaded.step.state).toBe("succeeded");
    expect(await seen(engine)).toEqual({
      notes: ["a", "b", "c"],
      facts: { a: "a", b: "b", c: "c", "last.of/all": "c" },
      diary: ["a", "b", "c", "d"],
      digest: [],
    });
    const other = { ...kept, slices: { ...kept.slices, notes: { ...kept.slices.notes, version: "2" } } };
    for (const [wrong, code] of [
      [other, "SLICE_CHANGED"],
      [{ ...kept, slices: { ...kept.slices, gone: kept.slices.notes } }, "SLICE_CHANGED"],
    ] as const)
      expect((await engine.checkpoints.load(wrong, { principal: botAgent, project })).step).toMatchObject({
        fault: { code },
      });
    const old = await engine.checkpoints.load({ ...kept, schema_version: "9" }, { principal: botAgent, project });
    expect(old.step).toMatchObject({ state: "rejected", fault: { code: "INVALID_INPUT" } });
    expect((await seen(engine)).notes).toEqual(["a", "b", "c"]);
  });

  it("are the start of a fork whose steps all begin at once", async () => {
    const engine = await newStage().open({ tools, slices });
    const steps = [said("a"), said("b", "write", ["a"]), said("c", "write", ["a"])];
    const run = await engine.submit({ steps }, { principal: botAgent, project });
    await run.result();
    const fork = await engine.checkpoints.fork(
      { runId: run.run_id, stepId: "a", side: "after" },
      { principal: anaPerson },
    );
    expect((await fork.result()).status).toBe("completed");
    const { notes, facts } = await seen(engine, { runId: fork.run_id });
    expect(notes.toSorted()).toEqual(["a", "b", "c"]);
    expect(facts).toMatchObject({ a: "a", b: "b", c: "c" });
  });

  it("of a slice with another declaration are refused, and nothing changes", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools, slices });
    const run = await engine.submit(abc, { principal: botAgent, project });
    await run.result();
    const at = { runId: run.run_id, stepId: "b", side: "before" } as const;
    await stage.crash();
    const gone = await stage.open({ tools, slices: [facts, diary, digest] });
    expect(await rejectedFault(gone.checkpoints.restore(at, { principal: anaPerson }))).toMatchObject({
      code: "SLICE_CHANGED",
    });
    await stage.crash();
    const changed = defineSlice({ name: "notes", shape: "list", entry: text, version: "2" });
    const other = await stage.open({ tools, slices: [changed, facts, diary, digest] });
    expect(await rejectedFault(other.checkpoints.restore(at, { principal: anaPerson }))).toMatchObject({
      code: "SLICE_CHANGED",
    });
    expect((await other.state({ principal: botAgent, project })).version).toBe(3);
  });
});
