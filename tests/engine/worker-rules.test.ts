import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { VersionedGuard } from "../../src/core/call/guard.ts";
import type { Event } from "../../src/core/event/event.ts";
import type { Engine, EngineOptions } from "../../src/engine/api/engine-api.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";

const denyAll = { schema_version: "1.0", name: "closed", rules: [{ id: "all", kind: "deny", on: { tools: ["*"] } }] };

/** A tool that waits for a person, so that the run rests with its process still open. */
function heldSend(sent: string[]) {
  return defineTool({
    name: "send",
    effect: "acts",
    input: z.object({ to: z.string() }),
    output: z.object({}),
    run: async ({ to }) => {
      sent.push(to);
      return {};
    },
  });
}

const gated = { tenants: { acme: { mode: "human_gated" } } } as const;
const plan = { steps: [{ step_id: "send", name: "send", payload: { to: "ana" } }] };

async function eventsOf(engine: Engine, run: string): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const { event } of (await engine.run(run, { principal: anaPerson })).events()) events.push(event);
  return events;
}

/** Opens a run under the options, held at a gate, and returns its id and its open engine. */
async function holdRun(stage: EngineFixture, options: EngineOptions & { store?: never }) {
  const engine = await stage.open(options);
  const run = await engine.submit(plan, { principal: botAgent });
  const { gates } = await run.result();
  return { engine, run: run.run_id, gate: gates[0]?.gate_id ?? "" };
}

/** The stores that many workers share. */
const sharedStores = storeKinds;

describe.each(sharedStores)("a run while several workers are live on $name", ({ newFixture }) => {
  it("is not executed under other rules while a live worker has its rules", async () => {
    const stage = newFixture();
    const [first, second]: [string[], string[]] = [[], []];
    const held = await holdRun(stage, { tools: [heldSend(first)], ...gated } as never);
    const other = await stage.open({ tools: [heldSend(second)], ...gated, policies: [denyAll] });
    await other.approve(held.gate, { principal: anaPerson });
    const result = await stage.runUntilIdle(await other.run(held.run, { principal: anaPerson }));
    expect([result.status, first, second]).toEqual(["completed", ["ana"], []]);
    expect((await eventsOf(other, held.run)).map(({ type }) => type)).not.toContain("run.rules_adopted");
  });
});

describe.each(storeKinds)("a run and the rules of workers on $name", ({ newFixture }) => {
  it("is adopted on record by a worker with other rules when no live worker has its rules, and judged again", async () => {
    const stage = newFixture();
    const [first, second]: [string[], string[]] = [[], []];
    const held = await holdRun(stage, { tools: [heldSend(first)], ...gated } as never);
    await held.engine.close();
    const other = await stage.open({ tools: [heldSend(second)], ...gated, policies: [denyAll] });
    await other.approve(held.gate, { principal: anaPerson });
    const result = await stage.runUntilIdle(await other.run(held.run, { principal: anaPerson }));
    expect([result.status, first, second]).toEqual(["failed", [], []]);
    expect(result.steps.send?.fault?.code).toBe("POLICY_DENIED");
    const adopted = (await eventsOf(other, held.run)).filter(({ type }) => type === "run.rules_adopted");
    expect(adopted).toHaveLength(1);
  });

  it("is adopted when the process with its rules was killed", async () => {
    const stage = newFixture();
    const sent: string[] = [];
    const held = await holdRun(stage, { tools: [heldSend([])], ...gated } as never);
    await stage.crash();
    const guard: VersionedGuard = { id: "calm", version: "2", judge: () => ({ kind: "allow" }) };
    const other = await stage.open({ tools: [heldSend(sent)], ...gated, guards: [guard] });
    await other.approve(held.gate, { principal: anaPerson });
    const result = await stage.runUntilIdle(await other.run(held.run, { principal: anaPerson }));
    expect([result.status, sent]).toEqual(["completed", ["ana"]]);
    expect((await eventsOf(other, held.run)).map(({ type }) => type)).toContain("run.rules_adopted");
  });

  it("continues without an adoption in a process with equal rules", async () => {
    const stage = newFixture();
    const sent: string[] = [];
    const held = await holdRun(stage, { tools: [heldSend([])], ...gated, policies: [] } as never);
    await stage.crash();
    const other = await stage.open({ tools: [heldSend(sent)], ...gated });
    await other.approve(held.gate, { principal: anaPerson });
    await stage.runUntilIdle(await other.run(held.run, { principal: anaPerson }));
    expect(sent).toEqual(["ana"]);
    expect((await eventsOf(other, held.run)).map(({ type }) => type)).not.toContain("run.rules_adopted");
  });

  it("waits for a person if the tenant pins its rules, and continues when a person resumes it", async () => {
    const stage = newFixture();
    const sent: string[] = [];
    const pinned = { tenants: { acme: { mode: "human_gated", rules: "pinned" } } } as const;
    const held = await holdRun(stage, { tools: [heldSend([])], ...pinned } as never);
    await held.engine.close();
    const zone = "Europe/Berlin";
    const other = await stage.open({ tools: [heldSend(sent)], ...pinned, zone });
    await other.approve(held.gate, { principal: anaPerson });
    const parked = await stage.runUntilIdle(await other.run(held.run, { principal: anaPerson }));
    expect([parked.final, sent, parked.rules_missing?.from === parked.rules_missing?.to]).toEqual([false, [], false]);
    await expect(other.resume(held.run, { principal: botAgent })).rejects.toThrow("AUTH_FORBIDDEN");
    const run = await other.resume(held.run, { principal: anaPerson });
    expect([(await stage.runUntilIdle(run)).status, sent]).toEqual(["completed", ["ana"]]);
  });

  it("is continued by a worker with its pinned rules that starts later", async () => {
    const stage = newFixture();
    const sent: string[] = [];
    const pinned = { tenants: { acme: { mode: "human_gated", rules: "pinned" } } } as const;
    const held = await holdRun(stage, { tools: [heldSend([])], ...pinned } as never);
    await held.engine.close();
    const other = await stage.open({ tools: [heldSend([])], ...pinned, zone: "Europe/Berlin" });
    await other.approve(held.gate, { principal: anaPerson });
    await stage.runUntilIdle(await other.run(held.run, { principal: anaPerson }));
    await other.close();
    const again = await stage.open({ tools: [heldSend(sent)], ...pinned });
    await stage.advance(2000);
    expect([(await stage.runUntilIdle(await again.run(held.run, { principal: anaPerson }))).status, sent]).toEqual([
      "completed",
      ["ana"],
    ]);
  });
});
