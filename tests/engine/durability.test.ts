import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/store/store.ts";
import type { RunHandle } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { deferred, neverAnswers, scriptedTool } from "./scripted-tool.ts";

/** A store, and what a power cut would take from it now. */
function exposed(real: Store): { readonly store: Store; readonly soft: string[] } {
  const soft: string[] = [];
  const append: Store["append"] = async (entries) => {
    const landings = await real.append(entries);
    for (const [at, { flush, events }] of entries.entries()) {
      if (landings[at]?.landed !== true) continue;
      if (flush === "hard") soft.length = 0;
      else soft.push(...events.map(({ type }) => type));
    }
    return landings;
  };
  return { store: { ...real, append }, soft };
}

const reads = (name: string, deed: Parameters<typeof scriptedTool>[1] = () => ({ name })) =>
  scriptedTool(name, deed, { effect: "reads" });

describe.each(storeKinds)("answer to a caller, on $name", ({ newFixture: newStage }) => {
  it("is on disk, though the handler of an act outlives its timeout and the run is active", async () => {
    const stage = newStage();
    const { store, soft } = exposed(stage.store());
    const answer = deferred<object>();
    const verify = async () => ({ saw: "unknown" }) as const;
    const tools = [
      scriptedTool("send", neverAnswers, { verify, timeoutMs: 1000 }).tool,
      reads("look", () => answer.promise).tool,
    ];
    const engine = await stage.open({ tools, store });
    const steps = ["send", "look"].map((name) => ({ step_id: name, name }));
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.advance(1500);
    answer.keep({ page: "birds" });
    const { steps: shown } = await run.result();
    expect(shown).toMatchObject({ send: { state: "in_doubt" }, look: { output: { page: "birds" } } });
    expect(soft).toEqual([]);
  });

  it("is on disk, though the run was idle before and is idle again", async () => {
    const stage = newStage();
    const { store, soft } = exposed(stage.store());
    const engine = await stage.open({ tools: [scriptedTool("send", () => 1).tool], store, tenants: {} });
    const steps = [
      { step_id: "send", name: "send" },
      { step_id: "pause", kind: "wait", payload: { ms: 1000 } },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect((await run.result()).steps.pause).toMatchObject({ state: "waiting" });
    await stage.advance(2000);
    expect((await run.result()).steps).toMatchObject({
      send: { state: "waiting_approval" },
      pause: { state: "succeeded" },
    });
    expect(soft).toEqual([]);
  });

  it("is on disk when a command was accepted, whichever worker has the run", async () => {
    const stage = newStage();
    const { store, soft } = exposed(stage.store());
    const engine = await stage.open({ tools: [scriptedTool("send", neverAnswers).tool], store });
    const run = await engine.submit({ steps: [{ step_id: "send", name: "send" }] }, { principal: botAgent });
    await stage.advance(0);
    await run.cancel();
    expect(soft).toEqual([]);
  });
});

describe.each(storeKinds)("live events, on $name", ({ newFixture: newStage }) => {
  /** A run that stands between a read that is over and one that is under way. */
  async function halfway(stage: EngineFixture, more: object = {}) {
    const answer = deferred<object>();
    const tools = [reads("first").tool, reads("second", () => answer.promise).tool];
    const engine = await stage.open({ tools, ...more });
    const steps = [
      { step_id: "first", name: "first" },
      { step_id: "second", name: "second", depends_on: ["first"] },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await stage.advance(0);
    return { run, answer, tools };
  }

  const told = async (run: RunHandle) => {
    const all: [string, boolean][] = [];
    for await (const { event, durable } of run.events()) all.push([event.type, durable]);
    return all;
  };

  it("are marked not durable until they are on disk, here and in another process", async () => {
    const stage = newStage();
    const { run, answer } = await halfway(stage);
    const viewer = await stage.open({ tools: [], work: false });
    const seen = await viewer.run(run.run_id, { principal: anaPerson });
    for (const each of [run, seen]) {
      expect(await told(each)).toEqual([
        ["run.accepted", true],
        ["step.succeeded", false],
      ]);
      expect(await each.now()).toMatchObject({
        running: true,
        durable: false,
        steps: { first: { state: "succeeded" } },
      });
    }
    answer.keep({});
    await run.result();
    for (const each of [run, seen]) {
      expect((await told(each)).map(([, durable]) => durable)).toEqual([true, true, true, true]);
      expect(await each.now()).toMatchObject({ running: false, durable: true });
    }
  });

  it("do not count the delivery of a notice", async () => {
    const stage = newStage();
    const send = scriptedTool("send", ({ context }) => context.notice("sent", {}) ?? { id: 1 });
    const engine = await stage.open({ tools: [send.tool], onNotice: async () => {} });
    const run = await engine.submit({ steps: [{ step_id: "send", name: "send" }] }, { principal: botAgent });
    await run.result();
    await stage.advance(0);
    const all = await told(run);
    expect(all.at(-1)).toEqual(["notice.delivered", false]);
    expect(all.slice(0, -1).every(([, durable]) => durable)).toBe(true);
    expect((await run.now()).durable).toBe(true);
  });

  it.each([
    ["every", true],
    ["process", false],
  ] as const)("follow the engine's setting: with durability %s everything is %s", async (durability, durable) => {
    const stage = newStage();
    const { run, answer } = await halfway(stage, { durability });
    expect((await told(run)).map((each) => each[1])).toEqual([durable, durable]);
    expect((await run.now()).durable).toBe(durable);
    answer.keep({});
    await run.result();
    expect((await told(run)).every((each) => each[1] === durable)).toBe(true);
    expect((await run.now()).durable).toBe(durable);
  });
});
