import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { MemoryFilesystem } from "../../src/resources/memory/memory-filesystem.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { postgres } from "../../src/store/postgres/postgres-store.ts";
import { sqlite } from "../../src/store/sqlite/sqlite-store.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { deferred, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const open = (options: object) => createEngine({ store: memoryStore(), tools: [], ...options } as EngineOptions);

describe("createEngine", () => {
  it.each([
    ["without a store", { store: undefined }, "store is missing"],
    ["with a path as store", { store: "writ.db" }, 'store is the text "writ.db", not a store'],
    ["with one tool instead of a list", { tools: {} }, "tools must be"],
    ["with a tool that is a plain object", { tools: [{ name: "x", run() {} }] }, "number 1 is not"],
    ["with a tool that is null", { tools: [null] }, "number 1 is not"],
    ["with a misspelt option", { tenant: {} }, "did you mean tenants?"],
    ["with an unknown mode", { tenants: { acme: { mode: "auto" } } }, "mode of acme"],
    [
      "with a text where a list of trusted tools belongs",
      { tenants: { acme: { trust: "mail.send" } } },
      "trust of acme",
    ],
    ["with a misspelt setting", { tenants: { acme: { modes: "auto_exec" } } }, "did you mean mode?"],
    ["with an unknown durability", { durability: "evry" }, "durability must be"],
    ["with a limit of nothing", { limits: { concurrency: 0 } }, "concurrency"],
    ["with an unknown limit", { limits: { concurency: 5 } }, "did you mean concurrency?"],
    [
      "with two resources of one name",
      { resources: { a: new MemoryFilesystem(), b: new MemoryFilesystem() } },
      "two resources have the same name",
    ],
    ["with a guard that cannot judge", { guards: [{ id: "g" }] }, "guards must be"],
  ])("refuses to open %s", async (_, options, why) => {
    const refused = await rejectedFault(open(options));
    expect(refused.code).toBe("CONFIG_INVALID");
    expect(refused.message).toContain(why);
  });

  it("refuses two tools of one name", async () => {
    const tools = [scriptedTool("a", () => null).tool, scriptedTool("a", () => null).tool];
    expect(await rejectedFault(open({ tools }))).toMatchObject({ code: "TOOL_INVALID" });
  });
});

describe.each(storeKinds)("engine on $name", ({ newFixture: newStage }) => {
  it("resumes another engine's runs by itself", async () => {
    const stage = newStage();
    const look = scriptedTool("look", () => ({ ok: true }), { effect: "reads" });
    const idle = await stage.open({ tools: [look.tool], work: false });
    const run = await idle.submit({ steps: [{ step_id: "a", name: "look" }] }, { principal: botAgent });
    await stage.advance(5000);
    expect(look.calls).toHaveLength(0);
    await idle.close();
    const worker = await stage.open({ tools: [look.tool] });
    expect((await (await worker.run(run.run_id, { principal: botAgent })).result()).status).toBe("completed");
    expect(look.calls).toHaveLength(1);
  });

  it("refuses commands after it was closed", async () => {
    const engine = await newStage().open({ tools: [scriptedTool("look", () => null, { effect: "reads" }).tool] });
    const run = await engine.submit({ steps: [{ step_id: "a", name: "look" }] }, { principal: botAgent });
    await run.result();
    await engine.close();
    const asked = [
      engine.submit({ steps: [{ step_id: "a", name: "look" }] }, { principal: botAgent }),
      engine.resume(run.run_id, { principal: botAgent }),
    ];
    for (const asking of asked) expect((await rejectedFault(asking)).code).toBe("ENGINE_CLOSED");
  });

  it("refuses every question after it was closed, on every store alike", async () => {
    const engine = await newStage().open({ tools: [] });
    await engine.close();
    const options = { principal: anaPerson };
    const asked = [
      engine.runs(options),
      engine.gates(options),
      engine.workers(options),
      engine.retentions(options),
      engine.audit(options),
      engine.halts.list(options),
      engine.policies.list(options),
      engine.schedules.list(options),
      engine.cost("run_1", options),
    ];
    for (const asking of asked) expect((await rejectedFault(asking)).code).toBe("ENGINE_CLOSED");
  });

  it("lets running calls end when it is closed and leaves the rest to the next engine", async () => {
    const stage = newStage();
    let answer: (value: unknown) => void = () => {};
    const slow = scriptedTool(
      "slow",
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      { effect: "acts" },
    );
    const after = scriptedTool("after", () => ({ done: true }), { effect: "reads" });
    const tools = [slow.tool, after.tool];
    const first = await stage.open({ tools });
    const steps = [
      { step_id: "slow", name: "slow" },
      { step_id: "after", name: "after", depends_on: ["slow"] },
    ];
    const run = await first.submit({ steps }, { principal: botAgent });
    await stage.advance(0);
    const closing = first.close();
    answer({ id: 1 });
    await closing;
    expect(after.calls).toHaveLength(0);
    const second = await stage.open({ tools });
    const result = await (await second.run(run.run_id, { principal: botAgent })).result();
    expect(result).toMatchObject({ status: "completed", steps: { slow: { output: { id: 1 } } } });
    expect(slow.calls).toHaveLength(1);
  });
});

describe("serve", () => {
  it("resolves after the engine is closed by its signal", async () => {
    const engine = await open({});
    const stop = new AbortController();
    const serving = engine.serve({ signal: stop.signal });
    stop.abort();
    await serving;
    expect((await rejectedFault(engine.run("run_1", { principal: botAgent }))).code).toBe("ENGINE_CLOSED");
  });

  it("resolves after the engine is closed by another caller, without a signal too", async () => {
    const engine = await open({});
    const serving = [engine.serve(), engine.serve({ signal: new AbortController().signal })];
    await engine.close();
    await Promise.all(serving);
    expect((await rejectedFault(engine.serve())).code).toBe("ENGINE_CLOSED");
  });

  it("waits for the calls in flight", async () => {
    const [started, answer] = [deferred<void>(), deferred<string>()];
    const answerLater = () => {
      started.keep();
      return answer.promise;
    };
    const slow = scriptedTool("slow", answerLater, { effect: "reads" });
    const engine = await open({ tools: [slow.tool] });
    const calling = engine.call("slow", {}, { principal: botAgent });
    await started.promise;
    const serving = engine.serve({ signal: AbortSignal.abort() });
    answer.keep("done");
    await serving;
    expect((await calling).step.state).toBe("succeeded");
  });

  it.each([
    ["an option that does not exist", {}, { signl: null }, "INVALID_INPUT"],
    ["a signal that is none", {}, { signal: {} }, "INVALID_INPUT"],
    ["an engine that does not work", { work: false }, {}, "NOT_POSSIBLE"],
  ] as const)("refuses %s", async (_, options, given, code) => {
    const engine = await open(options);
    expect((await rejectedFault(engine.serve(given as object))).code).toBe(code);
    await engine.close();
  });
});

describe("a store that cannot be opened", () => {
  it.each([
    ["sqlite", () => sqlite("/nowhere/writ.db")],
    ["postgres", () => postgres("postgres://nobody@127.0.0.1:1/none")],
    ["sqlite, by an argument of the wrong type", () => sqlite(5 as never)],
    ["postgres, by an argument of the wrong type", () => postgres(5 as never)],
  ])("rejects createEngine, on %s", async (_, store) => {
    const opened = store();
    await expect(open({ store: opened })).rejects.toThrow();
    await expect(opened).rejects.toThrow();
  });
});
