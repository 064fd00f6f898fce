import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Resource } from "../../src/core/ports/resource.ts";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, deferred, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const notes = defineSlice({ name: "notes", shape: "list", entry: { type: "string" } });
const slices = [notes];
const project = "garden";

/** Says a word in state and in a file, deletes the file of the word before, and makes one of its own. */
const write = scriptedTool(
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
const say = scriptedTool(
  "say",
  ({ input, context }) => ({ said: context.slice(notes).append(String(input.word)) ?? null }),
  {
    effect: "writes",
  },
);
const shell = scriptedTool(
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
  /** Releases the locks, as the operating system does when a process dies. */
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

describe.each(storeKinds)("checkpoints of files, on $name", ({ newFixture: newStage }) => {
  describe.each<[string, (root: string) => Resource]>([
    ["in memory", () => new MemoryFilesystem()],
    ["on the host", (root) => new HostFilesystem({ root })],
  ])("%s", (_, open) => {
    it("restore files and state to before and after any call, in both directions", async () => {
      const stage = newStage();
      const files = open(tree().root);
      const engine = await stage.open({ tools, slices, resources: { files } });
      const run = await engine.submit(abc, { principal: botAgent, project });
      expect((await run.result()).status).toBe("completed");
      expect(await seen(files)).toEqual(after.d);
      const back = (stepId: string, side: "before" | "after") =>
        engine.checkpoints.restore(
          { runId: run.run_id, stepId, side },
          { principal: anaPerson, reason: "a look back" },
        );
      const words = async () => (await engine.state({ principal: botAgent, project })).slice(notes).all();
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
      const told = await collectEvents(await engine.run(run.run_id, { principal: botAgent }), "state.restored");
      expect(told).toHaveLength(5);
      expect(told[0]).toMatchObject({
        by: "ana",
        closings: [{ changes: expect.arrayContaining([{ path: "words/d", change: "removed" }]) }],
      });
      expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
    });

    it("can be compared in both directions", async () => {
      const stage = newStage();
      const files = open(tree().root);
      const engine = await stage.open({ tools, slices, resources: { files } });
      const run = await engine.submit(abc, { principal: botAgent, project });
      await run.result();
      const at = (stepId: string, side: "before" | "after") => ({ runId: run.run_id, stepId, side });
      const diff = (from: ReturnType<typeof at>, to: ReturnType<typeof at>) =>
        engine.checkpoints.diff(from, to, { principal: botAgent });
      expect(await diff(at("a", "after"), at("c", "after"))).toEqual({
        state: [
          { path: "/notes/1", after: "b" },
          { path: "/notes/2", after: "c" },
        ],
        files: {
          files: [
            { path: "last", change: "changed", bytes: { before: 1, after: 1 } },
            { path: "words/c", change: "added", bytes: { before: null, after: 1 } },
          ],
        },
      });
      expect((await diff(at("d", "after"), at("b", "after"))).files).toEqual({
        files: [
          { path: "last", change: "changed", bytes: { before: 1, after: 1 } },
          { path: "words/c", change: "removed", bytes: { before: 1, after: null } },
          { path: "words/d", change: "removed", bytes: { before: 1, after: null } },
        ],
      });
      expect((await diff(at("b", "before"), at("b", "after"))).files).toEqual({});
    });

    it("are kept up to the configured number, and no others are found", async () => {
      const stage = newStage();
      const { root } = tree();
      const few =
        _ === "in memory"
          ? new MemoryFilesystem({ limits: { keptCaptures: 2 } })
          : new HostFilesystem({ root, limits: { keptCaptures: 2 } });
      const engine = await stage.open({ tools, slices, resources: { files: few } });
      const run = await engine.submit(abc, { principal: botAgent, project });
      await run.result();
      const at = { runId: run.run_id, stepId: "a", side: "before" } as const;
      for (const stepId of ["a", "b"])
        expect(
          await rejectedFault(engine.checkpoints.restore({ ...at, stepId }, { principal: anaPerson })),
        ).toMatchObject({
          code: "CHECKPOINT_NOT_FOUND",
        });
      expect(await seen(few)).toEqual(after.d);
      await engine.checkpoints.restore({ ...at, stepId: "c" }, { principal: anaPerson });
      expect(await seen(few)).toEqual(after.a);
    });

    it("are the start of a fork, with files as they were or as they are", async () => {
      const stage = newStage();
      const files = open(tree().root);
      const engine = await stage.open({ tools, slices, resources: { files } });
      const run = await engine.submit(abc, { principal: botAgent, project });
      await run.result();
      const at = { runId: run.run_id, stepId: "b", side: "after" } as const;
      const plan = { steps: [...abc.steps.slice(0, 2), step("e", "write", ["b"])] };
      expect(await rejectedFault(engine.checkpoints.fork(at, { principal: anaPerson, plan }))).toMatchObject({
        code: "NOT_POSSIBLE",
        message: expect.stringContaining('files: "restore"'),
      });
      const fork = await engine.checkpoints.fork(at, { principal: anaPerson, plan, files: "restore" });
      expect((await fork.result()).status).toBe("completed");
      expect(await seen(files)).toEqual({ last: "e", "words/a": "a", "words/e": "e" });
      // The calls of the fork have the same origin, so they are restored too.
      await engine.checkpoints.restore({ ...at, stepId: "d" }, { principal: anaPerson });
      expect(await seen(files)).toEqual(after.d);
      const left = await engine.checkpoints.fork(at, { principal: anaPerson, plan, files: "leave" });
      expect((await left.result()).status).toBe("completed");
      expect(await seen(files)).toEqual({ ...after.d, last: "e", "words/e": "e" });
    });

    it("follow the record if a restore may or may not have been recorded", async () => {
      const stage = newStage();
      const failing = { at: "rewind.after" };
      const failpoint = (point: string) => {
        if (point === failing.at) throw new Error("the store does not answer");
      };
      const files = open(tree().root);
      const engine = await stage.open({ tools, slices, resources: { files }, failpoint });
      const run = await engine.submit(abc, { principal: botAgent, project });
      await run.result();
      const at = { runId: run.run_id, stepId: "a", side: "after" } as const;
      await expect(engine.checkpoints.restore(at, { principal: anaPerson })).rejects.toThrow("does not answer");
      failing.at = "";
      await (await engine.submit({ steps: [step("e")] }, { principal: botAgent, project })).result();
      expect(await seen(files)).toEqual({ ...after.d, last: "e", "words/e": "e" });
      failing.at = "keep.before";
      await expect(engine.checkpoints.restore(at, { principal: anaPerson })).rejects.toThrow("does not answer");
      failing.at = "";
      await (await engine.submit({ steps: [step("e")] }, { principal: botAgent, project })).result();
      expect(await seen(files)).toEqual({ ...after.a, last: "e", "words/e": "e" });
    });

    it("do not undo changes of another project", async () => {
      const stage = newStage();
      const files = open(tree().root);
      const engine = await stage.open({ tools, slices, resources: { files } });
      const run = await engine.submit(abc, { principal: botAgent, project });
      await run.result();
      await (await engine.submit({ steps: [step("x")] }, { principal: botAgent, project: "another" })).result();
      const at = { runId: run.run_id, stepId: "c", side: "before" } as const;
      const before = await seen(files);
      expect(await rejectedFault(engine.checkpoints.restore(at, { principal: anaPerson }))).toMatchObject({
        code: "RESTORE_BLOCKED",
      });
      expect(await seen(files)).toEqual(before);
      expect((await engine.state({ principal: botAgent, project })).version).toBe(4);
    });
  });

  it("work without any state", async () => {
    const stage = newStage();
    const files = tree().open();
    const only = scriptedTool(
      "only",
      async ({ input, context }) => {
        await context.resource<Filesystem>("files").write("last", String(input.word));
        return { ok: true };
      },
      { effect: "writes", resources: { files: "handle" } },
    );
    const engine = await stage.open({ tools: [only.tool], resources: { files } });
    const run = await engine.submit({ steps: [step("a", "only"), step("b", "only", ["a"])] }, { principal: botAgent });
    await run.result();
    const restore = (stepId: string, side: "before" | "after") =>
      engine.checkpoints.restore({ runId: run.run_id, stepId, side }, { principal: anaPerson });
    const report = (files: object) => ({
      version: 0,
      changes: 0,
      files: { restored: 0, created: 0, removed: 0, ...files },
    });
    expect(await restore("a", "after")).toEqual(report({ restored: 1 }));
    expect(await seen(files)).toEqual({ last: "a" });
    expect(await restore("a", "before")).toEqual(report({ removed: 1 }));
    expect(await restore("b", "after")).toEqual(report({ created: 1 }));
  });

  it("are listed with the calls that changed only files, and a restore returns what it changed", async () => {
    const stage = newStage();
    const { open, die } = tree();
    const plan = { steps: [step("a", "shell"), step("b", "say", ["a"]), step("c", "shell", ["b"])] };
    const engine = await stage.open({ tools, slices, resources: { files: open() } });
    const other = await engine.submit({ steps: [step("z", "shell")] }, { principal: botAgent, project: "other" });
    expect((await stage.runUntilIdle(other)).status).toBe("completed");
    const run = await engine.submit(plan, { principal: botAgent, project });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    await stage.crash();
    await die();
    const again = await stage.open({ tools, slices, resources: { files: open() } });
    const list = async (of: { readonly runId: string } | { readonly project: string }) => {
      const found = await again.checkpoints.list({ principal: botAgent, ...of });
      return found.map(({ step_id, tool: name, type, version, files }) => [step_id, name, type, version, files]);
    };
    const calls = [
      ["a", "shell", "step.succeeded", 0, 1],
      ["b", "say", "step.succeeded", 1, 0],
      ["c", "shell", "step.succeeded", 1, 1],
    ];
    expect(await list({ project })).toEqual(calls);
    expect(await list({ runId: run.run_id })).toEqual(calls);
    expect(await list({ project: "other" })).toEqual([["z", "shell", "step.succeeded", 0, 1]]);
    const restore = (stepId: string, side: "before" | "after") =>
      again.checkpoints.restore({ runId: run.run_id, stepId, side }, { principal: anaPerson });
    const onlyOne = (kind: string) => ({ restored: 0, created: 0, removed: 0, [kind]: 1 });
    expect(await restore("c", "before")).toEqual({ version: 1, changes: 0, files: onlyOne("restored") });
    expect(await restore("a", "before")).toMatchObject({ version: 2, files: onlyOne("restored") });
    expect(await list({ project })).toEqual([
      ...calls,
      [null, null, "state.restored", 1, 1],
      [null, null, "state.restored", 2, 1],
    ]);
    expect(await restore("a", "before")).toMatchObject({ files: { restored: 0, created: 0, removed: 0 } });
  });

  it("survive the process, for raw and handle access", async () => {
    const stage = newStage();
    const { root, open, die } = tree();
    const engine = await stage.open({ tools, slices, resources: { files: open() } });
    const steps = [step("a"), step("b", "shell", ["a"]), step("c", "write", ["b"]), step("d", "shell", ["c"])];
    const run = await engine.submit({ steps }, { principal: botAgent, project });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    await stage.crash();
    await die();
    const files = open();
    const again = await stage.open({ tools, slices, resources: { files } });
    const at = (stepId: string) => ({ runId: run.run_id, stepId, side: "before" }) as const;
    await again.checkpoints.restore(at("c"), { principal: anaPerson });
    expect(await seen(files)).toEqual({ last: "b", "words/a": "a" });
    await again.checkpoints.restore(at("d"), { principal: anaPerson });
    expect(await seen(files)).toEqual({ last: "c", "words/a": "a", "words/c": "c" });
    await again.checkpoints.restore(at("a"), { principal: anaPerson });
    expect(readdirSync(root)).toEqual([]);
  });

  it("are not restored over later foreign changes, and neither is state", async () => {
    const stage = newStage();
    const { root, open } = tree();
    const files = open();
    const engine = await stage.open({ tools, slices, resources: { files } });
    const run = await engine.submit(abc, { principal: botAgent, project });
    await run.result();
    writeFileSync(join(root, "words/c"), "a person's");
    const at = { runId: run.run_id, stepId: "a", side: "after" } as const;
    expect(await rejectedFault(engine.checkpoints.restore(at, { principal: anaPerson }))).toMatchObject({
      code: "RESTORE_BLOCKED",
    });
    expect(await seen(files)).toEqual({ ...after.d, "words/c": "a person's" });
    expect((await engine.state({ principal: botAgent, project })).version).toBe(4);
    expect(readFileSync(join(root, "last"), "utf8")).toBe("d");
  });

  it("stand when the process dies after the record and before it kept them", async () => {
    const stage = newStage();
    const { open, die } = tree();
    const dead = deferred<void>();
    const dying = (point: string) => {
      if (point !== "keep.before") return;
      dead.keep();
      throw new Error("the process is gone");
    };
    const engine = await stage.open({ tools, slices, resources: { files: open() }, failpoint: dying });
    const run = await engine.submit({ steps: [step("a")] }, { principal: botAgent, project });
    await dead.promise;
    await stage.crash();
    await die();
    const files = open();
    const again = await stage.open({ tools, slices, resources: { files } });
    expect(await seen(files)).toEqual(after.a);
    await again.checkpoints.restore({ runId: run.run_id, stepId: "a", side: "before" }, { principal: anaPerson });
    expect(await seen(files)).toEqual({});
  });

  it("that are refused after files were restored leave neither changed", async () => {
    const stage = newStage();
    const files = tree().open();
    const refusing = (point: string) => {
      if (point === "rewind.after") throw new FaultError(fault("CANCELLED", "it is refused in the last moment"));
    };
    const engine = await stage.open({ tools, slices, resources: { files }, failpoint: refusing });
    const run = await engine.submit(abc, { principal: botAgent, project });
    await run.result();
    const at = { runId: run.run_id, stepId: "a", side: "after" } as const;
    expect(await rejectedFault(engine.checkpoints.restore(at, { principal: anaPerson }))).toMatchObject({
      code: "CANCELLED",
    });
    expect(await seen(files)).toEqual(after.d);
    expect((await engine.state({ principal: botAgent, project })).version).toBe(4);
  });

  it("in memory are lost with the process, and say so", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools, slices, resources: { files: new MemoryFilesystem() } });
    const run = await engine.submit(abc, { principal: botAgent, project });
    await run.result();
    await stage.crash();
    const again = await stage.open({ tools, slices, resources: { files: new MemoryFilesystem() } });
    const at = { runId: run.run_id, stepId: "c", side: "before" } as const;
    expect(await rejectedFault(again.checkpoints.restore(at, { principal: anaPerson }))).toMatchObject({
      code: "CHECKPOINT_NOT_FOUND",
      message: expect.stringContaining("files:memory"),
    });
  });

  it("are restored only where the files are", async () => {
    const stage = newStage();
    const { open, die } = tree();
    const engine = await stage.open({ tools, slices, resources: { files: open() } });
    const run = await engine.submit(abc, { principal: botAgent, project });
    await run.result();
    await stage.crash();
    await die();
    const elsewhere = await stage.open({ tools, slices });
    const at = { runId: run.run_id, stepId: "c", side: "before" } as const;
    expect(await rejectedFault(elsewhere.checkpoints.restore(at, { principal: anaPerson }))).toMatchObject({
      code: "RESOURCE_ELSEWHERE",
    });
  });
});
