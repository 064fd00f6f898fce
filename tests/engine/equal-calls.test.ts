import { describe, expect, it } from "vitest";
import { botAgent, storeKinds } from "./engine-fixture.ts";
import { deferred, scriptedTool } from "./scripted-tool.ts";

const cached = { effect: "reads", cache: "ttl_only", cacheTtlMs: 60_000 } as const;
const sideBySide = (count: number, more: object = {}) => ({
  steps: Array.from({ length: count }, (_, at) => ({ step_id: `s${at}`, name: "look", payload: { id: 1 }, ...more })),
});

describe.each(storeKinds)("equal cached reads in flight, on $name", ({ newFixture }) => {
  it("are made once, and the others take the output and say so", async () => {
    const look = scriptedTool("look", async () => ({ seen: 1 }), cached);
    const engine = await newFixture().open({ tools: [look.tool] });
    const run = await engine.submit(sideBySide(20), { principal: botAgent });
    const { status, counts, steps } = await run.result();
    expect([status, counts.succeeded, counts.reused]).toEqual(["completed", 20, 19]);
    expect(steps.s19).toMatchObject({ output: { seen: 1 }, reused: { run: run.run_id, step: "s0" } });
    expect(look.calls).toHaveLength(1);
  });

  it("of several runs of one principal are made once, and those of another principal by themselves", async () => {
    const go = deferred();
    const look = scriptedTool("look", () => go.promise.then(() => 1), cached);
    const engine = await newFixture().open({ tools: [look.tool] });
    const principals = [botAgent, botAgent, { ...botAgent, id: "bot2" }];
    const runs = await Promise.all(principals.map((principal) => engine.submit(sideBySide(3), { principal })));
    go.keep(null);
    for (const run of runs) expect((await run.result()).status).toBe("completed");
    expect(look.calls).toHaveLength(2);
  });

  it("are each made if the first fails", async () => {
    const look = scriptedTool("look", [() => Promise.reject(new Error("no")), () => 1], cached);
    const engine = await newFixture().open({ tools: [look.tool] });
    const run = await engine.submit(sideBySide(4, { on_failure: "skip" }), { principal: botAgent });
    const { counts } = await run.result();
    expect(counts).toMatchObject({ skipped: 1, succeeded: 3 });
  });

  it("wait for no call that a person must approve first", async () => {
    const look = scriptedTool("look", () => 1, cached);
    const engine = await newFixture().open({ tools: [look.tool] });
    const held = { step_id: "held", name: "look", payload: { id: 1 }, gate: "human_confirm" };
    const run = await engine.submit({ steps: [held, ...sideBySide(2).steps] }, { principal: botAgent });
    const { steps, gates } = await run.result();
    expect(gates).toHaveLength(1);
    expect([steps.s0?.state, steps.s1?.state]).toEqual(["succeeded", "succeeded"]);
  });

  it("that wait are cancelled with their run", async () => {
    const go = deferred();
    const look = scriptedTool("look", () => go.promise.then(() => 1), cached);
    const engine = await newFixture().open({ tools: [look.tool] });
    const first = await engine.submit(sideBySide(1), { principal: botAgent });
    const second = await engine.submit(sideBySide(1), { principal: botAgent });
    await second.cancel();
    expect((await second.finished()).status).toBe("cancelled");
    go.keep(null);
    expect((await first.result()).status).toBe("completed");
    expect(look.calls).toHaveLength(1);
  });
});
