import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../src/engine/api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { MemoryFilesystem } from "../../src/resources/memory-filesystem.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { actor, faultOf } from "./cast.ts";
import { bot, places } from "./stage.ts";

const open = (options: object) => createEngine({ store: memoryStore(), tools: [], ...options } as EngineOptions);

describe("an engine", () => {
  it.each([
    ["without a store", { store: undefined }, "store is missing"],
    ["without a list of tools", { tools: undefined }, "tools must be"],
    ["with a misspelt option", { tenant: {} }, "did you mean tenants?"],
    ["with a mode that nobody knows", { tenants: { acme: { mode: "auto" } } }, "mode of acme"],
    [
      "with a text where a list of trusted tools belongs",
      { tenants: { acme: { trust: "mail.send" } } },
      "trust of acme",
    ],
    ["with a misspelt setting", { tenants: { acme: { modes: "auto_exec" } } }, "did you mean mode?"],
    ["with a durability that nobody knows", { durability: "evry" }, "durability must be"],
    ["with a limit of nothing", { limits: { concurrency: 0 } }, "concurrency"],
    ["with a limit that nobody knows", { limits: { concurency: 5 } }, "did you mean concurrency?"],
    [
      "with two resources of one name",
      { resources: { a: new MemoryFilesystem(), b: new MemoryFilesystem() } },
      "two resources have one name",
    ],
    ["with a guard that cannot judge", { guards: [{ id: "g" }] }, "guards must be"],
  ])("is not opened %s", async (_, options, why) => {
    const refused = await faultOf(open(options));
    expect(refused.code).toBe("CONFIG_INVALID");
    expect(refused.message).toContain(why);
  });

  it("is not opened with two tools of one name", async () => {
    const tools = [actor("a", () => null).tool, actor("a", () => null).tool];
    expect(await faultOf(open({ tools }))).toMatchObject({ code: "TOOL_INVALID" });
  });
});

describe.each(places)("an engine on $name", ({ newStage }) => {
  it("takes up by itself what another left", async () => {
    const stage = newStage();
    const look = actor("look", () => ({ ok: true }), { effect: "reads" });
    const idle = await stage.open({ tools: [look.tool], work: false });
    const run = await idle.submit({ steps: [{ step_id: "a", name: "look" }] }, { principal: bot });
    await stage.pass(5000);
    expect(look.calls).toHaveLength(0);
    await idle.close();
    const worker = await stage.open({ tools: [look.tool] });
    expect((await (await worker.run(run.run_id, { principal: bot })).result()).status).toBe("completed");
    expect(look.calls).toHaveLength(1);
  });

  it("takes nothing more once it was closed, and says so", async () => {
    const engine = await newStage().open({ tools: [actor("look", () => null, { effect: "reads" }).tool] });
    const run = await engine.submit({ steps: [{ step_id: "a", name: "look" }] }, { principal: bot });
    await run.result();
    await engine.close();
    const asked = [
      engine.submit({ steps: [{ step_id: "a", name: "look" }] }, { principal: bot }),
      engine.resume(run.run_id, { principal: bot }),
    ];
    for (const asking of asked) expect((await faultOf(asking)).code).toBe("ENGINE_CLOSED");
  });

  it("lets what runs come to its end when it is closed, and leaves the rest to the next", async () => {
    const stage = newStage();
    let answer: (value: unknown) => void = () => {};
    const slow = actor(
      "slow",
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      { effect: "acts" },
    );
    const after = actor("after", () => ({ done: true }), { effect: "reads" });
    const tools = [slow.tool, after.tool];
    const first = await stage.open({ tools });
    const steps = [
      { step_id: "slow", name: "slow" },
      { step_id: "after", name: "after", depends_on: ["slow"] },
    ];
    const run = await first.submit({ steps }, { principal: bot });
    await stage.pass(0);
    const closing = first.close();
    answer({ id: 1 });
    await closing;
    expect(after.calls).toHaveLength(0);
    const second = await stage.open({ tools });
    const result = await (await second.run(run.run_id, { principal: bot })).result();
    expect(result).toMatchObject({ status: "completed", steps: { slow: { output: { id: 1 } } } });
    expect(slow.calls).toHaveLength(1);
  });
});
