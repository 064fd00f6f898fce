import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FaultError, fault } from "../../src/core/fault.ts";
import type { Resource } from "../../src/core/resource.ts";
import type { Filesystem } from "../../src/resources/filesystem.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { MemoryFilesystem } from "../../src/resources/memory-filesystem.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { actor, eventsOf, faultOf, promised } from "./cast.ts";
import { ana, bot, places } from "./stage.ts";

const notes = defineSlice({ name: "notes", shape: "list", entry: { type: "string" } });
const slices = [notes];
const project = "garden";

/** Says a word in state and in a file, deletes the file of the word before, and makes one of its own. */
const write = actor(
  "write",
  async ({ input, context }) => {
    const word = String(input.word);
    const files = context.resource<Filesystem>("files");
    context.slice(notes).append(word);
    if (await files.stat("last")) await files.delete("last");
    await files.write("last", word);
    await files.write(`words/${word}`, word);
    return { word };
  },
  { effect: "writes", resources: { files: "handle" } },
);
const say = actor("say", ({ input, context }) => ({ said: context.slice(notes).append(String(input.word)) ?? null }), {
  effect: "writes",
});
const shell = actor(
  "shell",
  async ({ input, context }) => {
    const { root } = context.resource<Filesystem>("files");
    writeFileSync(join(String(root), "last"), String(input.word));
    return { ok: true };
  },
  { effect: "writes", resources: { files: "raw" } },
);
const tools = [write.tool, say.tool, shell.tool];

const step = (step_id: string, name = "write", depends_on: readonly string[] = []) => ({
  step_id,
  name,
  payload: { word: step_id },
  depends_on,
});
const abc = { steps: [step("a"), step("b", "say", ["a"]), step("c", "write", ["b"]), step("d", "write", ["c"])] };

function tree() {
  const top = mkdtempSync(join(tmpdir(), "writ-tree-"));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const root = join(top, "tree");
  mkdirSync(root);
  const kept: HostFilesystem[] = [];
  const open = (limits = {}): HostFilesystem => {
    const files = new HostFilesystem({ root, limits });
    kept.push(files);
    onTestFinished(() => files.dispose());
    return files;
  };
  /** What the operating system does when a process dies. */
  const die = async () => {
    for (const files of kept.splice(0)) await files.dispose();
  };
  return { root, open, die };
}

/** Everything in it, by path. */
async function seen(resource: Resource): Promise<Record<string, string>> {
  const capture = await resource.capture("look", "handle");
  const files = (await resource.open(capture)) as Filesystem;
  const found: Record<string, string> = {};
  for (const path of await files.glob("**")) found[path] = await files.readText(path);
  await resource.close(capture);
  await resource.release(capture);
  return found;
}

const after = {
  a: { last: "a", "words/a": "a" },
  c: { last: "c", "words/a": "a", "words/c": "c" },
  d: { last: "d", "words/a": "a", "words/c": "c", "words/d": "d" },
};

describe.each(places)("checkpoints of files, on $name", ({ newStage }) => {
  describe.each<[string, (root: string) => Resource]>([
    ["in memory", () => new MemoryFilesystem()],
    ["on the host", (root) => new HostFilesystem({ root })],
  ])("%s", (_, open) => {
    it("bring them back to before and after any call with state, and forth again", async () => {
      const stage = newStage();
      const files = open(tree().root);
      const engine = await stage.open({ tools, slices, resources: { files } });
      const run = await engine.submit(abc, { principal: bot, project });
      expect((await run.result()).status).toBe("completed");
      expect(await seen(files)).toEqual(after.d);
      const back = (stepId: string, side: "before" | "after") =>
        engine.checkpoints.restore({ runId: run.run_id, stepId, side }, { principal: ana, reason: "a look back" });
      const words = async () => (await engine.state({ principal: bot, project })).slice(notes).all();
      await back("d", "before");
      expect([await seen(files), await words()]).toEqual([after.c, ["a", "b", "c"]]);
      // A call that changed no file is between those that did.
      await back("b", "before");
      expect([await seen(files), await words()]).toEqual([after.a, ["a"]]);
      await back("d", "after");
      expect([await seen(files), await words()]).toEqual([after.d, ["a", "b", "c", "d"]]);
      await back("a", "before");
      expect([await seen(files), await words()]).toEqual([{}, []]);
      await back("c", "after");
      expect([await seen(files), await words()]).toEqual([after.c, ["a", "b", "c"]]);
      const told = await eventsOf(await engine.run(run.run_id, { principal: bot }), "state.restored");
      expect(told).toHaveLength(5);
      expect(told[0]).toMatchObject({
        by: "ana",
        closings: [{ changes: expect.arrayContaining([{ path: "words/d", change: "removed" }]) }],
      });
      expect(await engine.audit({ principal: bot })).toMatchObject({ broken: [] });
    });

    it("tell what is different between two calls, both ways", async () => {
      const stage = newStage();
      const files = open(tree().root);
      const engine = await stage.open({ tools, slices, resources: { files } });
      const run = await engine.submit(abc, { principal: bot, project });
      await run.result();
      const at = (stepId: string, side: "before" | "after") => ({ runId: run.run_id, stepId, side });
      const diff = (from: ReturnType<typeof at>, to: ReturnType<typeof at>) =>
        engine.checkpoints.diff(from, to, { principal: bot });
      expect(await diff(at("a", "after"), at("c", "after"))).toEqual({
        state: [
          { path: "/notes/1", after: "b" },
          { path: "/notes/2", after: "c" },
        ],
        files: {
          files: [
            { path: "last", change: "changed" },
            { path: "words/c", change: "added" },
          ],
        },
      });
      expect((await diff(at("d", "after"), at("b", "after"))).files).toEqual({
        files: [
          { path: "last", change: "changed" },
          { path: "words/c", change: "removed" },
          { path: "words/d", change: "removed" },
        ],
      });
      expect((await diff(at("b", "before"), at("b", "after"))).files).toEqual({});
    });

    it("are as many as the limits say, and no other can be asked for", async () => {
      const stage = newStage();
      const { root } = tree();
      const few =
        _ === "in memory"
          ? new MemoryFilesystem({ limits: { keptCaptures: 2 } })
          : new HostFilesystem({ root, limits: { keptCaptures: 2 } });
      const engine = await stage.open({ tools, slices, resources: { files: few } });
      const run = await engine.submit(abc, { principal: bot, project });
      await run.result();
      const at = { runId: run.run_id, stepId: "a", side: "before" } as const;
      for (const stepId of ["a", "b"])
        expect(await faultOf(engine.checkpoints.restore({ ...at, stepId }, { principal: ana }))).toMatchObject({
          code: "CHECKPOINT_NOT_FOUND",
        });
      expect(await seen(few)).toEqual(after.d);
      await engine.checkpoints.restore({ ...at, stepId: "c" }, { principal: ana });
      expect(await seen(few)).toEqual(after.a);
    });

    it("are where another run goes on from, on files as they were then or as they are", async () => {
      const stage = newStage();
      const files = open(tree().root);
      const engine = await stage.open({ tools, slices, resources: { files } });
      const run = await engine.submit(abc, { principal: bot, project });
      await run.result();
      const at = { runId: run.run_id, stepId: "b", side: "after" } as const;
      const plan = { steps: [...abc.steps.slice(0, 2), step("e", "write", ["b"])] };
      expect(await faultOf(engine.checkpoints.fork(at, { principal: bot, plan }))).toMatchObject({
        code: "NOT_POSSIBLE",
        message: expect.stringContaining('files: "restore"'),
      });
      const fork = await engine.checkpoints.fork(at, { principal: bot, plan, files: "restore" });
      expect((await fork.result()).status).toBe("completed");
      expect(await seen(files)).toEqual({ last: "e", "words/a": "a", "words/e": "e" });
      // What the fork did is of the same origin, and is undone with the rest.
      await engine.checkpoints.restore({ ...at, stepId: "d" }, { principal: ana });
      expect(await seen(files)).toEqual(after.d);
      const left = await engine.checkpoints.fork(at, { principal: bot, plan, files: "leave" });
      expect((await left.result()).status).toBe("completed");
      expect(await seen(files)).toEqual({ ...after.d, last: "e", "words/e": "e" });
    });

    it("are as the record says, if it is not known whether going back to them was put on record", async () => {
      const stage = newStage();
      const failing = { at: "rewind.after" };
      const failpoint = (point: string) => {
        if (point === failing.at) throw new Error("the store does not answer");
      };
      const files = open(tree().root);
      const engine = await stage.open({ tools, slices, resources: { files }, failpoint });
      const run = await engine.submit(abc, { principal: bot, project });
      await run.result();
      const at = { runId: run.run_id, stepId: "a", side: "after" } as const;
      await expect(engine.checkpoints.restore(at, { principal: ana })).rejects.toThrow("does not answer");
      failing.at = "";
      await (await engine.submit({ steps: [step("e")] }, { principal: bot, project })).result();
      expect(await seen(files)).toEqual({ ...after.d, last: "e", "words/e": "e" });
      failing.at = "keep.before";
      await expect(engine.checkpoints.restore(at, { principal: ana })).rejects.toThrow("does not answer");
      failing.at = "";
      await (await engine.submit({ steps: [step("e")] }, { principal: bot, project })).result();
      expect(await seen(files)).toEqual({ ...after.a, last: "e", "words/e": "e" });
    });

    it("do not undo what another project did", async () => {
      const stage = newStage();
      const files = open(tree().root);
      const engine = await stage.open({ tools, slices, resources: { files } });
      const run = await engine.submit(abc, { principal: bot, project });
      await run.result();
      await (await engine.submit({ steps: [step("x")] }, { principal: bot, project: "another" })).result();
      const at = { runId: run.run_id, stepId: "c", side: "before" } as const;
      const before = await seen(files);
      expect(await faultOf(engine.checkpoints.restore(at, { principal: ana }))).toMatchObject({
        code: "RESTORE_BLOCKED",
      });
      expect(await seen(files)).toEqual(before);
      expect((await engine.state({ principal: bot, project })).version).toBe(4);
    });
  });

  it("are there without any state", async () => {
    const stage = newStage();
    const files = tree().open();
    const only = actor(
      "only",
      async ({ input, context }) => {
        await context.resource<Filesystem>("files").write("last", String(input.word));
        return { ok: true };
      },
      { effect: "writes", resources: { files: "handle" } },
    );
    const engine = await stage.open({ tools: [only.tool], resources: { files } });
    const run = await engine.submit({ steps: [step("a", "only"), step("b", "only", ["a"])] }, { principal: bot });
    await run.result();
    await engine.checkpoints.restore({ runId: run.run_id, stepId: "a", side: "after" }, { principal: ana });
    expect(await seen(files)).toEqual({ last: "a" });
  });

  it("survive the process, whichever way the calls went about it", async () => {
    const stage = newStage();
    const { root, open, die } = tree();
    const engine = await stage.open({ tools, slices, resources: { files: open() } });
    const steps = [step("a"), step("b", "shell", ["a"]), step("c", "write", ["b"]), step("d", "shell", ["c"])];
    const run = await engine.submit({ steps }, { principal: bot, project });
    expect((await stage.rest(run)).status).toBe("completed");
    await stage.crash();
    await die();
    const files = open();
    const again = await stage.open({ tools, slices, resources: { files } });
    const at = (stepId: string) => ({ runId: run.run_id, stepId, side: "before" }) as const;
    await again.checkpoints.restore(at("c"), { principal: ana });
    expect(await seen(files)).toEqual({ last: "b", "words/a": "a" });
    await again.checkpoints.restore(at("d"), { principal: ana });
    expect(await seen(files)).toEqual({ last: "c", "words/a": "a", "words/c": "c" });
    await again.checkpoints.restore(at("a"), { principal: ana });
    expect(readdirSync(root)).toEqual([]);
  });

  it("are not gone back to over what somebody else has changed since, and neither is state", async () => {
    const stage = newStage();
    const { root, open } = tree();
    const files = open();
    const engine = await stage.open({ tools, slices, resources: { files } });
    const run = await engine.submit(abc, { principal: bot, project });
    await run.result();
    writeFileSync(join(root, "words/c"), "a person's");
    const at = { runId: run.run_id, stepId: "a", side: "after" } as const;
    expect(await faultOf(engine.checkpoints.restore(at, { principal: ana }))).toMatchObject({
      code: "RESTORE_BLOCKED",
    });
    expect(await seen(files)).toEqual({ ...after.d, "words/c": "a person's" });
    expect((await engine.state({ principal: bot, project })).version).toBe(4);
    expect(readFileSync(join(root, "last"), "utf8")).toBe("d");
  });

  it("stand where the process dies when it is on record, and before it has kept them", async () => {
    const stage = newStage();
    const { open, die } = tree();
    const dead = promised<void>();
    const dying = (point: string) => {
      if (point !== "keep.before") return;
      dead.keep();
      throw new Error("the process is gone");
    };
    const engine = await stage.open({ tools, slices, resources: { files: open() }, failpoint: dying });
    const run = await engine.submit({ steps: [step("a")] }, { principal: bot, project });
    await dead.promise;
    await stage.crash();
    await die();
    const files = open();
    const again = await stage.open({ tools, slices, resources: { files } });
    expect(await seen(files)).toEqual(after.a);
    await again.checkpoints.restore({ runId: run.run_id, stepId: "a", side: "before" }, { principal: ana });
    expect(await seen(files)).toEqual({});
  });

  it("that are refused after files were gone back with leave neither changed", async () => {
    const stage = newStage();
    const files = tree().open();
    const refusing = (point: string) => {
      if (point === "rewind.after") throw new FaultError(fault("CANCELLED", "it is refused in the last moment"));
    };
    const engine = await stage.open({ tools, slices, resources: { files }, failpoint: refusing });
    const run = await engine.submit(abc, { principal: bot, project });
    await run.result();
    const at = { runId: run.run_id, stepId: "a", side: "after" } as const;
    expect(await faultOf(engine.checkpoints.restore(at, { principal: ana }))).toMatchObject({ code: "CANCELLED" });
    expect(await seen(files)).toEqual(after.d);
    expect((await engine.state({ principal: bot, project })).version).toBe(4);
  });

  it("in memory are gone with the process, and say so", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools, slices, resources: { files: new MemoryFilesystem() } });
    const run = await engine.submit(abc, { principal: bot, project });
    await run.result();
    await stage.crash();
    const again = await stage.open({ tools, slices, resources: { files: new MemoryFilesystem() } });
    const at = { runId: run.run_id, stepId: "c", side: "before" } as const;
    expect(await faultOf(again.checkpoints.restore(at, { principal: ana }))).toMatchObject({
      code: "CHECKPOINT_NOT_FOUND",
      message: expect.stringContaining("files:memory"),
    });
  });

  it("are gone back to where the files are, and nowhere else", async () => {
    const stage = newStage();
    const { open, die } = tree();
    const engine = await stage.open({ tools, slices, resources: { files: open() } });
    const run = await engine.submit(abc, { principal: bot, project });
    await run.result();
    await stage.crash();
    await die();
    const elsewhere = await stage.open({ tools, slices });
    const at = { runId: run.run_id, stepId: "c", side: "before" } as const;
    expect(await faultOf(elsewhere.checkpoints.restore(at, { principal: ana }))).toMatchObject({
      code: "RESOURCE_ELSEWHERE",
    });
  });
});
