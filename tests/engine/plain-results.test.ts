import { describe, expect, it } from "vitest";
import type { Entry, Store } from "../../src/core/store/store.ts";
import { FaultError, fault } from "../../src/core/values/fault.ts";
import { RESULTS_AHEAD_MAX } from "../../src/engine/journal/may-run-ahead.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { deferred, scriptedTool } from "./scripted-tool.ts";

const reads = { effect: "reads" } as const;

/** A store that lists the event types of each entry, and may hold an append back or let it fail. */
function listing(stage: EngineFixture, before: (entry: Entry) => Promise<void> | undefined = () => undefined) {
  const real = stage.store();
  const entries: string[][] = [];
  const append: Store["append"] = async (given) => {
    for (const entry of given) await before(entry);
    const landings = await real.append(given);
    for (const [index, { events }] of given.entries())
      if (landings[index]?.landed) entries.push(events.map(({ type }) => type));
    return landings;
  };
  return { store: { ...real, append }, entries };
}

const hasResult = ({ events }: Entry) => events.some(({ type }) => type === "step.succeeded");

const chain = (...names: readonly string[]) => ({
  steps: names.map((name, index) => ({
    step_id: `s${index}`,
    name,
    payload: { n: index },
    ...(index > 0 && { depends_on: [`s${index - 1}`] }),
  })),
});

describe.each(storeKinds)("plain results, on $name", ({ name, newFixture: newStage }) => {
  it("are stored before the start of the act that uses them, or as the first events of its entry", async () => {
    const stage = newStage();
    const { store, entries } = listing(stage);
    const look = scriptedTool("look", ({ input }) => input, reads);
    const send = scriptedTool("send", ({ input }) => input);
    const engine = await stage.open({ store, tools: [look.tool, send.tool] });
    const run = await engine.submit(chain("look", "look", "send", "look"), { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
    const stored = [
      ["run.accepted"],
      ["step.succeeded", "step.succeeded", "step.started"],
      ["step.succeeded"],
      ["step.succeeded", "run.ended"],
    ];
    // Postgres reads the ledger in a later turn of the event loop, so the results may be stored in an earlier entry.
    if (name === "Postgres") expect(entries.flat()).toEqual(stored.flat());
    else expect(entries).toEqual(stored);
  });

  it("are not told before the store has them", async () => {
    const stage = newStage();
    const held = deferred<void>();
    const answer = deferred<object>();
    const { store } = listing(stage, (entry) => (hasResult(entry) ? held.promise : undefined));
    const told: string[] = [];
    const observer = { name: "list", onEvent: ({ event }: { event: { type: string } }) => void told.push(event.type) };
    const look = scriptedTool("look", ({ input }) => (input.n === 1 ? answer.promise : input), reads);
    const engine = await stage.open({ store, tools: [look.tool], observers: [observer] });
    const run = await engine.submit(chain("look", "look"), { principal: botAgent });
    while (look.calls.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect((await run.now()).steps.s0).toMatchObject({ state: "ready" });
    expect(told).toEqual(["run.accepted"]);
    held.keep();
    while (told.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect((await run.now()).steps.s0).toMatchObject({ state: "succeeded" });
    answer.keep({});
    expect((await run.result()).status).toBe("completed");
  });

  it(`are at most ${RESULTS_AHEAD_MAX} ahead of the store`, async () => {
    const stage = newStage();
    const { store, entries } = listing(stage);
    const look = scriptedTool("look", ({ input }) => input, reads);
    const engine = await stage.open({ store, tools: [look.tool] });
    const run = await engine.submit(chain(...Array.from({ length: 50 }, () => "look")), { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
    expect(Math.max(...entries.map(({ length }) => length))).toBeLessThanOrEqual(RESULTS_AHEAD_MAX + 1);
    expect(entries.flat().filter((type) => type === "step.succeeded")).toHaveLength(50);
  });

  it("wait for the store, each by itself, with durability every", async () => {
    const stage = newStage();
    const { store, entries } = listing(stage);
    const look = scriptedTool("look", ({ input }) => input, reads);
    const engine = await stage.open({ store, tools: [look.tool], durability: "every" });
    const run = await engine.submit(chain("look", "look"), { principal: botAgent });
    await run.result();
    expect(entries).toEqual([["run.accepted"], ["step.succeeded"], ["step.succeeded", "run.ended"]]);
  });

  it("have no cost: a result with a cost is stored before the next step starts", async () => {
    const stage = newStage();
    const { store, entries } = listing(stage);
    const ask = scriptedTool(
      "ask",
      ({ input, context }) => {
        context.cost({ usd_micros: 5 });
        return input;
      },
      reads,
    );
    const engine = await stage.open({ store, tools: [ask.tool] });
    const run = await engine.submit(chain("ask", "ask"), { principal: botAgent });
    await run.result();
    expect(entries).toEqual([["run.accepted"], ["step.succeeded"], ["step.succeeded", "run.ended"]]);
  });

  it("are stored before the child run that a later step starts", async () => {
    const stage = newStage();
    const { store, entries } = listing(stage);
    const look = scriptedTool("look", ({ input }) => input, reads);
    const engine = await stage.open({ store, tools: [look.tool] });
    const steps = [
      { step_id: "look", name: "look", payload: { n: 1 } },
      { step_id: "child", kind: "run", payload: { plan: chain("look") }, depends_on: ["look"] },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.runUntilIdle(run);
    expect(entries.slice(0, 3)).toEqual([["run.accepted"], ["step.succeeded"], ["run.accepted"]]);
  });

  it("are offered again while the store fails, and no call is made again", async () => {
    const stage = newStage();
    let failures = 2;
    const answer = deferred<object>();
    const { store } = listing(stage, async (entry) => {
      if (!hasResult(entry) || failures === 0) return;
      failures -= 1;
      throw new FaultError(fault("STORE_FAILED", "the disk is full"));
    });
    const look = scriptedTool("look", ({ input }) => (input.n === 1 ? answer.promise : input), reads);
    const engine = await stage.open({ store, tools: [look.tool] });
    const run = await engine.submit(chain("look", "look", "look"), { principal: botAgent });
    while (failures > 0) await stage.advance(1000);
    answer.keep({});
    await stage.advance(10_000);
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(look.calls).toHaveLength(3);
  });

  it("are decided again when another process has appended, and an act in flight keeps its result", async () => {
    const stage = newStage();
    const held = deferred<void>();
    const [looked, sent] = [deferred<object>(), deferred<object>()];
    let isHeld = true;
    const { store } = listing(stage, (entry) => {
      if (!isHeld || entry.expect.epoch === null || !hasResult(entry)) return;
      isHeld = false;
      return held.promise;
    });
    const look = scriptedTool("look", ({ input }) => (input.n === 0 ? looked.promise : input), reads);
    const send = scriptedTool("send", () => sent.promise);
    const tools = [look.tool, send.tool];
    const worker = await stage.open({ store, tools });
    const office = await stage.open({ tools, work: false });
    const steps = [
      ...chain("look", "look").steps,
      { step_id: "send", name: "send" },
      { step_id: "gated", name: "look", payload: { n: 9 }, gate: "human_confirm" },
    ];
    const run = await worker.submit({ steps }, { principal: botAgent });
    while (send.calls.length === 0 || (await run.now()).gates.length === 0) await stage.advance(1);
    looked.keep({});
    while (look.calls.length < 2) await new Promise((resolve) => setImmediate(resolve));
    const [gate] = (await run.now()).gates;
    await office.approve(gate?.gate_id ?? "", { principal: anaPerson });
    held.keep();
    sent.keep({ id: 7 });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      status: "completed",
      steps: { s0: { state: "succeeded" }, s1: { state: "succeeded" }, send: { output: { id: 7 } } },
    });
    expect(send.calls).toHaveLength(1);
    expect(look.calls.filter(({ input }) => input.n === 0)).toHaveLength(1);
  });
});
