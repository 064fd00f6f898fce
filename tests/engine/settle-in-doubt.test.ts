import { describe, expect, it } from "vitest";
import type { Sighting } from "../../src/core/tool/tool.ts";
import type { Failpoint } from "../../src/engine/ports/failpoint.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  deferred,
  neverAnswers,
  type ScriptedTool,
  scriptedTool,
  throwsFault,
} from "./scripted-tool.ts";

const minute = 60_000;
const plan = {
  steps: [
    { step_id: "send", name: "send", payload: { to: "ana" } },
    { step_id: "after", name: "after", bindings: { "/id": { step: "send", path: "/id" } } },
  ],
};

/** A verifier that sees this, then that; the last is seen from then on. */
function looking(...sightings: readonly (Sighting | (() => Promise<Sighting>))[]) {
  const probes: { key: string; input: unknown; at: number }[] = [];
  const verifying = (stage: EngineFixture) => async (probe: { key: string; input: unknown }) => {
    probes.push({ key: probe.key, input: probe.input, at: stage.clock.now() });
    const seen = sightings[Math.min(probes.length, sightings.length) - 1] as Sighting | (() => Promise<Sighting>);
    return typeof seen === "function" ? seen() : seen;
  };
  return { probes, verifying };
}

const follow = () => scriptedTool("after", ({ input }) => input, { effect: "reads" });
const keysOf = ({ calls }: ScriptedTool) => calls.map(({ context }) => context.key);

describe.each(storeKinds)("act in doubt with a verifier, on $name", ({ newFixture: newStage }) => {
  it("happened when the verifier sees it, and its dependents continue with the seen output", async () => {
    const stage = newStage();
    const { probes, verifying } = looking({ saw: "happened", output: { id: "seen" } });
    const send = scriptedTool("send", throwsFault("NETWORK_TIMEOUT"), { verify: verifying(stage) });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    expect(await run.result()).toMatchObject({ status: "completed", steps: { after: { output: { id: "seen" } } } });
    expect(send.calls).toHaveLength(1);
    expect(probes).toMatchObject([{ key: keysOf(send)[0], input: { to: "ana" } }]);
    expect(await collectEvents(run, "step.settled")).toMatchObject([{ by: "verifier", settled: { as: "happened" } }]);
  });

  it("blocks its dependents when the seen output does not match the tool's schema", async () => {
    const stage = newStage();
    const { verifying } = looking({ saw: "happened", output: { number: 7 } });
    const output = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
    const send = scriptedTool("send", throwsFault("NETWORK_TIMEOUT"), { verify: verifying(stage), output });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    expect((await run.result()).steps).toMatchObject({
      send: { state: "failed_final", fault: { code: "SCHEMA_VALIDATION_FAILED" } },
      after: { state: "skipped" },
    });
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "happened", output: { id: "m1" } });
    await engine.resume(run.run_id, { principal: anaPerson });
    expect((await run.result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("is done again only after two absent answers, the second after it could have arrived", async () => {
    const stage = newStage();
    const { probes, verifying } = looking({ saw: "absent" });
    const send = scriptedTool("send", [throwsFault("NETWORK_TIMEOUT"), () => ({ id: "m2" })], {
      verify: verifying(stage),
      timeoutMs: 10_000,
      settleAfter: minute,
    });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const began = stage.clock.now();
    const run = await engine.submit(plan, { principal: botAgent });
    expect(await run.result()).toMatchObject({
      final: false,
      blocked_on: [{ step_id: "send", reason_code: "IN_DOUBT", until: began + 10_000 + minute }],
    });
    await stage.advance(10_000 + minute - 1);
    expect(send.calls).toHaveLength(1);
    await stage.advance(1);
    expect((await run.finished()).status).toBe("completed");
    expect(probes.map(({ at }) => at - began)).toEqual([0, 10_000 + minute]);
    expect(send.calls.map(({ context }) => context.attempt)).toEqual([1, 2]);
    expect(new Set(keysOf(send)).size).toBe(1);
  });

  it("is adopted when it arrives between the two answers", async () => {
    const stage = newStage();
    const { verifying } = looking({ saw: "absent" }, { saw: "happened", output: { id: "slow" } });
    const send = scriptedTool("send", throwsFault("NETWORK_TIMEOUT"), { verify: verifying(stage) });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await stage.advance(5 * minute);
    expect((await run.finished()).steps.send).toEqual({ state: "succeeded", output: { id: "slow" } });
    expect(send.calls).toHaveLength(1);
  });

  it("starts over when one answer in between is unknown", async () => {
    const stage = newStage();
    const { probes, verifying } = looking({ saw: "absent" }, { saw: "unknown", why: "the server is away" });
    const send = scriptedTool("send", throwsFault("NETWORK_TIMEOUT"), { verify: verifying(stage) });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await stage.advance(5 * minute);
    expect(await run.result()).toMatchObject({ final: false, steps: { send: { state: "in_doubt" } } });
    expect(probes).toHaveLength(2);
    expect(send.calls).toHaveLength(1);
  });

  it.each<[string, Sighting | (() => Promise<Sighting>)]>([
    ["says unknown", { saw: "unknown" }],
    ["throws", () => Promise.reject(new Error("no route"))],
    ["does not answer in time", () => new Promise(() => {})],
    ["answers nonsense", { saw: "perhaps" } as unknown as Sighting],
    ["answers nothing", undefined as unknown as Sighting],
    ["says why in what is not JSON", { saw: "unknown", why: 7n } as unknown as Sighting],
    ["throws an error without a text", () => Promise.reject(Object.create(null))],
  ])("waits for a person when the verifier %s", async (_, sighting) => {
    const stage = newStage();
    const { verifying } = looking(sighting);
    const send = scriptedTool("send", throwsFault("NETWORK_TIMEOUT"), { verify: verifying(stage), timeoutMs: 1000 });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    const result = await stage.runUntilIdle(run);
    expect(result).toMatchObject({ final: false, blocked_on: [{ step_id: "send", reason_code: "IN_DOUBT" }] });
    expect(result.next).toContain("resolve");
    await stage.advance(5 * minute);
    expect(send.calls).toHaveLength(1);
  });

  it.each([
    ["by the engine that holds the tools", true],
    ["by a process that executes nothing", false],
  ])("is verified again on request: %s", async (_, works) => {
    const stage = newStage();
    const { verifying } = looking({ saw: "unknown" }, { saw: "happened", output: { id: "m1" } });
    const send = scriptedTool("send", throwsFault("NETWORK_TIMEOUT"), { verify: verifying(stage) });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).steps.send).toMatchObject({ state: "in_doubt", attempt: 1 });
    const asked = works ? engine : await stage.open({ tools: [send.tool], work: false });
    await asked.resolve(run.run_id, "send", { principal: botAgent, as: "verify" });
    await stage.advance(2000);
    expect((await run.result()).steps.send).toMatchObject({ state: "succeeded", output: { id: "m1" } });
    expect(send.calls).toHaveLength(1);
  });

  it("is not verified while its handler still runs here, but when the handler ends", async () => {
    const stage = newStage();
    const { probes, verifying } = looking({ saw: "happened", output: { id: "seen" } });
    const answer = deferred<object>();
    const deed = () => answer.promise.then(() => Promise.reject(new Error("reset")));
    const send = scriptedTool("send", deed, { verify: verifying(stage), timeoutMs: 1000 });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).steps.send).toMatchObject({ state: "in_doubt" });
    await stage.advance(10 * minute);
    expect(probes).toEqual([]);
    answer.keep({});
    expect((await run.finished()).steps.send).toMatchObject({ output: { id: "seen" } });
  });

  it("is verified by the next worker, once the handler died with the first", async () => {
    const stage = newStage();
    const { verifying } = looking({ saw: "happened", output: { id: "seen" } });
    const send = scriptedTool("send", neverAnswers, { verify: verifying(stage), timeoutMs: 1000 });
    const tools = [send.tool, follow().tool];
    const first = await stage.open({ tools });
    const { run_id } = await first.submit(plan, { principal: botAgent });
    await stage.advance(5000);
    await stage.crash();
    const second = await stage.open({ tools });
    expect((await (await second.run(run_id, { principal: botAgent })).finished()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("act in doubt that is idempotent, on $name", ({ newFixture: newStage }) => {
  it("is sent again, the same bytes under the same key, while its idempotency lasts", async () => {
    const stage = newStage();
    const deeds = [throwsFault("NETWORK_TIMEOUT"), throwsFault("NETWORK_TIMEOUT"), () => ({ id: "m1" })];
    const send = scriptedTool("send", deeds, { idempotent: { forMs: 10 * minute }, timeoutMs: 1000 });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await stage.runUntilIdle(run);
    expect(send.calls).toHaveLength(2); // The second time at once, the third a second later.
    await stage.advance(1000);
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(new Set(keysOf(send)).size).toBe(1);
    expect(send.calls.map(({ input }) => input)).toEqual([{ to: "ana" }, { to: "ana" }, { to: "ana" }]);
    expect(await collectEvents(run, "step.settled")).toMatchObject([
      { by: "declaration", settled: { as: "resend" } },
      { by: "declaration", settled: { as: "resend" } },
    ]);
  });

  it("is left to a person when its idempotency has expired", async () => {
    const stage = newStage();
    const send = scriptedTool("send", neverAnswers, { idempotent: { forMs: 3000 }, timeoutMs: 2000, settleAfter: 0 });
    const tools = [send.tool, follow().tool];
    const first = await stage.open({ tools });
    const { run_id } = await first.submit(plan, { principal: botAgent });
    await stage.advance(2500);
    await stage.crash();
    const second = await stage.open({ tools });
    const run = await second.run(run_id, { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ final: false, steps: { send: { state: "in_doubt" } } });
    expect(send.calls).toHaveLength(1);
  });

  it("is verified first, and sent again only when the verifier cannot tell", async () => {
    const stage = newStage();
    const { probes, verifying } = looking({ saw: "unknown" });
    const send = scriptedTool("send", [throwsFault("NETWORK_TIMEOUT"), () => ({ id: "m1" })], {
      verify: verifying(stage),
      idempotent: { forMs: 10 * minute },
    });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(probes).toHaveLength(1);
    expect(send.calls).toHaveLength(2);
  });

  it("needs no second approval when it is sent again", async () => {
    const stage = newStage();
    const send = scriptedTool("send", [throwsFault("NETWORK_TIMEOUT"), () => ({ id: "m1" })], {
      idempotent: { forMs: 10 * minute },
    });
    const engine = await stage.open({ tools: [send.tool, follow().tool], tenants: {} });
    const run = await engine.submit(plan, { principal: botAgent });
    const [gate] = (await run.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(send.calls).toHaveLength(2);
    expect(await collectEvents(run, "gate.opened")).toHaveLength(1);
  });
});

describe.each(storeKinds)("act whose worker died, on $name", ({ newFixture: newStage }) => {
  /** Opens an engine whose process dies at this point, the first time it gets there. */
  const dyingAt = (stage: EngineFixture, point: Failpoint, tools: ScriptedTool[]) =>
    stage.open({
      tools: tools.map(({ tool }) => tool),
      failpoint: (reached) => {
        if (reached === point) void stage.crash();
      },
    });

  it.each<[Failpoint, string, number]>([
    ["start.before", "completed", 1],
    ["start.after", "completed", 1],
    ["mark.after", "partial", 1],
    ["tool.after", "partial", 1],
    ["end.after", "completed", 1],
  ])("at %s ends %s, and was done at most once", async (point, status, most) => {
    const stage = newStage();
    const send = scriptedTool("send", () => ({ id: "m1" }));
    const tools = [send, follow()];
    const first = await dyingAt(stage, point, tools);
    // With a key, the run is on record before its first decision.
    const { run_id } = await first.submit(plan, { principal: botAgent, requestKey: "send once" });
    await stage.advance(0);
    const second = await stage.open({ tools: tools.map(({ tool }) => tool) });
    const run = await second.run(run_id, { principal: botAgent });
    const result = await stage.runUntilIdle(run);
    expect(result.status).toBe(status);
    expect(send.calls.length).toBeLessThanOrEqual(most);
    if (status === "partial") expect(result.steps.send).toMatchObject({ state: "in_doubt" });
    else expect(send.calls).toHaveLength(1);
  });

  it("before the call was sent is proven not done by the missing marker", async () => {
    const stage = newStage();
    const send = scriptedTool("send", () => ({ id: "m1" }));
    const tools = [send, follow()];
    const first = await dyingAt(stage, "start.after", tools);
    const { run_id } = await first.submit(plan, { principal: botAgent });
    await stage.advance(0);
    const second = await stage.open({ tools: tools.map(({ tool }) => tool) });
    const run = await second.run(run_id, { principal: botAgent });
    await stage.runUntilIdle(run);
    expect(await collectEvents(run, "step.settled")).toMatchObject([{ by: "marker", settled: { as: "not_done" } }]);
  });

  it("is in doubt without the tool, and is settled when the tool is back", async () => {
    const stage = newStage();
    const { verifying } = looking({ saw: "happened", output: { id: "seen" } });
    const send = scriptedTool("send", () => ({ id: "m1" }), { verify: verifying(stage) });
    const first = await dyingAt(stage, "tool.after", [send, follow()]);
    const { run_id } = await first.submit(plan, { principal: botAgent });
    await stage.advance(0);
    const without = await stage.open({ tools: [follow().tool] });
    const run = await without.run(run_id, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).steps.send).toMatchObject({ state: "in_doubt" });
    await without.close();
    const back = await stage.open({ tools: [send.tool, follow().tool] });
    await back.resolve(run_id, "send", { principal: anaPerson, as: "happened", output: { id: "ana says" } });
    expect((await (await back.run(run_id, { principal: botAgent })).result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("worker that lost its run unknowingly, on $name", ({ newFixture: newStage }) => {
  it("writes nothing more: its late output cannot change what the next worker recorded", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const send = scriptedTool("send", () => answer.promise);
    const tools = [send.tool, follow().tool];
    const store = stage.store();
    const frozen = { after: () => () => {} }; // It no longer renews its leases.
    const first = await stage.open({ store, tools, timers: frozen });
    const { run_id } = await first.submit(plan, { principal: botAgent });
    await stage.advance(0);
    expect(send.calls).toHaveLength(1);
    stage.loseLeases();
    const second = await stage.open({ store, tools });
    const run = await second.run(run_id, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).steps.send).toMatchObject({ state: "in_doubt" });
    const before = await stage.dump();
    answer.keep({ id: "too late" });
    expect(await stage.dump()).toEqual(before);
    await second.resolve(run_id, "send", { principal: anaPerson, as: "happened", output: { id: "ana saw it" } });
    expect((await run.finished()).steps.after).toMatchObject({ output: { id: "ana saw it" } });
    expect(send.calls).toHaveLength(1);
  });
});
