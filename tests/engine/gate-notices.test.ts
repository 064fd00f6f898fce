import { describe, expect, it } from "vitest";
import type { DeliveredNotice } from "../../src/engine/api/delivered-notice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, scriptedTool } from "./scripted-tool.ts";

const plan = { steps: [{ step_id: "a", name: "send", payload: { to: "a secret address" } }] };
const held = { tenants: { acme: { mode: "human_gated" } } } as const;

describe.each(storeKinds)("notice of a waiting gate, on $name", ({ newFixture: newStage }) => {
  const sending = () => scriptedTool("send", [() => ({ id: 1 })]).tool;

  it("is sent once per gate, without the input of the call", async () => {
    const stage = newStage();
    const told: DeliveredNotice[] = [];
    const onNotice = async (notice: DeliveredNotice) => void told.push(notice);
    const engine = await stage.open({ tools: [sending()], ...held, gateNotices: true, onNotice });
    const run = await engine.submit(plan, { principal: botAgent });
    const { gates } = await run.result();
    await stage.advance(0);
    const gate_id = gates[0]?.gate_id as string;
    expect(told).toMatchObject([
      { topic: "gate.opened", tenant: "acme", run_id: run.run_id, payload: { gate_id, step_id: "a", tool: "send" } },
    ]);
    expect(told[0]?.notice_id).toMatch(/^ntc_\w+_!gate_\d+$/);
    expect(JSON.stringify(told)).not.toContain("a secret address");
    expect(await engine.gate(gate_id, { principal: anaPerson })).not.toHaveProperty("notices");
    await engine.approve(gate_id, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    await stage.advance(0);
    expect(told).toHaveLength(1);
    expect(await collectEvents(run, "notice.delivered")).toHaveLength(1);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [] });
  });

  it("is not sent by an engine without gateNotices", async () => {
    const stage = newStage();
    const told: DeliveredNotice[] = [];
    const engine = await stage.open({
      tools: [sending()],
      ...held,
      onNotice: async (notice) => void told.push(notice),
    });
    await (await engine.submit(plan, { principal: botAgent })).result();
    await stage.advance(1000);
    expect(told).toEqual([]);
  });

  it("waits for a worker that delivers notices, also after a crash", async () => {
    const stage = newStage();
    const silent = await stage.open({ tools: [sending()], ...held, gateNotices: true });
    const { run_id } = await silent.submit(plan, { principal: botAgent });
    await stage.advance(0);
    await stage.crash();
    const told: DeliveredNotice[] = [];
    await stage.open({ tools: [sending()], ...held, onNotice: async (notice) => void told.push(notice) });
    await stage.advance(60_000);
    expect(told).toMatchObject([{ topic: "gate.opened", run_id }]);
  });

  it("is sent for a held request", async () => {
    const stage = newStage();
    const told: DeliveredNotice[] = [];
    const policies = [
      {
        name: "careful",
        schema_version: "1.0",
        scope: { tenant: "acme" },
        rules: [{ id: "calm", kind: "approval", on: { tools: ["projects.close"] }, reason: "ask first" }],
      },
    ];
    const engine = await stage.open({
      tools: [sending()],
      policies,
      gateNotices: true,
      onNotice: async (notice) => void told.push(notice),
    });
    await expect(engine.projects.close("website", { principal: anaPerson, as: "locked" })).rejects.toThrow("ask first");
    await stage.advance(2000);
    expect(told).toMatchObject([{ topic: "gate.opened", payload: { tool: "projects.close", step_id: "request" } }]);
  });
});
