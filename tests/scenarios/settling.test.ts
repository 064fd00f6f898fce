import { describe, expect, it } from "vitest";
import type { Sighting } from "../../src/core/tool.ts";
import type { Failpoint } from "../../src/engine/failpoint.ts";
import { type Actor, actor, eventsOf, hang, promised, throws } from "./cast.ts";
import { ana, bot, places, type Stage } from "./stage.ts";

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
  const verifying = (stage: Stage) => async (probe: { key: string; input: unknown }) => {
    probes.push({ key: probe.key, input: probe.input, at: stage.clock.now() });
    const seen = sightings[Math.min(probes.length, sightings.length) - 1] as Sighting | (() => Promise<Sighting>);
    return typeof seen === "function" ? seen() : seen;
  };
  return { probes, verifying };
}

const follow = () => actor("after", ({ input }) => input, { effect: "reads" });
const keysOf = ({ calls }: Actor) => calls.map(({ context }) => context.key);

describe.each(places)("an act in doubt with a verifier, on $name", ({ newStage }) => {
  it("has happened when the verifier sees it, and its dependents go on with what was seen", async () => {
    const stage = newStage();
    const { probes, verifying } = looking({ saw: "happened", output: { id: "seen" } });
    const send = actor("send", throws("NETWORK_TIMEOUT"), { verify: verifying(stage) });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: bot });
    expect(await run.result()).toMatchObject({ status: "completed", steps: { after: { output: { id: "seen" } } } });
    expect(send.calls).toHaveLength(1);
    expect(probes).toMatchObject([{ key: keysOf(send)[0], input: { to: "ana" } }]);
    expect(await eventsOf(run, "step.settled")).toMatchObject([{ by: "verifier", settled: { as: "happened" } }]);
  });

  it("blocks its dependents when what was seen does not fit the tool's output", async () => {
    const stage = newStage();
    const { verifying } = looking({ saw: "happened", output: { number: 7 } });
    const output = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
    const send = actor("send", throws("NETWORK_TIMEOUT"), { verify: verifying(stage), output });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: bot });
    expect((await run.result()).steps).toMatchObject({
      send: { state: "failed_final", fault: { code: "SCHEMA_VALIDATION_FAILED" } },
      after: { state: "skipped" },
    });
    await engine.resolve(run.run_id, "send", { principal: ana, as: "happened", output: { id: "m1" } });
    await engine.resume(run.run_id, { principal: ana });
    expect((await run.result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });

  it("is run again only when it was absent twice, the second time after it could have arrived", async () => {
    const stage = newStage();
    const { probes, verifying } = looking({ saw: "absent" });
    const send = actor("send", [throws("NETWORK_TIMEOUT"), () => ({ id: "m2" })], {
      verify: verifying(stage),
      timeoutMs: 10_000,
      settleAfter: minute,
    });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const began = stage.clock.now();
    const run = await engine.submit(plan, { principal: bot });
    expect(await run.result()).toMatchObject({
      final: false,
      blocked_on: [{ step_id: "send", reason_code: "IN_DOUBT", until: began + 10_000 + minute }],
    });
    await stage.pass(10_000 + minute - 1);
    expect(send.calls).toHaveLength(1);
    await stage.pass(1);
    expect((await run.finished()).status).toBe("completed");
    expect(probes.map(({ at }) => at - began)).toEqual([0, 10_000 + minute]);
    expect(send.calls.map(({ context }) => context.attempt)).toEqual([1, 2]);
    expect(new Set(keysOf(send)).size).toBe(1);
  });

  it("is adopted when it arrives between the two looks", async () => {
    const stage = newStage();
    const { verifying } = looking({ saw: "absent" }, { saw: "happened", output: { id: "slow" } });
    const send = actor("send", throws("NETWORK_TIMEOUT"), { verify: verifying(stage) });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: bot });
    await stage.pass(5 * minute);
    expect((await run.finished()).steps.send).toEqual({ state: "succeeded", output: { id: "slow" } });
    expect(send.calls).toHaveLength(1);
  });

  it("starts to count anew when one look in between could not tell", async () => {
    const stage = newStage();
    const { probes, verifying } = looking({ saw: "absent" }, { saw: "unknown", why: "the server is away" });
    const send = actor("send", throws("NETWORK_TIMEOUT"), { verify: verifying(stage) });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: bot });
    await stage.pass(5 * minute);
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
    ["throws what has no words", () => Promise.reject(Object.create(null))],
  ])("waits for a person when the verifier %s", async (_, sighting) => {
    const stage = newStage();
    const { verifying } = looking(sighting);
    const send = actor("send", throws("NETWORK_TIMEOUT"), { verify: verifying(stage), timeoutMs: 1000 });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: bot });
    const result = await stage.rest(run);
    expect(result).toMatchObject({ final: false, blocked_on: [{ step_id: "send", reason_code: "IN_DOUBT" }] });
    expect(result.next).toContain("resolve");
    await stage.pass(5 * minute);
    expect(send.calls).toHaveLength(1);
  });

  it.each([
    ["by the engine that holds the tools", true],
    ["by a process that executes nothing", false],
  ])("is looked for again when somebody asks for it: %s", async (_, works) => {
    const stage = newStage();
    const { verifying } = looking({ saw: "unknown" }, { saw: "happened", output: { id: "m1" } });
    const send = actor("send", throws("NETWORK_TIMEOUT"), { verify: verifying(stage) });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: bot });
    expect((await stage.rest(run)).steps.send).toMatchObject({ state: "in_doubt", attempt: 1 });
    const asked = works ? engine : await stage.open({ tools: [send.tool], work: false });
    await asked.resolve(run.run_id, "send", { principal: bot, as: "verify" });
    await stage.pass(2000);
    expect((await run.result()).steps.send).toMatchObject({ state: "succeeded", output: { id: "m1" } });
    expect(send.calls).toHaveLength(1);
  });

  it("is not looked for while its handler still runs here, but is when that ends", async () => {
    const stage = newStage();
    const { probes, verifying } = looking({ saw: "happened", output: { id: "seen" } });
    const answer = promised<object>();
    const deed = () => answer.promise.then(() => Promise.reject(new Error("reset")));
    const send = actor("send", deed, { verify: verifying(stage), timeoutMs: 1000 });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: bot });
    expect((await stage.rest(run)).steps.send).toMatchObject({ state: "in_doubt" });
    await stage.pass(10 * minute);
    expect(probes).toEqual([]);
    answer.keep({});
    expect((await run.finished()).steps.send).toMatchObject({ output: { id: "seen" } });
  });

  it("is looked for by the next worker, once the handler died with the first", async () => {
    const stage = newStage();
    const { verifying } = looking({ saw: "happened", output: { id: "seen" } });
    const send = actor("send", hang, { verify: verifying(stage), timeoutMs: 1000 });
    const tools = [send.tool, follow().tool];
    const first = await stage.open({ tools });
    const { run_id } = await first.submit(plan, { principal: bot });
    await stage.pass(5000);
    await stage.crash();
    const second = await stage.open({ tools });
    expect((await (await second.run(run_id, { principal: bot })).finished()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(places)("an act in doubt that is idempotent, on $name", ({ newStage }) => {
  it("is sent again, the same bytes under the same key, while its promise holds", async () => {
    const stage = newStage();
    const deeds = [throws("NETWORK_TIMEOUT"), throws("NETWORK_TIMEOUT"), () => ({ id: "m1" })];
    const send = actor("send", deeds, { idempotent: { forMs: 10 * minute }, timeoutMs: 1000 });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: bot });
    await stage.rest(run);
    expect(send.calls).toHaveLength(2); // The second time at once, the third a second later.
    await stage.pass(1000);
    expect((await stage.rest(run)).status).toBe("completed");
    expect(new Set(keysOf(send)).size).toBe(1);
    expect(send.calls.map(({ input }) => input)).toEqual([{ to: "ana" }, { to: "ana" }, { to: "ana" }]);
    expect(await eventsOf(run, "step.settled")).toMatchObject([
      { by: "declaration", settled: { as: "resend" } },
      { by: "declaration", settled: { as: "resend" } },
    ]);
  });

  it("is left to a person when the promise is too old", async () => {
    const stage = newStage();
    const send = actor("send", hang, { idempotent: { forMs: 3000 }, timeoutMs: 2000, settleAfter: 0 });
    const tools = [send.tool, follow().tool];
    const first = await stage.open({ tools });
    const { run_id } = await first.submit(plan, { principal: bot });
    await stage.pass(2500);
    await stage.crash();
    const second = await stage.open({ tools });
    const run = await second.run(run_id, { principal: bot });
    expect(await stage.rest(run)).toMatchObject({ final: false, steps: { send: { state: "in_doubt" } } });
    expect(send.calls).toHaveLength(1);
  });

  it("is looked for first, and sent again only when the verifier cannot tell", async () => {
    const stage = newStage();
    const { probes, verifying } = looking({ saw: "unknown" });
    const send = actor("send", [throws("NETWORK_TIMEOUT"), () => ({ id: "m1" })], {
      verify: verifying(stage),
      idempotent: { forMs: 10 * minute },
    });
    const engine = await stage.open({ tools: [send.tool, follow().tool] });
    const run = await engine.submit(plan, { principal: bot });
    expect((await stage.rest(run)).status).toBe("completed");
    expect(probes).toHaveLength(1);
    expect(send.calls).toHaveLength(2);
  });

  it("stands on its approval when it is sent again", async () => {
    const stage = newStage();
    const send = actor("send", [throws("NETWORK_TIMEOUT"), () => ({ id: "m1" })], {
      idempotent: { forMs: 10 * minute },
    });
    const engine = await stage.open({ tools: [send.tool, follow().tool], tenants: {} });
    const run = await engine.submit(plan, { principal: bot });
    const [gate] = (await run.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: ana });
    expect((await stage.rest(run)).status).toBe("completed");
    expect(send.calls).toHaveLength(2);
    expect(await eventsOf(run, "gate.opened")).toHaveLength(1);
  });
});

describe.each(places)("an act whose worker died, on $name", ({ newStage }) => {
  /** Opens an engine whose process dies at this point, the first time it gets there. */
  const dyingAt = (stage: Stage, point: Failpoint, tools: Actor[]) =>
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
    const send = actor("send", () => ({ id: "m1" }));
    const tools = [send, follow()];
    const first = await dyingAt(stage, point, tools);
    const { run_id } = await first.submit(plan, { principal: bot });
    await stage.pass(0);
    const second = await stage.open({ tools: tools.map(({ tool }) => tool) });
    const run = await second.run(run_id, { principal: bot });
    const result = await stage.rest(run);
    expect(result.status).toBe(status);
    expect(send.calls.length).toBeLessThanOrEqual(most);
    if (status === "partial") expect(result.steps.send).toMatchObject({ state: "in_doubt" });
    else expect(send.calls).toHaveLength(1);
  });

  it("before the call was let go is proven not done by the missing marker", async () => {
    const stage = newStage();
    const send = actor("send", () => ({ id: "m1" }));
    const tools = [send, follow()];
    const first = await dyingAt(stage, "start.after", tools);
    const { run_id } = await first.submit(plan, { principal: bot });
    await stage.pass(0);
    const second = await stage.open({ tools: tools.map(({ tool }) => tool) });
    const run = await second.run(run_id, { principal: bot });
    await stage.rest(run);
    expect(await eventsOf(run, "step.settled")).toMatchObject([{ by: "marker", settled: { as: "not_done" } }]);
  });

  it("is in doubt without the tool, and is settled when the tool is back", async () => {
    const stage = newStage();
    const { verifying } = looking({ saw: "happened", output: { id: "seen" } });
    const send = actor("send", () => ({ id: "m1" }), { verify: verifying(stage) });
    const first = await dyingAt(stage, "tool.after", [send, follow()]);
    const { run_id } = await first.submit(plan, { principal: bot });
    await stage.pass(0);
    const without = await stage.open({ tools: [follow().tool] });
    const run = await without.run(run_id, { principal: bot });
    expect((await stage.rest(run)).steps.send).toMatchObject({ state: "in_doubt" });
    await without.close();
    const back = await stage.open({ tools: [send.tool, follow().tool] });
    await back.resolve(run_id, "send", { principal: ana, as: "happened", output: { id: "ana says" } });
    expect((await (await back.run(run_id, { principal: bot })).result()).status).toBe("completed");
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(places)("a worker that lost its run without knowing, on $name", ({ newStage }) => {
  it("writes nothing more: its late answer cannot undo what the next one found", async () => {
    const stage = newStage();
    const answer = promised<object>();
    const send = actor("send", () => answer.promise);
    const tools = [send.tool, follow().tool];
    const store = stage.store();
    const frozen = { after: () => () => {} }; // It no longer renews its leases.
    const first = await stage.open({ store, tools, timers: frozen });
    const { run_id } = await first.submit(plan, { principal: bot });
    await stage.pass(0);
    expect(send.calls).toHaveLength(1);
    stage.clock.advance(31_000);
    const second = await stage.open({ store, tools });
    const run = await second.run(run_id, { principal: bot });
    expect((await stage.rest(run)).steps.send).toMatchObject({ state: "in_doubt" });
    const before = await stage.dump();
    answer.keep({ id: "too late" });
    expect(await stage.dump()).toEqual(before);
    await second.resolve(run_id, "send", { principal: ana, as: "happened", output: { id: "ana saw it" } });
    expect((await run.finished()).steps.after).toMatchObject({ output: { id: "ana saw it" } });
    expect(send.calls).toHaveLength(1);
  });
});
