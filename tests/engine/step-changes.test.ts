import { describe, expect, it } from "vitest";
import { kvSlice } from "../../src/index.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { deferred, scriptedTool } from "./scripted-tool.ts";

const diary = defineSlice({ name: "diary", shape: "list", policy: "log", entry: { type: "string" } });
const slices = [kvSlice, diary];
const options = { principal: botAgent, project: "p" } as const;
const write = (step_id: string, path: string, value: unknown, more: object = {}) => ({
  step_id,
  kind: "state_write",
  payload: { path, value },
  ...more,
});

describe.each(storeKinds)("the changes of a run, on $name", ({ newFixture }) => {
  it("are the values before and after each call, in the order of the versions, after a crash too", async () => {
    const stage = newFixture();
    const engine = await stage.open({ slices, work: true });
    await (await engine.submit({ steps: [write("a", "/kv/x", 1)] }, options)).result();
    const steps = [
      write("a", "/kv/x", { n: 2 }),
      write("b", "/kv/x/n", 3, { depends_on: ["a"] }),
      write("c", "/kv/y", 0),
    ];
    const run = await engine.submit({ sequential: true, steps }, options);
    await run.result();
    await engine.close();
    const again = await stage.open({ slices, work: true });
    const changes = await (await again.run(run.run_id, { principal: botAgent })).changes();
    expect(changes).toEqual([
      expect.objectContaining({
        step_id: "a",
        attempt: 1,
        version: 2,
        succeeded: true,
        changes: [{ path: "/kv/x", before: 1, after: { n: 2 } }],
      }),
      expect.objectContaining({ step_id: "b", changes: [{ path: "/kv/x", before: { n: 2 }, after: { n: 3 } }] }),
      expect.objectContaining({ step_id: "c", changes: [{ path: "/kv/y", after: 0 }] }),
    ]);
  });

  it("name no change of a call that ran at the same time", async () => {
    const started = deferred();
    const go = deferred();
    const slow = scriptedTool(
      "slow",
      async ({ context }) => {
        started.keep(null);
        await go.promise;
        context.slice(kvSlice).set("slow", true);
        return {};
      },
      { effect: "writes" },
    );
    const engine = await newFixture().open({ tools: [slow.tool], slices });
    const first = await engine.submit({ steps: [{ step_id: "s", name: "slow" }] }, options);
    await started.promise;
    const second = await engine.submit({ steps: [write("w", "/kv/fast", 1)] }, options);
    await second.result();
    go.keep(null);
    await first.result();
    expect((await first.changes()).map(({ changes }) => changes)).toEqual([[{ path: "/kv/slow", after: true }]]);
    expect((await second.changes()).map(({ changes }) => changes)).toEqual([[{ path: "/kv/fast", after: 1 }]]);
  });

  it("has the log entries of a call that failed, and says that it failed", async () => {
    const { tool } = scriptedTool(
      "note",
      ({ context }) => {
        context.slice(diary).append("tried");
        context.slice(kvSlice).set("x", 1);
        throw new Error("no");
      },
      { effect: "writes" },
    );
    const engine = await newFixture().open({ tools: [tool], slices });
    const run = await engine.submit({ steps: [{ step_id: "s", name: "note" }] }, options);
    await run.result();
    expect(await run.changes()).toMatchObject([
      { step_id: "s", succeeded: false, changes: [{ path: "/diary/0", after: "tried" }] },
    ]);
  });

  it("are none where nothing was written", async () => {
    const { tool } = scriptedTool("look", () => 1, { effect: "reads" });
    const engine = await newFixture().open({ tools: [tool], slices });
    const run = await engine.submit({ steps: [{ step_id: "s", name: "look" }] }, options);
    await run.result();
    expect(await run.changes()).toEqual([]);
  });
});
