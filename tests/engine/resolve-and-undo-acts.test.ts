import { describe, expect, it } from "vitest";
import type { Json } from "../../src/core/values/json.ts";
import type { ResolveOptions } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, deferred, neverAnswers, rejectedFault, scriptedTool, throwsFault } from "./scripted-tool.ts";

const id = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
const plan = {
  steps: [
    { step_id: "send", name: "send", payload: { to: "ana" } },
    { step_id: "note", name: "note", bindings: { "/id": { step: "send", path: "/id" } } },
  ],
};
const notes = () => scriptedTool("note", ({ input }) => input, { effect: "reads" });
const sends = (...script: Parameters<typeof scriptedTool>[1][]) =>
  scriptedTool("send", [throwsFault("NETWORK_TIMEOUT"), ...(script as never[])], { output: id });

describe.each(storeKinds)("act in doubt that a person settles, on $name", ({ newFixture: newStage }) => {
  it("as happened has a receipt, and the plan continues with it", async () => {
    const send = sends();
    const engine = await newStage().open({ tools: [send.tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", {
      principal: anaPerson,
      as: "happened",
      output: { id: "m1" },
      reason: "saw it",
    });
    expect(await run.result()).toMatchObject({ status: "completed", steps: { note: { output: { id: "m1" } } } });
    expect(send.calls).toHaveLength(1);
    expect(await collectEvents(run, "step.settled")).toMatchObject([{ by: "ana", reason: "saw it" }]);
  });

  it("as absent is done again under the same key", async () => {
    const send = sends(() => ({ id: "m2" }));
    const engine = await newStage().open({ tools: [send.tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "absent" });
    expect((await run.result()).status).toBe("completed");
    expect(send.calls.map(({ context }) => context.attempt)).toEqual([1, 2]);
    expect(new Set(send.calls.map(({ context }) => context.key)).size).toBe(1);
  });

  it("by attempt is not settled if there is a later attempt", async () => {
    const send = sends(throwsFault("NETWORK_TIMEOUT"));
    const engine = await newStage().open({ tools: [send.tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    const { send: first } = (await run.result()).steps;
    expect(first).toMatchObject({ state: "in_doubt", attempt: 1 });
    const stale = { principal: anaPerson, as: "absent", attempt: 1 } as const;
    await engine.resolve(run.run_id, "send", stale);
    expect((await run.result()).steps.send).toMatchObject({ state: "in_doubt", attempt: 2 });
    expect((await rejectedFault(engine.resolve(run.run_id, "send", stale))).code).toBe("NOT_POSSIBLE");
    expect((await run.result()).steps.send).toMatchObject({ state: "in_doubt", attempt: 2 });
    expect(send.calls).toHaveLength(2);
  });

  it("as given up fails finally, and neither resume nor another run repeats it", async () => {
    const send = scriptedTool("send", throwsFault("NETWORK_TIMEOUT"), { identity: ["to"] });
    const engine = await newStage().open({ tools: [send.tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "give_up", reason: "nobody knows" });
    expect(await run.result()).toMatchObject({
      status: "failed",
      final: true,
      steps: { send: { state: "failed_final", fault: { code: "OUTCOME_UNKNOWN" } }, note: { state: "skipped" } },
    });
    await engine.resume(run.run_id, { principal: anaPerson });
    expect((await run.result()).steps).toMatchObject({ send: { state: "failed_final" }, note: { state: "skipped" } });
    const other = await engine.submit(plan, { principal: botAgent });
    const held = await other.result();
    expect(held.gates[0]?.reason).toContain("given_up");
    expect(send.calls).toHaveLength(1);
  });

  it("is settled after a restart as well", async () => {
    const stage = newStage();
    const send = sends();
    const tools = [send.tool, notes().tool];
    const first = await stage.open({ tools });
    const { run_id } = await first.submit(plan, { principal: botAgent });
    await stage.advance(0);
    await stage.crash();
    const second = await stage.open({ tools });
    await second.resolve(run_id, "send", { principal: anaPerson, as: "happened", output: { id: "m1" } });
    expect((await (await second.run(run_id, { principal: botAgent })).result()).status).toBe("completed");
  });

  it("is settled though its handler still runs here, and a late value is only evidence", async () => {
    const stage = newStage();
    const first = deferred<Json>();
    const second = deferred<Json>();
    const send = scriptedTool("send", [() => first.promise, () => second.promise], { timeoutMs: 1000, output: id });
    const engine = await stage.open({ tools: [send.tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await stage.runUntilIdle(run);
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "absent", reason: "their log has nothing" });
    await stage.advance(0);
    expect(send.calls).toHaveLength(2);
    first.keep({ id: "of the first" });
    await stage.advance(0);
    expect((await run.now()).steps.send).toMatchObject({ state: "running" });
    expect(await collectEvents(run, "evidence.kept")).toMatchObject([{ attempt: 1, evidence: { id: "of the first" } }]);
    second.keep({ id: "of the second" });
    expect((await run.finished()).steps.send).toMatchObject({ output: { id: "of the second" } });
  });

  it("as happened requires the tool, which validates the output", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sends().tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const office = await stage.open({ tools: [], work: false });
    const blind = office.resolve(run.run_id, "send", { principal: anaPerson, as: "happened", output: { id: "m1" } });
    expect((await rejectedFault(blind)).code).toBe("TOOL_MISSING");
    expect((await run.result()).steps.send).toMatchObject({ state: "in_doubt" });
  });

  it("as happened without the tool and an output fails its step, which continues when its output is given", async () => {
    const stage = newStage();
    const send = sends();
    const engine = await stage.open({ tools: [send.tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const office = await stage.open({ tools: [], work: false });
    await office.resolve(run.run_id, "send", { principal: anaPerson, as: "happened" });
    expect(await run.result()).toMatchObject({
      status: "failed",
      steps: { send: { state: "failed_final", fault: { code: "SCHEMA_VALIDATION_FAILED" } } },
    });
    await engine.resume(run.run_id, { principal: anaPerson });
    expect((await run.result()).steps.send).toMatchObject({ state: "failed_final" });
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "happened", output: { id: "m1" } });
    await engine.resume(run.run_id, { principal: anaPerson });
    expect(await run.result()).toMatchObject({ status: "completed", steps: { send: { output: { id: "m1" } } } });
    expect(send.calls).toHaveLength(1);
  });

  it("as happened without an output is refused by a tool that does not accept null", async () => {
    const engine = await newStage().open({ tools: [sends().tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const refused = engine.resolve(run.run_id, "send", { principal: anaPerson, as: "happened" });
    expect((await rejectedFault(refused)).code).toBe("INVALID_INPUT");
  });

  it.each<[string, string, Partial<ResolveOptions>, string]>([
    ["by an agent", "send", { principal: botAgent, as: "absent" }, "AUTH_FORBIDDEN"],
    ["by a service", "send", { principal: { ...anaPerson, kind: "service" }, as: "absent" }, "AUTH_FORBIDDEN"],
    ["for a step that has not begun", "note", { as: "absent" }, "NOT_POSSIBLE"],
    ["for a step that is not there", "sent", { as: "absent" }, "STEP_NOT_FOUND"],
    ["with an output that does not fit", "send", { as: "happened", output: { id: 7 } }, "INVALID_INPUT"],
    ["in a way that nobody knows", "send", { as: "perhaps" as "absent" }, "INVALID_INPUT"],
    ["by undoing what cannot be undone", "send", { as: "undo" }, "NOT_POSSIBLE"],
    ["from another tenant", "send", { principal: { ...anaPerson, tenant: "globex" }, as: "absent" }, "RUN_NOT_FOUND"],
  ])("is not settled %s", async (_, step, options, code) => {
    const stage = newStage();
    const engine = await stage.open({ tools: [sends().tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    const before = await stage.dump();
    const refused = await rejectedFault(
      engine.resolve(run.run_id, step, { principal: anaPerson, ...options } as ResolveOptions),
    );
    expect(refused.code).toBe(code);
    expect(await stage.dump()).toEqual(before);
  });
});

describe.each(storeKinds)("undo of one act, on $name", ({ newFixture: newStage }) => {
  const world = () => new Set<string>();
  /** A tool that puts something into the world and can take it out again. */
  const post = (there: Set<string>, more: object = {}) =>
    scriptedTool(
      "send",
      ({ context }) => {
        there.add(context.key);
        return { id: context.key };
      },
      {
        output: id,
        compensate: async ({ output }) => void there.delete((output as { id: string }).id),
        ...more,
      },
    );

  it("compensates it and says whether a verifier confirmed it", async () => {
    const there = world();
    const verify = async ({ key }: { key: string }) =>
      there.has(key) ? { saw: "happened" as const, output: { id: key } } : { saw: "absent" as const };
    const send = post(there, { verify });
    const engine = await newStage().open({ tools: [send.tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
    expect(there.size).toBe(1);
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo", reason: "wrong address" });
    expect((await run.result()).steps).toMatchObject({
      send: { state: "compensated", confirmed: true },
      "undo.send.1": { state: "succeeded" },
      note: { state: "succeeded" },
    });
    expect(there.size).toBe(0);
    expect(await collectEvents(run, "step.compensating")).toMatchObject([{ by: "ana", reason: "wrong address" }]);
  });

  it("is unconfirmed without a verifier", async () => {
    const there = world();
    const engine = await newStage().open({ tools: [post(there).tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    expect((await run.result()).steps.send).toEqual({ state: "compensated", confirmed: false });
  });

  it("is done once: a second request is refused, and an undo cannot be undone", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [post(world()).tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    await run.result();
    const before = await stage.dump();
    for (const step of ["send", "undo.send.1"]) {
      const again = engine.resolve(run.run_id, step, { principal: anaPerson, as: "undo" });
      expect((await rejectedFault(again)).code).toBe("NOT_POSSIBLE");
    }
    expect(await stage.dump()).toEqual(before);
  });

  it("runs under its own key, with the recorded act, without approval", async () => {
    const asked: unknown[] = [];
    const keys: string[] = [];
    const compensate = async (done: unknown, context: { key: string }) => {
      asked.push(done);
      keys.push(context.key);
    };
    const send = post(world(), { compensate });
    const engine = await newStage().open({ tools: [send.tool, notes().tool], tenants: {} });
    const run = await engine.submit(plan, { principal: botAgent });
    const [gate] = (await run.result()).gates;
    await engine.approve(gate?.gate_id as string, { principal: anaPerson });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    expect((await run.result()).steps.send).toMatchObject({ state: "compensated" });
    const key = send.calls[0]?.context.key;
    expect(asked).toEqual([{ input: { to: "ana" }, output: { id: key }, key, changes: [] }]);
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(keys[0]).not.toBe(key);
  });

  it("that fails is reported and can be requested again", async () => {
    let tries = 0;
    const compensate = async () => {
      tries += 1;
      if (tries === 1) return { success: false, error: "already read" };
      return null;
    };
    const engine = await newStage().open({
      tools: [post(world(), { compensate, errorsMean: "not_done" }).tool, notes().tool],
    });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    expect(await run.result()).toMatchObject({
      status: "partial",
      failed: [
        { step_id: "send", state: "compensation_failed" },
        { step_id: "undo.send.1", state: "failed_final" },
      ],
    });
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    expect((await run.result()).steps.send).toMatchObject({ state: "compensated" });
    expect(tries).toBe(2);
  });

  it("with an unknown outcome is in doubt and is settled by its verifier", async () => {
    const stage = newStage();
    const there = world();
    const verify = async ({ key }: { key: string }) =>
      there.has(key) ? { saw: "happened" as const, output: { id: key } } : { saw: "absent" as const };
    const compensate = async ({ key }: { key: string }) => {
      there.delete(key);
      throw new Error("connection reset");
    };
    const engine = await stage.open({ tools: [post(there, { verify, compensate }).tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    expect((await stage.runUntilIdle(run)).steps.send).toEqual({ state: "compensated", confirmed: true });
  });

  it("with an unknown outcome and no verifier is settled by a person", async () => {
    const stage = newStage();
    const compensate = () => new Promise(() => {});
    const engine = await stage.open({ tools: [post(world(), { compensate, timeoutMs: 500 }).tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await run.result();
    await engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      final: false,
      steps: { "undo.send.1": { state: "in_doubt" } },
    });
    await engine.resolve(run.run_id, "undo.send.1", { principal: anaPerson, as: "happened", output: null });
    expect((await run.result()).steps.send).toMatchObject({ state: "compensated" });
  });

  it("of an act in doubt is allowed only where it is harmless if the act never happened", async () => {
    const stage = newStage();
    const careful = scriptedTool("send", neverAnswers, { timeoutMs: 500, compensate: async () => null });
    const engine = await stage.open({ tools: [careful.tool, notes().tool] });
    const run = await engine.submit(plan, { principal: botAgent });
    await stage.runUntilIdle(run);
    const refused = await rejectedFault(engine.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" }));
    expect(refused).toMatchObject({ code: "NOT_POSSIBLE" });

    const other = newStage();
    const asked: unknown[] = [];
    const compensate = async (done: unknown) => void asked.push(done);
    const safe = scriptedTool("send", neverAnswers, { timeoutMs: 500, compensate, safeIfAbsent: true });
    const safely = await other.open({ tools: [safe.tool, notes().tool] });
    const doubted = await safely.submit(plan, { principal: botAgent });
    await other.runUntilIdle(doubted);
    await safely.resolve(doubted.run_id, "send", { principal: anaPerson, as: "undo" });
    expect(await other.runUntilIdle(doubted)).toMatchObject({
      final: true,
      steps: { send: { state: "compensated" }, note: { state: "skipped" } },
    });
    expect(asked).toMatchObject([{ input: { to: "ana" }, output: null }]);
  });

  it("continues after a restart, and is done once", async () => {
    const stage = newStage();
    const there = world();
    let undone = 0;
    const compensate = async () => {
      undone += 1;
    };
    const send = post(there, { compensate });
    const tools = [send.tool, notes().tool];
    const first = await stage.open({
      tools,
      failpoint: (point) => {
        if (point === "start.after" && send.calls.length === 1) void stage.crash();
      },
    });
    const run = await first.submit(plan, { principal: botAgent });
    await run.result();
    void first.resolve(run.run_id, "send", { principal: anaPerson, as: "undo" });
    await stage.advance(0);
    expect(undone).toBe(0);
    const second = await stage.open({ tools });
    expect((await stage.runUntilIdle(await second.run(run.run_id, { principal: botAgent }))).steps.send).toMatchObject({
      state: "compensated",
    });
    expect(undone).toBe(1);
  });
});
