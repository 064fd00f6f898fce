import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Resource } from "../../src/core/ports/resource.ts";
import type { Json } from "../../src/core/values/json.ts";
import { snapshotable } from "../../src/resources/snapshotable/snapshotable.ts";
import { anaPerson, botAgent, storeKinds } from "../engine/engine-fixture.ts";
import { rejectedFault, scriptedTool } from "../engine/scripted-tool.ts";

type Counts = Record<string, number>;

/** A container of state in memory, which tools change directly. */
function counter(): { readonly counts: Counts; readonly resource: Resource<Counts> } {
  const counts: Counts = {};
  const resource = snapshotable({
    name: "counts",
    snapshot: () => ({ ...counts }),
    restore: (state) => {
      for (const name of Object.keys(counts)) delete counts[name];
      Object.assign(counts, state);
    },
    handle: counts,
  });
  return { counts, resource };
}

const add = scriptedTool(
  "add",
  ({ input, context }) => {
    const counts = context.resource<Counts>("counts");
    counts[String(input.name)] = (counts[String(input.name)] ?? 0) + 1;
    if (input.fail === true) throw new Error("it cannot be counted");
    return { ...counts };
  },
  { effect: "writes", resources: { counts: "handle" } },
);

const at = { principal: botAgent, project: "count" };

describe.each(storeKinds)("a resource of two functions, on $name", ({ newFixture }) => {
  it("is restored when a call fails, and by the id of a snapshot", async () => {
    const { counts, resource } = counter();
    const engine = await newFixture().open({ tools: [add.tool], resources: { counts: resource } });
    await engine.call("add", { name: "a" }, at);
    const snapshot = await engine.checkpoints.take(at);
    expect((await engine.call("add", { name: "b", fail: true }, at)).step.state).toBe("failed_final");
    expect(counts).toEqual({ a: 1 });
    await engine.call("add", { name: "a" }, at);
    expect(counts).toEqual({ a: 2 });
    await engine.checkpoints.restore(snapshot.snapshot_id, { principal: anaPerson });
    expect(counts).toEqual({ a: 1 });
    expect((await engine.checkpoints.take(at)).resources).toEqual(snapshot.resources);
  });

  it("is loaded from a snapshot with contents, and refuses to undo a change from elsewhere", async () => {
    const { counts, resource } = counter();
    const engine = await newFixture().open({ tools: [add.tool], resources: { counts: resource } });
    const { run_id } = await engine.call("add", { name: "a" }, at);
    const snapshot = await engine.checkpoints.take({ ...at, contents: true });
    const other = counter();
    const copy = await newFixture().open({ tools: [add.tool], resources: { counts: other.resource } });
    await copy.checkpoints.load(JSON.parse(JSON.stringify(snapshot)), at);
    expect(other.counts).toEqual({ a: 1 });
    counts.a = 7;
    const before = { runId: run_id, stepId: "call", side: "before" } as const;
    expect(await rejectedFault(engine.checkpoints.restore(before, { principal: anaPerson }))).toMatchObject({
      code: "RESTORE_BLOCKED",
    });
    expect(counts).toEqual({ a: 7 });
  });

  it("refuses a state that is no JSON before the tool is called", async () => {
    const resource = snapshotable<unknown>({ name: "odd", snapshot: () => new Map(), restore: () => {} });
    const use = scriptedTool("use", () => ({}), { effect: "writes", resources: { odd: "handle" } });
    const engine = await newFixture().open({ tools: [use.tool], resources: { odd: resource } });
    const { step } = await engine.call("use", {}, at);
    expect([step.fault?.code, use.calls.length]).toEqual(["RESOURCE_UNFIT", 0]);
  });
});

describe("a resource of two functions with a folder", () => {
  /** A state in a file that outlives its process. */
  function durable(folder: string): Resource {
    const file = join(folder, "state.json");
    return snapshotable<Json>({
      name: "file",
      store: join(folder, "captures"),
      snapshot: () => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {}),
      restore: (state) => writeFileSync(file, JSON.stringify(state)),
    });
  }

  it("is restored by the next process if the call died, before another call starts, and again after a crash", async () => {
    const folder = mkdtempSync(join(tmpdir(), "writ-snapshotable-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const first = durable(folder);
    const capture = await first.capture("call 1", "handle");
    writeFileSync(join(folder, "state.json"), '{"half":1}');
    await first.leave(capture); // As if the process had died.
    const next = durable(folder);
    expect(await rejectedFault(next.capture("call 2", "handle"))).toMatchObject({ code: "RESOURCE_BUSY" });
    const left = await next.left();
    expect(left).toMatchObject({ capture: { id: capture.id }, isClosed: false });
    expect(await next.restore(capture)).toMatchObject({ outcome: "restored", changed: 1 });
    expect(await next.restore(capture)).toMatchObject({ outcome: "restored", changed: 1 });
    expect(JSON.parse(readFileSync(join(folder, "state.json"), "utf8"))).toEqual({});
    await next.release(capture);
    expect(await next.left()).toBeNull();
    expect(await rejectedFault(durable(folder).restore(capture))).toMatchObject({ code: "CAPTURE_NOT_FOUND" });
  });

  it("names what changed between its calls, and returns to before and after each, also in another process", async () => {
    const folder = mkdtempSync(join(tmpdir(), "writ-snapshotable-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "state.json");
    const change = async (resource: Resource, tag: string, state: Json) => {
      const capture = await resource.capture(tag, "handle");
      writeFileSync(file, JSON.stringify(state));
      const closing = await resource.close(capture);
      await resource.keep(capture);
      return { capture, closing };
    };
    const one = await change(durable(folder), "one", { a: 1 });
    expect(one.closing).toMatchObject({ changed: 1, added: 1, changes: [{ path: "a", change: "added" }] });
    const later = durable(folder);
    await change(later, "two", { a: 2, b: 1 });
    expect(await later.diff({ capture: one.capture, side: "after" }, "now")).toEqual([
      { path: "a", change: "changed", bytes: { before: 1, after: 1 } },
      { path: "b", change: "added", bytes: { before: null, after: 1 } },
    ]);
    expect((await later.kept()).captures.map(({ tag }) => tag)).toEqual(["one", "two"]);
    const undo = await later.capture("undo", "handle");
    await later.rewind(undo, { capture: one.capture, side: "after" });
    await later.close(undo);
    await later.keep(undo);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ a: 1 });
  });
});
