import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Event } from "../../src/core/event/event.ts";
import { eventRows } from "../../src/core/evolve/event-rows.ts";
import { evolve } from "../../src/core/evolve/evolve.ts";
import type { Store, StoredEvent } from "../../src/core/store/store.ts";
import type { RunId, Tenant } from "../../src/core/values/ids.ts";
import type { Engine, EngineOptions } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { JournalCodec } from "../../src/engine/journal/journal-codec.ts";
import { newRun } from "../../src/engine/journal/load-run.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";

const denySend = {
  schema_version: "1.0",
  name: "closed",
  rules: [{ id: "all", kind: "deny", on: { tools: ["send"] } }],
};
const automatic = { tenants: { acme: { mode: "auto_exec" } } } as const;
const gated = { tenants: { acme: { mode: "human_gated" } } } as const;
const sendPlan = { steps: [{ step_id: "send", name: "send", payload: { to: "ana" } }] };
const laterPlan = {
  steps: [
    { step_id: "later", kind: "wait", payload: { ms: 10_000 } },
    { step_id: "send", name: "send", payload: { to: "ana" }, depends_on: ["later"] },
  ],
};

function send(sent: string[], version = "1") {
  return defineTool({
    name: "send",
    version,
    effect: "acts",
    input: z.object({ to: z.string() }),
    output: z.object({}),
    run: async ({ to }) => {
      sent.push(to);
      return {};
    },
    compensate: async () => void sent.push("undone"),
  });
}

const others = (zone: string): Pick<EngineOptions, "zone"> => ({ zone });

async function adoptions(engine: Engine, run: string): Promise<readonly Event[]> {
  const found: Event[] = [];
  for await (const { event } of (await engine.run(run, { principal: anaPerson })).events())
    if (event.type === "run.rules_adopted") found.push(event);
  return found;
}

/** Returns how many times a step of the run waited for a tool. */
async function toolWaits(engine: Engine, run: string): Promise<number> {
  let found = 0;
  for await (const { event } of (await engine.run(run, { principal: anaPerson })).events())
    if (event.type === "step.parked" && event.on.for === "tool") found += 1;
  return found;
}

const look = async (stage: EngineFixture, engine: Engine, run: string) => {
  await stage.advance(3000);
  return (await engine.run(run, { principal: anaPerson })).now();
};

describe.each(storeKinds)("the rules of a run among workers on $name", ({ newFixture }) => {
  it("a run accepted under a policy is judged by it later, while a worker without the policy looks for work", async () => {
    const stage = newFixture();
    const [strict, open]: [string[], string[]] = [[], []];
    const first = await stage.open({ tools: [send(strict)], ...automatic, policies: [denySend] });
    const second = await stage.open({ tools: [send(open)], ...automatic });
    const run = await first.submit(laterPlan, { principal: botAgent });
    await stage.advance(20_000);
    const result = await look(stage, second, run.run_id);
    expect([result.status, result.steps.send?.fault?.code, strict, open]).toEqual(["partial", "POLICY_DENIED", [], []]);
    expect(await adoptions(second, run.run_id)).toEqual([]);
  });

  it("a rolling deploy finishes old runs on old workers, and the last of them on a new one", async () => {
    const stage = newFixture();
    const [a, b, c]: [string[], string[], string[]] = [[], [], []];
    const first = await stage.open({ tools: [send(a)], ...gated });
    const second = await stage.open({ tools: [send(b)], ...gated });
    const runs = [
      await first.submit(sendPlan, { principal: botAgent }),
      await first.submit(sendPlan, { principal: botAgent }),
    ];
    const gates = await Promise.all(runs.map(async (run) => (await run.result()).gates[0]?.gate_id ?? ""));
    const third = await stage.open({ tools: [send(c)], ...gated, ...others("Europe/Berlin") });
    await first.close();
    await third.approve(gates[0] as string, { principal: anaPerson });
    await stage.advance(3000);
    expect([a, b, c]).toEqual([[], ["ana"], []]);
    await second.close();
    await third.approve(gates[1] as string, { principal: anaPerson });
    await stage.advance(3000);
    expect([a, b, c]).toEqual([[], ["ana"], ["ana"]]);
    expect(await adoptions(third, runs[0]?.run_id ?? "")).toHaveLength(0);
    expect(await adoptions(third, runs[1]?.run_id ?? "")).toHaveLength(1);
  });

  it("one of two workers with other rules adopts a run, and the other leaves it to the adopter", async () => {
    const stage = newFixture();
    const [b, c]: [string[], string[]] = [[], []];
    const first = await stage.open({ tools: [send([])], ...automatic });
    const run = await first.submit(laterPlan, { principal: botAgent });
    const second = await stage.open({ tools: [send(b)], ...automatic, ...others("Europe/Berlin") });
    await stage.open({ tools: [send(c)], ...automatic, ...others("Asia/Tokyo") });
    await first.close();
    await stage.advance(20_000);
    expect((await look(stage, second, run.run_id)).status).toBe("completed");
    expect([...b, ...c]).toEqual(["ana"]);
    expect(await adoptions(second, run.run_id)).toHaveLength(1);
  });

  it("a worker with the rules of a run and without its tool leaves it to one with both", async () => {
    const stage = newFixture();
    const sent: string[] = [];
    const first = await stage.open({ tools: [send([])], ...automatic });
    const run = await first.submit(laterPlan, { principal: botAgent });
    const without = await stage.open({ tools: [], ...automatic });
    await first.close();
    await stage.advance(20_000);
    expect((await look(stage, without, run.run_id)).blocked_on).toMatchObject([{ reason_code: "TOOL_MISSING" }]);
    const last = await stage.open({ tools: [send(sent)], ...automatic });
    expect([(await look(stage, last, run.run_id)).status, sent]).toEqual(["completed", ["ana"]]);
    expect(await adoptions(last, run.run_id)).toEqual([]);
  });

  it("a worker without a tool of a run leaves it to one that has it, and no step waits for a tool", async () => {
    const stage = newFixture();
    const sent: string[] = [];
    const submitter = await stage.open({ tools: [send([])], ...automatic, work: false });
    await stage.open({ tools: [], ...automatic });
    await stage.open({ tools: [send(sent)], ...automatic });
    const run = await submitter.submit(laterPlan, { principal: botAgent });
    await stage.advance(20_000);
    expect([(await look(stage, submitter, run.run_id)).status, sent]).toEqual(["completed", ["ana"]]);
    expect(await toolWaits(submitter, run.run_id)).toBe(0);
  });

  it("a worker that approves a call whose tool it lacks leaves the run to one that has it", async () => {
    const stage = newFixture();
    const sent: string[] = [];
    const first = await stage.open({ tools: [send(sent)], ...gated });
    const without = await stage.open({ tools: [], ...gated });
    const run = await first.submit(sendPlan, { principal: botAgent });
    const gate = (await run.result()).gates[0]?.gate_id ?? "";
    await without.approve(gate, { principal: anaPerson });
    expect([(await look(stage, without, run.run_id)).status, sent]).toEqual(["completed", ["ana"]]);
    expect(await toolWaits(without, run.run_id)).toBe(0);
  });

  it("a worker claims a run again when it gets a tool of the run, and leaves it when it loses the tool", async () => {
    const stage = newFixture();
    const sent: string[] = [];
    const first = await stage.open({ tools: [send(sent)], ...gated });
    const second = await stage.open({ tools: [], ...gated });
    const runs = [
      await first.submit(sendPlan, { principal: botAgent }),
      await first.submit(sendPlan, { principal: botAgent }),
    ];
    const gates = await Promise.all(runs.map(async (run) => (await run.result()).gates[0]?.gate_id ?? ""));
    const moved: string[] = [];
    await second.tools.put([send(moved)]);
    await first.tools.remove(["send"]);
    await stage.advance(3000);
    await first.approve(gates[0] as string, { principal: anaPerson });
    await stage.advance(3000);
    expect([sent, moved]).toEqual([[], ["ana"]]);
    await first.tools.put([send(sent)]);
    await second.tools.remove(["send"]);
    await stage.advance(3000);
    await second.approve(gates[1] as string, { principal: anaPerson });
    await stage.advance(3000);
    expect([sent, moved]).toEqual([["ana"], ["ana"]]);
    for (const run of runs) expect(await toolWaits(first, run.run_id)).toBe(0);
  });

  it("a worker with the tool of a run and other rules waits while one with its rules lives, and then adopts it", async () => {
    const stage = newFixture();
    const sent: string[] = [];
    const first = await stage.open({ tools: [send([])], ...automatic });
    const run = await first.submit(laterPlan, { principal: botAgent });
    const without = await stage.open({ tools: [], ...automatic });
    await first.close();
    const other = await stage.open({ tools: [send(sent)], ...automatic, ...others("Asia/Tokyo") });
    await stage.advance(20_000);
    expect([(await look(stage, other, run.run_id)).blocked_on, sent]).toMatchObject([[{ step_id: "send" }], []]);
    await without.close();
    await stage.advance(20_000);
    expect([(await look(stage, other, run.run_id)).status, sent]).toEqual(["completed", ["ana"]]);
    expect(await adoptions(other, run.run_id)).toHaveLength(1);
  });

  it("the undo of an ended run under other rules is on record, too", async () => {
    const stage = newFixture();
    const [a, b]: [string[], string[]] = [[], []];
    const first = await stage.open({ tools: [send(a)], ...automatic });
    const run = await first.submit(sendPlan, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    await first.close();
    const second = await stage.open({ tools: [send(b)], ...automatic, ...others("Asia/Tokyo") });
    const undone = second.undo(run.run_id, { principal: anaPerson });
    await stage.advance(20_000);
    await undone;
    expect([a, b]).toEqual([["ana"], ["undone"]]);
    expect(await adoptions(second, run.run_id)).toHaveLength(1);
  });

  it("a worker that closes and waits for a call keeps no run with its rules from the others", async () => {
    const stage = newFixture();
    const sent: string[] = [];
    let finish = () => {};
    const long = defineTool({
      name: "long",
      effect: "reads",
      timeoutMs: 600_000,
      input: z.object({}),
      output: z.object({}),
      run: async () => {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return {};
      },
    });
    const first = await stage.open({ tools: [send([]), long], ...automatic });
    const run = await first.submit(laterPlan, { principal: botAgent });
    await first.submit({ steps: [{ step_id: "a", name: "long", payload: {} }] }, { principal: botAgent });
    await stage.advance(100);
    const closing = first.close();
    const other = await stage.open({ tools: [send(sent), long], ...automatic, ...others("Asia/Tokyo") });
    await stage.advance(60_000);
    expect([(await look(stage, other, run.run_id)).status, sent]).toEqual(["completed", ["ana"]]);
    finish();
    await stage.advance(1000);
    await closing;
  });

  it("a schedule is fired under the rules of the engine that set it, while a worker has them", async () => {
    const stage = newFixture();
    const [strict, open]: [string[], string[]] = [[], []];
    const second = await stage.open({ tools: [send(open)], ...automatic });
    const first = await stage.open({ tools: [send(strict)], ...automatic, policies: [denySend] });
    const everyMinute = { principal: anaPerson, runAs: botAgent, cron: "* * * * *" };
    await first.schedules.set("mail", sendPlan, everyMinute);
    await stage.advance(125_000);
    expect([strict, open]).toEqual([[], []]);
    expect((await second.runs({ principal: anaPerson })).length).toBeGreaterThan(1);
    await first.close();
    await stage.advance(60_000);
    expect([strict, open]).toEqual([[], ["ana"]]);
  });

  it("a process that read a run before another adopted it leaves the run to the adopter", async () => {
    const stage = newFixture();
    const submitter = await stage.open({ tools: [send([])], ...gated, work: false });
    const { run_id } = await submitter.submit(sendPlan, { principal: botAgent });
    const real = stage.store();
    const adopt = async () => {
      await stage.open({ tools: [send([])], ...gated, ...others("Asia/Tokyo") });
      await stage.advance(2000);
    };
    let adopted: Promise<void> | null = null;
    const late = await stage.open({
      tools: [send([])],
      ...gated,
      store: {
        ...real,
        registerWorker: async () => {},
        claimDue: async () => [],
        claim: async (...given) => {
          adopted ??= adopt();
          await adopted;
          return real.claim(...given);
        },
      },
    });
    const result = await stage.runUntilIdle(await late.run(run_id, { principal: anaPerson }));
    await stage.advance(2000);
    expect([adopted === null, result.gates.length]).toEqual([false, 1]);
    expect(await adoptions(submitter, run_id)).toHaveLength(1);
  });

  it("a run from before runs carried rules is claimed by any worker, and its adoption is reported once", async () => {
    const stage = newFixture();
    const [a, b]: [string[], string[]] = [[], []];
    const first = await stage.open({ tools: [send(a)], ...gated });
    const run_id = await appendOldRun(stage.store());
    const held = await look(stage, first, run_id);
    expect([held.gates.length, await adoptions(first, run_id)]).toMatchObject([1, [{ from: null }]]);
    const second = await stage.open({ tools: [send(b)], ...gated });
    await first.close();
    await second.approve(held.gates[0]?.gate_id ?? "", { principal: anaPerson });
    expect([(await look(stage, second, run_id)).status, a, b]).toEqual(["completed", [], ["ana"]]);
    expect(await adoptions(second, run_id)).toHaveLength(1);
  });
});

/** Appends the acceptance of a run as earlier versions wrote it: without rules. */
async function appendOldRun(store: Store): Promise<string> {
  const elsewhere = memoryStore();
  const engine = await createEngine({ store: elsewhere, tools: [send([])], work: false });
  const { run_id } = await engine.submit(sendPlan, { principal: botAgent });
  const run = run_id as RunId;
  const tenant = "acme" as Tenant;
  const journal = new JournalCodec(tenant, run);
  const [stored] = await elsewhere.events(tenant, run, 0);
  const { rules: _, ...accepted } = (await journal.open(stored as StoredEvent, elsewhere)) as Event & {
    rules: unknown;
  };
  const { run: empty, head } = newRun(tenant, run);
  const event = { ...accepted, at: store.clock.now() } as Event;
  const [landing] = await store.append([
    {
      tenant,
      run,
      expect: { position: 0, epoch: null },
      events: [journal.seal(event, 1, head).event],
      puts: eventRows(empty, [event], evolve(empty, event)),
      charges: [],
      checks: [],
      flush: "hard",
    },
  ]);
  expect(landing).toEqual({ landed: true });
  return run;
}
