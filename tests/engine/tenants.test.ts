import { describe, expect, it } from "vitest";
import type { ToolPin } from "../../src/core/event/tool-pin.ts";
import { ToolRegistry } from "../../src/engine/call/tool-registry.ts";
import { cel } from "../../src/expression/cel.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, rejectedFault, scriptedTool } from "./scripted-tool.ts";

const one = (name: string) => ({ steps: [{ step_id: "a", name }] });
const eve = { id: "eve", kind: "person", tenant: "globex" } as const;
const theirBot = { ...botAgent, tenant: "globex" };

describe.each(storeKinds)("tenants, on $name", ({ newFixture: newStage }) => {
  it("do not see each other's runs, gates, events, costs or audits", async () => {
    const send = scriptedTool("send", ({ context }) => context.cost({ usd_micros: 5 }) ?? { id: 1 });
    const stage = newStage();
    const engine = await stage.open({ tools: [send.tool], tenants: {} });
    const run = await engine.submit(one("send"), { principal: botAgent });
    const gate = (await run.result()).gates[0]?.gate_id as string;
    const refused = {
      RUN_NOT_FOUND: [
        engine.run(run.run_id, { principal: theirBot }),
        engine.resume(run.run_id, { principal: theirBot }),
        engine.cost(run.run_id, { principal: eve }),
        engine.resolve(run.run_id, "a", { principal: eve, as: "absent" }),
        engine.audit({ principal: eve, runId: run.run_id }),
      ].map(rejectedFault),
      GATE_NOT_FOUND: [
        engine.gate(gate, { principal: eve }),
        engine.approve(gate, { principal: eve }),
        engine.reject(gate, { principal: eve }),
      ].map(rejectedFault),
    };
    for (const [code, asked] of Object.entries(refused))
      for (const asking of asked) expect((await asking).code).toBe(code);
    expect(await engine.runs({ principal: eve })).toEqual([]);
    expect(await engine.gates({ principal: eve })).toEqual([]);
    expect(await engine.audit({ principal: eve })).toMatchObject({ runs: 0, events: 0 });
    await engine.approve(gate, { principal: anaPerson });
    await run.result();
    expect(await engine.spent({ principal: eve, period: "2023-11" })).toMatchObject({ usd_micros: 0 });
    stage.clock.advance(1);
    expect(await engine.retain({ principal: eve, endedBefore: stage.clock.now() })).toMatchObject({
      runs: 0,
      events: 0,
      waiting: 0,
      snapshots: 0,
    });
    expect(await collectEvents(run, "gate.contested")).toEqual([]);
    expect((await run.result()).status).toBe("completed");
  });

  it("have their own settings, and a tenant named like an Object property has none", async () => {
    const send = scriptedTool("send", () => ({ id: 1 }));
    const engine = await newStage().open({ tools: [send.tool], tenants: { acme: { mode: "auto_exec" } } });
    for (const tenant of ["globex", "constructor", "__proto__", "toString"]) {
      const run = await engine.submit(one("send"), { principal: { ...botAgent, tenant } });
      expect((await run.result()).gates, tenant).toHaveLength(1);
    }
    expect(send.calls).toHaveLength(0);
  });

  it("list their own runs, newest first, by page and by status", async () => {
    const stage = newStage();
    const look = scriptedTool("look", () => 1, { effect: "reads" });
    const bad = scriptedTool("bad", () => Promise.reject(new Error("no")), { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool, bad.tool] });
    const ids: string[] = [];
    for (const name of ["look", "bad", "look", "look"]) {
      stage.clock.advance(1000);
      const run = await engine.submit(one(name), { principal: botAgent });
      await run.result();
      ids.unshift(run.run_id);
    }
    const listed = await engine.runs({ principal: anaPerson });
    expect(listed.map(({ run_id }) => run_id)).toEqual(ids);
    const page = await engine.runs({ principal: anaPerson, limit: 2, after: ids[1] as string });
    expect(page.map(({ run_id }) => run_id)).toEqual(ids.slice(2));
    expect(await engine.runs({ principal: anaPerson, status: "failed" })).toMatchObject([
      { run_id: ids[2], final: true },
    ]);
  });
});

describe.each(storeKinds)("tool that differs from the accepted one, on $name", ({ newFixture: newStage }) => {
  const steps = [
    { step_id: "look", name: "look" },
    { step_id: "send", name: "send", depends_on: ["look"] },
  ];
  const look = () => scriptedTool("look", () => ({ n: 1 }), { effect: "reads" });
  const send = (more: object = {}) => scriptedTool("send", () => ({ id: 1 }), more);

  it.each<[string, string, ReturnType<typeof send> | null]>([
    ["is missing", "TOOL_MISSING", null],
    ["has another version", "TOOL_CHANGED", send({ version: "2" })],
    [
      "has another input schema",
      "TOOL_CHANGED",
      send({ input: { type: "object", properties: { a: { type: "string" } } } }),
    ],
    ["has another output schema", "TOOL_CHANGED", send({ output: { type: "object" } })],
    ["has become harmless", "TOOL_CHANGED", send({ effect: "reads" })],
    ["has another identity", "TOOL_CHANGED", send({ identity: ["order"] })],
    ["treats duplicates differently", "TOOL_CHANGED", send({ onDuplicate: "reuse" })],
    ["promises idempotence", "TOOL_CHANGED", send({ idempotent: { forMs: 600_000 } })],
    ["gives its errors another meaning", "TOOL_CHANGED", send({ errorsMean: "not_done" })],
  ])("because it %s, parks its steps and continues when the right one is back", async (_, code, other) => {
    const stage = newStage();
    const right = send();
    const office = await stage.open({ tools: [look().tool, right.tool], work: false });
    const { run_id } = await office.submit({ steps }, { principal: botAgent });
    await office.close();

    const wrong = await stage.open({ tools: other === null ? [look().tool] : [look().tool, other.tool] });
    const parked = await (await wrong.run(run_id, { principal: botAgent })).result();
    expect(parked).toMatchObject({
      status: "partial",
      final: false,
      steps: { look: { state: "succeeded" }, send: { state: "waiting" } },
      blocked_on: [{ step_id: "send", reason_code: code }],
    });
    expect(parked.next).toContain("register the tool");
    await stage.advance(5000);
    expect(other?.calls ?? []).toHaveLength(0);
    await wrong.close();

    const mended = await stage.open({ tools: [look().tool, right.tool] });
    const run = await mended.run(run_id, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(right.calls).toHaveLength(1);
  });

  it("matches a pin that was made before acts had their own digest", () => {
    const registry = new ToolRegistry([send({ identity: ["order"] }).tool], cel);
    const { act_hash, ...old } = registry.pin("send") as ToolPin;
    expect(act_hash).toBeDefined();
    expect(registry.mismatch("send", old)).toBeNull();
    const changed = new ToolRegistry([send().tool], cel);
    expect(changed.mismatch("send", registry.pin("send"))).toMatchObject({
      code: "TOOL_CHANGED",
      message: expect.stringContaining("its identity, onDuplicate"),
    });
  });

  it("does not use a gate that was opened for the right one", async () => {
    const stage = newStage();
    const right = send();
    const first = await stage.open({ tools: [look().tool, right.tool], tenants: {} });
    const run = await first.submit({ steps }, { principal: botAgent });
    const gate = (await run.result()).gates[0]?.gate_id as string;
    await first.close();
    const changed = send({ version: "2" });
    const second = await stage.open({ tools: [look().tool, changed.tool], tenants: {} });
    await second.approve(gate, { principal: anaPerson });
    const parked = await (await second.run(run.run_id, { principal: botAgent })).result();
    expect(parked.blocked_on).toMatchObject([{ reason_code: "TOOL_CHANGED" }]);
    expect(changed.calls).toHaveLength(0);
    await second.close();
    const third = await stage.open({ tools: [look().tool, right.tool], tenants: {} });
    expect((await stage.runUntilIdle(await third.run(run.run_id, { principal: botAgent }))).status).toBe("completed");
    expect(right.calls).toHaveLength(1);
  });

  it("does not prevent cancelling the run", async () => {
    const stage = newStage();
    const office = await stage.open({ tools: [look().tool, send().tool], work: false });
    const { run_id } = await office.submit({ steps }, { principal: botAgent });
    await office.close();
    const engine = await stage.open({ tools: [look().tool] });
    const run = await engine.run(run_id, { principal: botAgent });
    await run.result();
    await run.cancel();
    expect((await run.result()).status).toBe("cancelled");
  });
});
