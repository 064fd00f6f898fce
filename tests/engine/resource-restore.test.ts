import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Resource } from "../../src/core/ports/resource.ts";
import type { Filesystem } from "../../src/resources/filesystem-handle.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, deferred, neverAnswers, rejectedFault, scriptedTool, throwsFault } from "./scripted-tool.ts";

const one = (name: string, more: object = {}) => ({ steps: [{ step_id: "a", name, ...more }] });

/** A folder with one file, and the resource that represents it in an engine. */
function workingTree() {
  const root = mkdtempSync(join(tmpdir(), "writ-tree-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  onTestFinished(() => rmSync(join(root, "..", `.${root.split("/").at(-1)}.writ`), { recursive: true, force: true }));
  writeFileSync(join(root, "notes.txt"), "as it was");
  const open = (): HostFilesystem => new HostFilesystem({ root });
  return { root, open, text: () => readFileSync(join(root, "notes.txt"), "utf8") };
}

/** Changes a file, and then does what the story says. */
const editor = (then: Parameters<typeof scriptedTool>[1], more: object = {}) => {
  const deeds = Array.isArray(then) ? then : [then];
  return scriptedTool(
    "edit",
    deeds.map((deed) => async (call: { context: { resource<Handle>(name: string): Handle } }) => {
      await call.context.resource<Filesystem>("files").write("notes.txt", "changed");
      return deed(call as never);
    }) as never,
    { effect: "writes", resources: { files: "handle" }, ...more },
  );
};

describe.each(storeKinds)("tool that changes files, on $name", ({ newFixture: newStage }) => {
  it("keeps its changes when it succeeds, and reports them", async () => {
    const tree = workingTree();
    const edit = editor(() => ({ ok: true }));
    const engine = await newStage().open({ tools: [edit.tool], resources: { files: tree.open() } });
    const run = await engine.submit(one("edit"), { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
    expect(tree.text()).toBe("changed");
    expect((await collectEvents(run, "step.succeeded"))[0]).toMatchObject({
      closings: [{ changed: 1, changes: [{ path: "notes.txt", change: "changed" }] }],
    });
  });

  it.each([
    ["throws", throwsFault("TOOL_FAILED")],
    ["says success: false", () => ({ success: false })],
    ["answers with what its schema does not take", () => 7],
    ["hangs until its time is over", neverAnswers],
  ])("restores the files when it %s, before the result is visible", async (_, ending) => {
    const stage = newStage();
    const tree = workingTree();
    const edit = editor(ending, { output: { type: "object" }, timeoutMs: 1000, tries: 1 });
    const engine = await stage.open({ tools: [edit.tool], resources: { files: tree.open() } });
    const run = await engine.submit(one("edit"), { principal: botAgent });
    expect((await stage.runUntilIdle(run)).status).toBe("failed");
    expect(tree.text()).toBe("as it was");
    const types: string[] = [];
    for await (const { event } of run.events()) types.push(event.type);
    expect(types.slice(1)).toEqual(["step.started", "step.restoring", "step.restored", "step.failed", "run.ended"]);
  });

  it("has its files restored by the next worker after its worker died, and runs again", async () => {
    const stage = newStage();
    const tree = workingTree();
    const edit = editor([neverAnswers, () => ({ ok: true })]);
    const files = tree.open();
    const engine = await stage.open({ tools: [edit.tool], resources: { files } });
    const run = await engine.submit(one("edit"), { principal: botAgent });
    await stage.advance(0);
    for (let turn = 0; turn < 200 && tree.text() !== "changed"; turn += 1) await new Promise(setImmediate);
    await stage.crash();
    await files.dispose(); // Releases the locks, as the operating system does when a process dies.
    expect(tree.text()).toBe("changed");
    const seen: string[] = [];
    const again = editor(() => ({ seen: seen.push(tree.text()) }));
    const next = await stage.open({ tools: [again.tool], resources: { files: tree.open() } });
    const rested = await stage.runUntilIdle(await next.run(run.run_id, { principal: botAgent }));
    expect(rested.status).toBe("completed");
    expect(
      (await collectEvents(await next.run(run.run_id, { principal: botAgent }), "step.restored"))[0],
    ).toMatchObject({
      attempt: 1,
      restored: [{ outcome: "restored", changed: 1 }],
    });
  });

  describe("whose worker died while it wrote, and whose capture store is", () => {
    const store = (root: string) => join(root, "..", `.${basename(root)}.writ`);
    it.each<[string, (store: string) => void]>([
      ["gone", (path) => rmSync(path, { recursive: true })],
      ["emptied", (path) => readdirSync(path).forEach((name) => void rmSync(join(path, name), { recursive: true }))],
      ["without its record", (path) => truncateSync(join(path, "captures"), 64)],
      ["without its captures", (path) => rmSync(join(path, "captures"))],
    ])("%s, is not run again, and says what to do", async (_, damage) => {
      const stage = newStage();
      const tree = workingTree();
      const shell = (deed: typeof neverAnswers) =>
        scriptedTool(
          "edit",
          (call) => {
            writeFileSync(join(tree.root, "notes.txt"), "half");
            return deed(call);
          },
          { effect: "writes", resources: { files: "raw" } },
        );
      const files = tree.open();
      const engine = await stage.open({ tools: [shell(neverAnswers).tool], resources: { files } });
      const run = await engine.submit(one("edit"), { principal: botAgent });
      await stage.advance(0);
      for (let turn = 0; turn < 200 && tree.text() !== "half"; turn += 1) await new Promise(setImmediate);
      await stage.crash();
      await files.dispose();
      cpSync(store(tree.root), `${store(tree.root)}.copy`, { recursive: true });
      onTestFinished(() => rmSync(`${store(tree.root)}.copy`, { recursive: true, force: true }));
      damage(store(tree.root));
      const again = shell(() => ({ ok: true }));
      const open = () => stage.open({ tools: [again.tool], resources: { files: tree.open() } });
      const next = await open();
      const handle = await next.run(run.run_id, { principal: botAgent });
      expect(await stage.runUntilIdle(handle)).toMatchObject({
        status: "failed",
        steps: { a: { state: "failed_final", fault: { code: "CAPTURE_NOT_FOUND" } } },
      });
      expect((await handle.result()).steps.a?.fault?.message).toContain(
        "put the capture store back and resume the run",
      );
      expect([again.calls, tree.text(), await collectEvents(handle, "step.restored")]).toEqual([[], "half", []]);
      // A resume alone changes nothing.
      await next.resume(run.run_id, { principal: botAgent });
      expect((await stage.runUntilIdle(handle)).steps.a).toMatchObject({ fault: { code: "CAPTURE_NOT_FOUND" } });
      expect([again.calls, tree.text()]).toEqual([[], "half"]);
      const absent = { as: "absent", reason: "the files are in order" } as const;
      expect(await rejectedFault(next.resolve(run.run_id, "a", { principal: botAgent, ...absent }))).toMatchObject({
        code: "AUTH_FORBIDDEN",
      });
      writeFileSync(join(tree.root, "notes.txt"), "as it was");
      await next.resolve(run.run_id, "a", { principal: anaPerson, ...absent });
      await next.resume(run.run_id, { principal: anaPerson });
      expect((await stage.runUntilIdle(handle)).status).toBe("completed");
      expect(again.calls).toHaveLength(1);
      expect(await next.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
    });

    it("put back, is restored from it when a person resumes the run", async () => {
      const stage = newStage();
      const tree = workingTree();
      const edit = editor([neverAnswers]);
      const files = tree.open();
      const engine = await stage.open({ tools: [edit.tool], resources: { files } });
      const run = await engine.submit(one("edit"), { principal: botAgent });
      await stage.advance(0);
      for (let turn = 0; turn < 200 && tree.text() !== "changed"; turn += 1) await new Promise(setImmediate);
      await stage.crash();
      await files.dispose();
      renameSync(store(tree.root), `${store(tree.root)}.copy`);
      const seen: string[] = [];
      const look = scriptedTool("edit", () => ({ seen: seen.push(tree.text()) }), {
        effect: "writes",
        resources: { files: "handle" },
      });
      const open = () => stage.open({ tools: [look.tool], resources: { files: lost } });
      let lost = tree.open();
      const next = await open();
      const handle = await next.run(run.run_id, { principal: botAgent });
      expect((await stage.runUntilIdle(handle)).status).toBe("failed");
      await stage.crash();
      await lost.dispose();
      rmSync(store(tree.root), { recursive: true });
      renameSync(`${store(tree.root)}.copy`, store(tree.root));
      lost = tree.open();
      const last = await open();
      await last.resume(run.run_id, { principal: anaPerson });
      const rested = await stage.runUntilIdle(await last.run(run.run_id, { principal: botAgent }));
      expect([rested.status, seen]).toEqual(["completed", ["as it was"]]);
    });
  });

  it.each<[string, (root: string) => void, string]>([
    ["removes", (root) => rmSync(root, { recursive: true }), "was removed or moved"],
    [
      "remakes",
      (root) => {
        renameSync(root, `${root}.old`);
        mkdirSync(root);
      },
      "was replaced",
    ],
    [
      "replaces by a link",
      (root) => {
        renameSync(root, `${root}.old`);
        symlinkSync(`${root}.old`, root);
      },
      "is a link now",
    ],
  ])("that %s the root fails on record, and no later call follows", async (_, change, told) => {
    const stage = newStage();
    const tree = workingTree();
    onTestFinished(() => rmSync(`${tree.root}.old`, { recursive: true, force: true }));
    const shell = scriptedTool("shell", () => ({ ok: change(tree.root) ?? true }), {
      effect: "writes",
      resources: { files: "raw" },
    });
    const look = scriptedTool("look", () => ({ ok: true }), { effect: "writes", resources: { files: "raw" } });
    const engine = await stage.open({ tools: [shell.tool, look.tool], resources: { files: tree.open() } });
    const fault = { code: "RESOURCE_REPLACED", message: expect.stringContaining(`the root "${tree.root}" ${told}`) };
    const run = await engine.submit(one("shell"), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      status: "failed",
      steps: { a: { state: "failed_final", fault } },
    });
    const next = await engine.submit(one("look"), { principal: botAgent });
    expect((await stage.runUntilIdle(next)).steps.a).toMatchObject({ state: "rejected", fault });
    expect(look.calls).toHaveLength(0);
    if (told === "is a link now") expect(() => tree.open()).toThrow("is a link now");
  });

  it("ends with the fault on record if its worker died during the restore, and is not run again", async () => {
    const stage = newStage();
    const tree = workingTree();
    const edit = editor(throwsFault("TOOL_FAILED"));
    const files = tree.open();
    const failpoint = (name: string) => {
      if (name === "restore.before") throw new Error("the process dies");
    };
    const engine = await stage.open({ tools: [edit.tool], resources: { files }, failpoint });
    const run = await engine.submit(one("edit"), { principal: botAgent });
    await expect(run.result()).rejects.toThrow("the process dies");
    await stage.crash();
    await files.dispose();
    const again = editor(() => ({ ok: true }));
    const next = await stage.open({ tools: [again.tool], resources: { files: tree.open() } });
    const handle = await next.run(run.run_id, { principal: botAgent });
    expect(await stage.runUntilIdle(handle)).toMatchObject({
      status: "failed",
      steps: { a: { state: "failed_final", fault: { code: "TOOL_FAILED" } } },
    });
    expect([again.calls, tree.text()]).toEqual([[], "as it was"]);
    expect(await collectEvents(handle, "step.restored")).toHaveLength(1);
  });

  it("runs alone on a tree: two calls never work on it at once", async () => {
    const stage = newStage();
    let at = 0;
    let most = 0;
    const edit = scriptedTool(
      "edit",
      async ({ context }) => {
        at += 1;
        most = Math.max(most, at);
        const files = context.resource<Filesystem>("files");
        const count = Number(await files.readText("count"));
        await null;
        await files.write("count", String(count + 1));
        at -= 1;
        return { ok: true };
      },
      { effect: "writes", resources: { files: "handle" } },
    );
    const files = new MemoryFilesystem({ files: { count: "0" } });
    const engine = await stage.open({ tools: [edit.tool], resources: { files } });
    const steps = Array.from({ length: 10 }, (_, index) => ({ step_id: `s${index}`, name: "edit" }));
    const runs = await Promise.all([1, 2].map(() => engine.submit({ steps }, { principal: botAgent })));
    for (const run of runs) expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(most).toBe(1);
    const capture = await files.capture("look", "handle");
    expect(await (await files.open(capture)).readText("count")).toBe("20");
  });

  it("leaves neither files nor state changed when state refuses the commit", async () => {
    const stage = newStage();
    const counts = defineSlice({ name: "counts", shape: "map", entry: { type: "integer" } });
    const go = deferred<void>();
    const both = scriptedTool(
      "both",
      [
        async ({ context }) => {
          const count = (context.slice(counts).get("n") as number | undefined) ?? 0;
          await context.resource<Filesystem>("files").write("count", String(count + 1));
          await go.promise;
          context.slice(counts).set("n", count + 1);
          return { ok: true };
        },
        async ({ context }) => {
          const files = context.resource<Filesystem>("files");
          return { before: await files.readText("count") };
        },
      ],
      { effect: "writes", resources: { files: "handle" } },
    );
    const other = scriptedTool("other", ({ context }) => context.slice(counts).set("n", 7) ?? { ok: 1 }, {
      effect: "writes",
    });
    const files = new MemoryFilesystem({ files: { count: "0" } });
    const engine = await stage.open({ tools: [both.tool, other.tool], slices: [counts], resources: { files } });
    const run = await engine.submit(one("both"), { principal: botAgent, project: "p" });
    await stage.advance(0);
    await (await engine.submit(one("other"), { principal: botAgent, project: "p" })).result();
    go.keep();
    expect(await stage.runUntilIdle(run)).toMatchObject({
      status: "completed",
      steps: { a: { output: { before: "0" } } },
    });
    expect(both.calls).toHaveLength(2);
  });

  it("is refused before the call if its files cannot be restored", async () => {
    const edit = editor(() => ({ ok: true }));
    const files = {
      name: "files:unfit",
      host: null,
      capture: async () => Promise.reject(new Error("a device is no file")),
    } as unknown as Resource;
    const engine = await newStage().open({ tools: [edit.tool], resources: { files } });
    const run = await engine.submit(one("edit"), { principal: botAgent });
    expect((await run.result()).steps.a).toMatchObject({
      state: "rejected",
      fault: { message: "a device is no file" },
    });
    expect(edit.calls).toHaveLength(0);
  });

  it("fails if it leaves a process running; its files are restored when that process ends", async () => {
    const stage = newStage();
    const tree = workingTree();
    const shell = scriptedTool(
      "shell",
      async ({ context }) => {
        const { root } = context.resource<Filesystem>("files");
        const writer = spawn("sh", ["-c", "echo changed > notes.txt; echo begun; read word"], { cwd: String(root) });
        left.keep(writer);
        await once(writer.stdout, "data");
        return { ok: true };
      },
      { effect: "writes", resources: { files: "raw" } },
    );
    const left = deferred<ChildProcess>();
    onTestFinished(async () => void (await left.promise).kill());
    const look = scriptedTool("look", () => ({ seen: tree.text() }), {
      effect: "writes",
      resources: { files: "handle" },
    });
    const engine = await stage.open({ tools: [shell.tool, look.tool], resources: { files: tree.open() } });
    const run = await engine.submit(one("shell"), { principal: botAgent });
    expect(await rejectedFault(run.result())).toMatchObject({ code: "RESOURCE_RESTLESS" });
    expect((await collectEvents(run, "step.restoring"))[0]).toMatchObject({ fault: { code: "RESOURCE_RESTLESS" } });
    expect(tree.text()).toBe("changed\n");
    const writer = await left.promise;
    const exit = once(writer, "exit");
    writer.stdin?.end();
    await exit;
    const next = await engine.submit(one("look"), { principal: botAgent });
    expect(await next.result()).toMatchObject({ steps: { a: { output: { seen: "as it was" } } } });
  });

  it("waits for the machine that its run is bound to", async () => {
    const stage = newStage();
    const edit = editor(() => ({ ok: true }));
    const on = (host: string) => {
      const files = new MemoryFilesystem({ files: { "notes.txt": "" } });
      const resource: Resource = {
        name: "files:tree",
        host,
        capture: async (tag, access) => ({ ...(await files.capture(tag, access)), resource: "files:tree", host }),
        open: (capture) => files.open(capture),
        close: (capture) => files.close(capture),
        restore: (capture) => files.restore(capture),
        keep: (capture) => files.keep(capture),
        kept: () => files.kept(),
        rewind: (capture, to) => files.rewind(capture, to),
        revert: (capture, calls) => files.revert(capture, calls),
        left: () => files.left(),
        leave: (capture) => files.leave(capture),
        release: (capture) => files.release(capture),
        digest: () => files.digest(),
        diff: (from, to) => files.diff(from, to),
      };
      return resource;
    };
    const bare = await stage.open({ tools: [edit.tool] });
    const run = await bare.submit(one("edit"), { principal: botAgent });
    expect((await run.result()).steps.a).toMatchObject({ state: "waiting" });
    await stage.crash();
    const here = await stage.open({ tools: [edit.tool], resources: { files: on("here") } });
    const steps = [
      { step_id: "a", name: "edit" },
      { step_id: "w", kind: "wait", payload: { signal: "go" }, depends_on: ["a"] },
      { step_id: "b", name: "edit", depends_on: ["w"] },
    ];
    const long = await here.submit({ steps }, { principal: botAgent });
    await long.result();
    await stage.crash();
    const there = await stage.open({ tools: [edit.tool], resources: { files: on("there") } });
    await there.signal("go", 1, { principal: botAgent });
    const rested = await stage.runUntilIdle(await there.run(long.run_id, { principal: botAgent }));
    expect(rested.steps.b).toMatchObject({ state: "waiting" });
    expect(
      (await collectEvents(await there.run(long.run_id, { principal: botAgent }), "step.parked")).at(-1),
    ).toMatchObject({
      on: { fault: { code: "RESOURCE_ELSEWHERE" } },
    });
  });
});
