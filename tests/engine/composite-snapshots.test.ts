import { describe, expect, it } from "vitest";
import { type Snapshot, snapshotsEquivalent } from "../../src/core/state/snapshot.ts";
import type { Engine, EngineOptions } from "../../src/engine/api/engine-api.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const any = {} as const;
const notes = defineSlice({ name: "notes", shape: "map", entry: any });
const own = defineSlice({ name: "own", shape: "list", entry: any, scope: "session" });
const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: any });
const cached = defineSlice({ name: "cached", shape: "list", policy: "cache", entry: any });
const slices = [notes, own, diary, cached];
const at = { principal: botAgent, project: "garden", session: "s1" };
const person = { principal: anaPerson };

/** Writes a word to every slice and to a file; `fail` makes it fail afterwards. */
const write = scriptedTool(
  "write",
  async ({ input, context }) => {
    const word = String(input.word);
    context.slice(notes).set(word, word);
    context.slice(own).append(word);
    context.slice(diary).append(word);
    context.slice(cached).append(word);
    await context.resource<Filesystem>("files").write(`notes/${word}.txt`, word);
    if (input.fail === true) throw new Error("no more words");
    return { word };
  },
  { effect: "writes", resources: { files: "handle" } },
);

function options(files = new MemoryFilesystem()): Partial<EngineOptions> & Pick<EngineOptions, "tools"> {
  return { tools: [write.tool], slices, resources: { files } };
}

async function seen(engine: Engine, files: MemoryFilesystem) {
  const state = await engine.state(at);
  return {
    notes: state
      .slice(notes)
      .all()
      .map(([key]) => key),
    own: state.slice(own).all(),
    diary: state.slice(diary).all(),
    digest: await files.digest(),
  };
}

const copied = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

describe.each(storeKinds)("a composite snapshot, on $name", ({ newFixture }) => {
  it("is taken by hand, names state and files of one moment, and is restored by its id", async () => {
    const files = new MemoryFilesystem();
    const engine = await newFixture().open(options(files));
    await engine.call("write", { word: "a" }, at);
    const before = await seen(engine, files);
    const snapshot = await engine.checkpoints.take({ ...at, tags: { ticket: "42" } });
    expect(snapshot).toMatchObject({
      schema_version: "2",
      phase: "manual",
      tags: { ticket: "42" },
      call: { tool: "checkpoints.take" },
      project: "garden",
      session: "s1",
      version: 1,
      slices: { notes: { policy: "state", shape: "map", size: 1 }, own: { size: 1 } },
      resources: { files: { resource: "files:memory", revision: expect.stringContaining("sha256:") } },
    });
    expect(JSON.stringify(snapshot)).not.toContain("entries");
    await engine.call("write", { word: "b" }, at);
    const done = await engine.checkpoints.restore(copied(snapshot).snapshot_id, person);
    expect(done).toMatchObject({ version: 3, files: { removed: 1 } });
    expect(await seen(engine, files)).toEqual({ ...before, diary: ["a", "b"] });
    const again = await engine.checkpoints.take(at);
    expect(snapshotsEquivalent(copied(snapshot), again)).toBe(true);
    expect(again.snapshot_id).not.toBe(snapshot.snapshot_id);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("is loaded with its entries and files into another store, and is equivalent to the original", async () => {
    const engine = await newFixture().open(options());
    await engine.call("write", { word: "a" }, at);
    await engine.call("write", { word: "b" }, at);
    const original = await engine.checkpoints.take({ ...at, contents: true });
    const target = new MemoryFilesystem({ files: { "old/file.txt": "old", "notes/a.txt": "other" } });
    const other = await newFixture().open(options(target));
    const loaded = await other.checkpoints.load(copied(original), { ...at, project: "copy" });
    expect(loaded.step.state).toBe("succeeded");
    const copy = await other.checkpoints.take({ ...at, project: "copy", contents: true });
    expect(snapshotsEquivalent(original, copy)).toBe(true);
    expect(await target.digest()).not.toBe(await new MemoryFilesystem().digest());
  });

  it("contains the slices of the policies that were asked for, and loads logs only if told to", async () => {
    const engine = await newFixture().open(options());
    await engine.call("write", { word: "a" }, at);
    const names = async (policies?: Snapshot["slices"][string]["policy"][]) =>
      Object.keys((await engine.checkpoints.take({ ...at, ...(policies && { policies }) })).slices);
    expect(await names()).toEqual(["notes", "own"]);
    expect(await names(["log"])).toEqual(["diary"]);
    expect(await names(["state", "cache"])).toEqual(["notes", "own", "cached"]);
    const full = await engine.checkpoints.take({ ...at, policies: ["state", "log", "cache"], contents: true });
    await engine.call("write", { word: "b" }, at);
    await engine.checkpoints.load(full, at);
    const diaryNow = async () => (await engine.state(at)).slice(diary).all();
    expect(await diaryNow()).toEqual(["a", "b"]);
    expect(await rejectedFault(engine.checkpoints.load(full, { ...at, preserveLogs: false }))).toMatchObject({
      code: "AUTH_FORBIDDEN",
    });
    const loaded = await engine.checkpoints.load(full, { ...at, ...person, preserveLogs: false });
    expect(loaded.step.state).toBe("succeeded");
    expect(await diaryNow()).toEqual(["a"]);
  });

  it("is equivalent before and after a failed call, and the list shows the failure", async () => {
    const engine = await newFixture().open(options());
    await engine.call("write", { word: "a" }, at);
    const before = await engine.checkpoints.take({ ...at, contents: true });
    const { run_id } = await engine.call("write", { word: "b", fail: true }, { ...at, requestKey: "call_7" });
    expect(snapshotsEquivalent(before, await engine.checkpoints.take({ ...at, contents: true }))).toBe(true);
    const [sideBefore, sideAfter] = await Promise.all([
      engine.checkpoints.get(`${run_id}/call/before`, person),
      engine.checkpoints.get(`${run_id}/call/after`, person),
    ]);
    expect([sideBefore.phase, sideAfter.phase]).toEqual(["before", "after"]);
    expect(sideAfter.parent_id).toBe(sideBefore.snapshot_id);
    expect(snapshotsEquivalent(sideBefore, sideAfter)).toBe(true);
    const listed = await engine.checkpoints.list({ ...at, callId: "call_7" });
    expect(listed).toMatchObject([
      {
        tool: "write",
        success: false,
        call_id: "call_7",
        before: `${run_id}/call/before`,
        after: `${run_id}/call/after`,
        summary: expect.stringContaining("no more words"),
      },
    ]);
    const all = await engine.checkpoints.list({ ...at, calls: "all" });
    expect(all.map(({ tool, success }) => [tool, success])).toEqual([
      ["write", true],
      ["checkpoints.take", true],
      ["write", false],
      ["checkpoints.take", true],
    ]);
  });

  it("is taken by a tool within its call, as the call sees state and files", async () => {
    const within = scriptedTool(
      "within",
      async ({ context }) => {
        context.slice(notes).set("draft", 1);
        await context.resource<Filesystem>("files").write("draft.txt", "draft");
        return copied(await context.snapshot({ policies: ["state"], tags: { at: "half" } }));
      },
      { effect: "writes", resources: { files: "handle" } },
    );
    const engine = await newFixture().open({ ...options(), tools: [write.tool, within.tool] });
    const { run_id, step } = await engine.call("within", {}, at);
    const taken = step.state === "succeeded" ? (step.output as unknown as Snapshot) : null;
    expect(taken).toMatchObject({
      phase: "within",
      parent_id: `${run_id}/call/before`,
      call: { run_id, step_id: "call", attempt: 1, tool: "within" },
      tags: { at: "half" },
      version: 0,
      slices: { notes: { entries: { draft: 1 } } },
    });
    const files = new MemoryFilesystem();
    const other = await newFixture().open(options(files));
    await other.checkpoints.load(taken as Snapshot, at);
    const copy = await other.checkpoints.take({ ...at, contents: true });
    expect(snapshotsEquivalent(taken as Snapshot, copy)).toBe(true);
  });

  it("leaves a file alone whose name no JSON object can have as a key", async () => {
    const files = new MemoryFilesystem();
    const named = scriptedTool(
      "named",
      async ({ context }) => {
        await context.resource<Filesystem>("files").write("__proto__", "kept");
        return {};
      },
      { effect: "writes", resources: { files: "handle" } },
    );
    const engine = await newFixture().open({ ...options(files), tools: [write.tool, named.tool] });
    await engine.call("named", {}, at);
    const before = await files.digest();
    const snapshot = copied(await engine.checkpoints.take({ ...at, contents: true }));
    expect(snapshot.resources.files?.contents).toMatchObject({ files: {}, omitted: ["__proto__"] });
    await engine.checkpoints.load(snapshot, at);
    expect(await files.digest()).toBe(before);
  });

  it("is refused on the record, and changes nothing, if it is not what it was", async () => {
    const files = new MemoryFilesystem();
    const engine = await newFixture().open(options(files));
    await engine.call("write", { word: "a" }, at);
    const good = copied(await engine.checkpoints.take({ ...at, contents: true }));
    const reference = copied(await engine.checkpoints.take(at));
    await engine.call("write", { word: "b" }, at);
    const before = await seen(engine, files);
    type Contents = { files: Record<string, string>; blobs: Record<string, string> };
    const changed = (change: (snapshot: Snapshot, contents: Contents) => void): Snapshot => {
      const copy = copied(good);
      change(copy, copy.resources.files?.contents as unknown as Contents);
      return copy;
    };
    const empty = (record: Record<string, unknown>) => {
      for (const name of Object.keys(record)) delete record[name];
    };
    for (const [wrong, code, says] of [
      [changed((one) => Object.assign(one, { schema_version: "9" })), "INVALID_INPUT", "schema_version"],
      [reference, "INVALID_INPUT", "has no entries"],
      [changed((one) => Object.assign(one.slices, { gone: one.slices.notes })), "SLICE_CHANGED", "gone"],
      [changed((one) => Object.assign(one.slices.notes as object, { entries: { x: 1 } })), "STATE_INVALID", "digest"],
      [changed((_, { blobs }) => empty(blobs)), "RESTORE_FAILED", "missing"],
      [
        changed((_, { blobs, files: paths }) => Object.assign(blobs, { [Object.values(paths)[0] ?? ""]: "" })),
        "RESTORE_FAILED",
        "differs",
      ],
      [changed((_, { files: paths }) => Object.assign(paths, { "../up": "0" })), "INVALID_INPUT", "../up"],
      [changed((one) => Object.assign(one.resources, { other: one.resources.files })), "INVALID_INPUT", "other"],
    ] as const) {
      const { run_id, step } = await engine.checkpoints.load(wrong, at);
      expect(step).toMatchObject({ fault: { code, message: expect.stringContaining(says) } });
      expect((await (await engine.run(run_id, { principal: botAgent })).finished()).status).toBe("failed");
    }
    expect(await seen(engine, files)).toEqual(before);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });
});
