import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Resource } from "../../src/core/resource.ts";
import type { Filesystem } from "../../src/resources/filesystem.ts";
import { HostFilesystem } from "../../src/resources/host/host-filesystem.ts";
import { MemoryFilesystem } from "../../src/resources/memory-filesystem.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { actor, eventsOf, faultOf, hang, promised, throws } from "./cast.ts";
import { bot, places } from "./stage.ts";

const one = (name: string, more: object = {}) => ({ steps: [{ step_id: "a", name, ...more }] });

/** A folder with one file, and what stands for it in an engine. */
function workingTree() {
  const root = mkdtempSync(join(tmpdir(), "writ-tree-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  onTestFinished(() => rmSync(join(root, "..", `.${root.split("/").at(-1)}.writ`), { recursive: true, force: true }));
  writeFileSync(join(root, "notes.txt"), "as it was");
  const open = (): HostFilesystem => new HostFilesystem({ root });
  return { root, open, text: () => readFileSync(join(root, "notes.txt"), "utf8") };
}

/** Changes a file, and then does what the story says. */
const editor = (then: Parameters<typeof actor>[1], more: object = {}) => {
  const deeds = Array.isArray(then) ? then : [then];
  return actor(
    "edit",
    deeds.map((deed) => async (call: { context: { resource<Handle>(name: string): Handle } }) => {
      await call.context.resource<Filesystem>("files").write("notes.txt", "changed");
      return deed(call as never);
    }) as never,
    { effect: "writes", resources: { files: "handle" }, ...more },
  );
};

describe.each(places)("a tool that changes files, on $name", ({ newStage }) => {
  it("leaves them changed when it succeeds, and says what it changed", async () => {
    const tree = workingTree();
    const edit = editor(() => ({ ok: true }));
    const engine = await newStage().open({ tools: [edit.tool], resources: { files: tree.open() } });
    const run = await engine.submit(one("edit"), { principal: bot });
    expect((await run.result()).status).toBe("completed");
    expect(tree.text()).toBe("changed");
    expect((await eventsOf(run, "step.succeeded"))[0]).toMatchObject({
      closings: [{ changed: 1, changes: [{ path: "notes.txt", change: "changed" }] }],
    });
  });

  it.each([
    ["throws", throws("TOOL_FAILED")],
    ["says success: false", () => ({ success: false })],
    ["answers with what its schema does not take", () => 7],
    ["hangs until its time is over", hang],
  ])("leaves them as they were when it %s, before anybody hears of it", async (_, ending) => {
    const stage = newStage();
    const tree = workingTree();
    const edit = editor(ending, { output: { type: "object" }, timeoutMs: 1000, tries: 1 });
    const engine = await stage.open({ tools: [edit.tool], resources: { files: tree.open() } });
    const run = await engine.submit(one("edit"), { principal: bot });
    expect((await stage.rest(run)).status).toBe("failed");
    expect(tree.text()).toBe("as it was");
    const types: string[] = [];
    for await (const { event } of run.events()) types.push(event.type);
    expect(types.slice(1)).toEqual(["step.started", "step.restoring", "step.restored", "step.failed", "run.ended"]);
  });

  it("is put back by whoever comes after its worker died, and then run again", async () => {
    const stage = newStage();
    const tree = workingTree();
    const edit = editor([hang, () => ({ ok: true })]);
    const files = tree.open();
    const engine = await stage.open({ tools: [edit.tool], resources: { files } });
    const run = await engine.submit(one("edit"), { principal: bot });
    await stage.pass(0);
    for (let turn = 0; turn < 200 && tree.text() !== "changed"; turn += 1) await new Promise(setImmediate);
    await stage.crash();
    await files.dispose(); // What the operating system does when a process dies.
    expect(tree.text()).toBe("changed");
    const seen: string[] = [];
    const again = editor(() => ({ seen: seen.push(tree.text()) }));
    const next = await stage.open({ tools: [again.tool], resources: { files: tree.open() } });
    const rested = await stage.rest(await next.run(run.run_id, { principal: bot }));
    expect(rested.status).toBe("completed");
    expect((await eventsOf(await next.run(run.run_id, { principal: bot }), "step.restored"))[0]).toMatchObject({
      attempt: 1,
      restored: [{ outcome: "restored", changed: 1 }],
    });
  });

  it("has a turn of its own: two that share a tree never work on it at once", async () => {
    const stage = newStage();
    let at = 0;
    let most = 0;
    const edit = actor(
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
    const runs = await Promise.all([1, 2].map(() => engine.submit({ steps }, { principal: bot })));
    for (const run of runs) expect((await stage.rest(run)).status).toBe("completed");
    expect(most).toBe(1);
    const capture = await files.capture("look", "handle");
    expect(await (await files.open(capture)).readText("count")).toBe("20");
  });

  it("leaves nothing when state refuses it in the end: neither in the one nor in the other", async () => {
    const stage = newStage();
    const counts = defineSlice({ name: "counts", shape: "map", entry: { type: "integer" } });
    const go = promised<void>();
    const both = actor(
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
    const other = actor("other", ({ context }) => context.slice(counts).set("n", 7) ?? { ok: 1 }, { effect: "writes" });
    const files = new MemoryFilesystem({ files: { count: "0" } });
    const engine = await stage.open({ tools: [both.tool, other.tool], slices: [counts], resources: { files } });
    const run = await engine.submit(one("both"), { principal: bot, project: "p" });
    await stage.pass(0);
    await (await engine.submit(one("other"), { principal: bot, project: "p" })).result();
    go.keep();
    expect(await stage.rest(run)).toMatchObject({ status: "completed", steps: { a: { output: { before: "0" } } } });
    expect(both.calls).toHaveLength(2);
  });

  it("is refused before it is called if what it changes could not be put back", async () => {
    const edit = editor(() => ({ ok: true }));
    const files = {
      name: "files:unfit",
      host: null,
      capture: async () => Promise.reject(new Error("a device is no file")),
    } as unknown as Resource;
    const engine = await newStage().open({ tools: [edit.tool], resources: { files } });
    const run = await engine.submit(one("edit"), { principal: bot });
    expect((await run.result()).steps.a).toMatchObject({
      state: "rejected",
      fault: { message: "a device is no file" },
    });
    expect(edit.calls).toHaveLength(0);
  });

  it("has failed, on the record, if it leaves somebody at work; its files are put back when that one has ended", async () => {
    const stage = newStage();
    const tree = workingTree();
    const shell = actor(
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
    const left = promised<ChildProcess>();
    onTestFinished(async () => void (await left.promise).kill());
    const look = actor("look", () => ({ seen: tree.text() }), { effect: "writes", resources: { files: "handle" } });
    const engine = await stage.open({ tools: [shell.tool, look.tool], resources: { files: tree.open() } });
    const run = await engine.submit(one("shell"), { principal: bot });
    expect(await faultOf(run.result())).toMatchObject({ code: "RESOURCE_RESTLESS" });
    expect((await eventsOf(run, "step.restoring"))[0]).toMatchObject({ fault: { code: "RESOURCE_RESTLESS" } });
    expect(tree.text()).toBe("changed\n");
    const writer = await left.promise;
    const exit = once(writer, "exit");
    writer.stdin?.end();
    await exit;
    const next = await engine.submit(one("look"), { principal: bot });
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
        left: () => files.left(),
        leave: (capture) => files.leave(capture),
        release: (capture) => files.release(capture),
        digest: () => files.digest(),
        diff: (from, to) => files.diff(from, to),
      };
      return resource;
    };
    const bare = await stage.open({ tools: [edit.tool] });
    const run = await bare.submit(one("edit"), { principal: bot });
    expect((await run.result()).steps.a).toMatchObject({ state: "waiting" });
    await stage.crash();
    const here = await stage.open({ tools: [edit.tool], resources: { files: on("here") } });
    const steps = [
      { step_id: "a", name: "edit" },
      { step_id: "w", kind: "wait", payload: { signal: "go" }, depends_on: ["a"] },
      { step_id: "b", name: "edit", depends_on: ["w"] },
    ];
    const long = await here.submit({ steps }, { principal: bot });
    await long.result();
    await stage.crash();
    const there = await stage.open({ tools: [edit.tool], resources: { files: on("there") } });
    await there.signal("go", 1, { principal: bot });
    const rested = await stage.rest(await there.run(long.run_id, { principal: bot }));
    expect(rested.steps.b).toMatchObject({ state: "waiting" });
    expect((await eventsOf(await there.run(long.run_id, { principal: bot }), "step.parked")).at(-1)).toMatchObject({
      on: { fault: { code: "RESOURCE_ELSEWHERE" } },
    });
  });
});
