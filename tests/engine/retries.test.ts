import { describe, expect, it } from "vitest";
import type { FaultCode } from "../../src/core/values/fault.ts";
import type { RunHandle } from "../../src/engine/api/engine-api.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  deferred,
  neverAnswers,
  scriptedTool,
  type ToolBehaviour,
  throwsFault,
  throwsNotDone,
} from "./scripted-tool.ts";

const one = (name: string, more: object = {}) => ({ steps: [{ step_id: "a", name, ...more }] });

/** How long each failure told the next try to wait; null where there is none. */
async function pauses(run: RunHandle): Promise<readonly (number | null)[]> {
  const failures = await collectEvents(run, "step.failed");
  return failures.map(({ retry_at, at }) => (retry_at === null ? null : retry_at - at));
}

describe.each(storeKinds)("retry, on $name", ({ newFixture: newStage }) => {
  it.each<[FaultCode, readonly (number | null)[]]>([
    ["RATE_LIMIT", [1000, 2000, 4000, 8000, null]],
    ["NETWORK_TIMEOUT", [500, 1000, null]],
    ["TEMPORARY_PROVIDER_ERROR", [500, 1000, null]],
    ["TRANSIENT_DB_LOCK", [50, 100, 200, 400, null]],
    ["DEPENDENCY_UNAVAILABLE", [500, 1000, null]],
    ["POLICY_DENIED", [null]],
    ["INVALID_INPUT", [null]],
    ["AUTH_FORBIDDEN", [null]],
    ["SCHEMA_VALIDATION_FAILED", [null]],
    ["MISSING_REQUIRED_CONTEXT", [null]],
    ["TOOL_FAILED", [null]],
  ])("follows the fault: %s waits %j ms with a random value of one half", async (code, expected) => {
    const stage = newStage();
    const look = scriptedTool("look", throwsFault(code), { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "failed", steps: { a: { state: "failed_final" } } });
    expect(await pauses(run)).toEqual(expected);
    expect(look.calls.map(({ context }) => context.attempt)).toEqual(expected.map((_, index) => index + 1));
  });

  it("waits between zero and the whole backoff, by the random value, and never beyond the cap", async () => {
    const stage = newStage();
    const look = scriptedTool("look", throwsFault("RATE_LIMIT"), { effect: "reads" });
    const falls = [0, 0.999, 0.25, 0.5, 0.999, 0.999, 0.999, 0.999];
    let fall = 0;
    const dice = () => falls[fall++ % falls.length] as number;
    const tries: number[] = [];
    const engine = await stage.open({ tools: [look.tool], dice });
    const run = await engine.submit(one("look", { retries: 9 }), { principal: botAgent });
    await stage.runUntilIdle(run);
    for (const [index, pause] of (await pauses(run)).slice(0, -1).entries()) {
      const ceiling = Math.min(120_000, 2000 * 2 ** index);
      expect(pause).toBeGreaterThanOrEqual(0);
      expect(pause).toBeLessThan(ceiling);
      tries.push(pause as number);
    }
    expect(tries).toHaveLength(9);
    expect(new Set(tries).size).toBeGreaterThan(5);
  });

  it("succeeds when the fault has passed, and the result waits for it", async () => {
    const stage = newStage();
    const look = scriptedTool("look", [throwsFault("RATE_LIMIT"), throwsFault("NETWORK_TIMEOUT"), () => ({ ok: 1 })], {
      effect: "reads",
    });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    await stage.advance(0);
    expect(await run.now()).toMatchObject({
      running: true,
      final: false,
      steps: { a: { state: "failed_retryable" } },
      blocked_on: [{ step_id: "a", reason_code: "RETRYING" }],
    });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed", steps: { a: { output: { ok: 1 } } } });
    expect(look.calls).toHaveLength(3);
  });

  it("covers an ordinary error of a tool that does not act, if the tool says so", async () => {
    const stage = newStage();
    const errors: ToolBehaviour = () => {
      throw new TypeError("fetch failed");
    };
    const named = scriptedTool("named", errors, { effect: "reads", tries: 5 });
    const any = scriptedTool("any", [errors, errors, () => ({ ok: 1 })], { effect: "reads", tries: 5, retry: "any" });
    const engine = await stage.open({ tools: [named.tool, any.tool] });
    await stage.runUntilIdle(await engine.submit(one("named"), { principal: botAgent }));
    expect(named.calls).toHaveLength(1);
    const run = await engine.submit(one("any"), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({ status: "completed", steps: { a: { output: { ok: 1 } } } });
    expect(any.calls).toHaveLength(3);
  });

  it("does not repeat a model call that timed out after ten minutes", async () => {
    const stage = newStage();
    const ask = scriptedTool("ask", neverAnswers, { effect: "reads", asks: "model" });
    const engine = await stage.open({ tools: [ask.tool] });
    const run = await engine.submit(one("ask"), { principal: botAgent });
    await stage.advance(599_000);
    expect(await run.now()).toMatchObject({ running: true });
    await stage.advance(1000);
    expect(await stage.runUntilIdle(run)).toMatchObject({
      status: "failed",
      steps: { a: { state: "failed_final", fault: { code: "TOOL_TIMEOUT" } } },
    });
    expect(ask.calls).toHaveLength(1);
  });

  it("is limited by the plan, then the tool, then the fault", async () => {
    const stage = newStage();
    const look = scriptedTool("look", throwsFault("NETWORK_TIMEOUT"), { effect: "reads", tries: 2 });
    const engine = await stage.open({ tools: [look.tool] });
    await stage.runUntilIdle(await engine.submit(one("look"), { principal: botAgent }));
    expect(look.calls).toHaveLength(2);
    await stage.runUntilIdle(await engine.submit(one("look", { retries: 3 }), { principal: botAgent }));
    expect(look.calls).toHaveLength(2 + 4);
    await stage.runUntilIdle(await engine.submit(one("look", { retries: 0 }), { principal: botAgent }));
    expect(look.calls).toHaveLength(2 + 4 + 1);
  });

  it("of an unnamed fault happens only where the plan asks for it", async () => {
    const stage = newStage();
    const look = scriptedTool("look", [() => Promise.reject(new Error("odd")), () => 1], { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look", { on_failure: "retry" }), { principal: botAgent });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
  });

  it("continues after a restart, at its time and with its count", async () => {
    const stage = newStage();
    const look = scriptedTool("look", throwsFault("RATE_LIMIT"), { effect: "reads" });
    const first = await stage.open({ tools: [look.tool] });
    const run = await first.submit(one("look"), { principal: botAgent });
    await stage.advance(1500);
    expect(look.calls).toHaveLength(2);
    await stage.crash();
    const second = await stage.open({ tools: [look.tool] });
    const result = await stage.runUntilIdle(await second.run(run.run_id, { principal: botAgent }));
    expect(result.status).toBe("failed");
    expect(look.calls.map(({ context }) => context.attempt)).toEqual([1, 2, 3, 4, 5]);
  });

  it("counts from zero after a resume", async () => {
    const stage = newStage();
    const look = scriptedTool("look", throwsFault("NETWORK_TIMEOUT"), { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    await stage.runUntilIdle(run);
    await engine.resume(run.run_id, { principal: botAgent });
    await stage.runUntilIdle(run);
    expect(look.calls.map(({ context }) => context.attempt)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("does not exceed the deadline of the run", async () => {
    const stage = newStage();
    const look = scriptedTool("look", throwsFault("RATE_LIMIT"), { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent, deadlineMs: 3500 });
    await stage.runUntilIdle(run);
    expect(await pauses(run)).toEqual([1000, 2000, null]);
  });
});

describe.each(storeKinds)("failed act, on $name", ({ newFixture: newStage }) => {
  it("is retried, under the same key, only after its tool said that nothing was done", async () => {
    const stage = newStage();
    const send = scriptedTool("send", [
      throwsNotDone("RATE_LIMIT"),
      throwsNotDone("NETWORK_TIMEOUT"),
      () => ({ id: 1 }),
    ]);
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send"), { principal: botAgent });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(send.calls.map(({ context }) => context.attempt)).toEqual([1, 2, 3]);
    expect(new Set(send.calls.map(({ context }) => context.key)).size).toBe(1);
    expect(await pauses(run)).toEqual([1000, 1000]);
  });

  it.each<[string, Parameters<typeof scriptedTool>[1]]>([
    ["a fault that may pass", throwsFault("RATE_LIMIT")],
    ["an error without a name", () => Promise.reject(new Error("socket hang up"))],
    ["success: false", () => ({ success: false, error: "no" })],
  ])("is in doubt after %s, and is not retried", async (_, deed) => {
    const stage = newStage();
    const send = scriptedTool("send", deed);
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send", { retries: 5 }), { principal: botAgent });
    expect(await stage.runUntilIdle(run)).toMatchObject({
      status: "partial",
      final: false,
      steps: { a: { state: "in_doubt", fault: { code: "OUTCOME_UNKNOWN" } } },
      blocked_on: [{ step_id: "a", reason_code: "IN_DOUBT" }],
    });
    expect(send.calls).toHaveLength(1);
  });
});

describe.each(storeKinds)("timeout, on $name", ({ newFixture: newStage }) => {
  it("aborts a read and retries it", async () => {
    const stage = newStage();
    const look = scriptedTool("look", [neverAnswers, neverAnswers, () => ({ ok: 1 })], {
      effect: "reads",
      timeoutMs: 1000,
    });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    expect((await stage.runUntilIdle(run)).status).toBe("completed");
    expect(look.calls.map(({ context }) => context.signal.aborted)).toEqual([true, true, false]);
    expect((await collectEvents(run, "step.failed")).map(({ fault }) => fault.code)).toEqual([
      "TOOL_TIMEOUT",
      "TOOL_TIMEOUT",
    ]);
  });

  it("of the plan takes precedence over that of the tool", async () => {
    const stage = newStage();
    const look = scriptedTool("look", neverAnswers, { effect: "reads", timeoutMs: 60_000, tries: 1 });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look", { timeout_ms: 10 }), { principal: botAgent });
    expect((await stage.runUntilIdle(run)).steps.a).toMatchObject({ fault: { code: "TOOL_TIMEOUT" } });
  });

  it.each(["unknown", "not_done"] as const)("leaves an act in doubt, though its errors mean %s", async (errorsMean) => {
    const stage = newStage();
    const send = scriptedTool("send", neverAnswers, { timeoutMs: 1000, errorsMean });
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send"), { principal: botAgent });
    expect((await stage.runUntilIdle(run)).steps.a).toMatchObject({ state: "in_doubt" });
    expect(send.calls).toHaveLength(1);
    expect(send.calls[0]?.context.signal.aborted).toBe(true);
  });

  it("is replaced by the value of the act when it comes late", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const send = scriptedTool("send", () => answer.promise, { timeoutMs: 1000 });
    const after = scriptedTool("after", ({ input }) => input, { effect: "reads" });
    const engine = await stage.open({ tools: [send.tool, after.tool] });
    const steps = [
      { step_id: "send", name: "send" },
      { step_id: "after", name: "after", bindings: { "/id": { step: "send", path: "/id" } } },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect((await stage.runUntilIdle(run)).steps.send).toMatchObject({ state: "in_doubt" });
    answer.keep({ id: "late" });
    expect(await run.finished()).toMatchObject({
      status: "completed",
      steps: { send: { output: { id: "late" } }, after: { output: { id: "late" } } },
    });
    expect(send.calls).toHaveLength(1);
  });

  it("drops the late value of a read that was retried meanwhile", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const look = scriptedTool("look", [() => answer.promise, () => ({ from: "the second" })], {
      effect: "reads",
      timeoutMs: 100,
    });
    const engine = await stage.open({ tools: [look.tool] });
    const run = await engine.submit(one("look"), { principal: botAgent });
    expect((await stage.runUntilIdle(run)).steps.a).toMatchObject({ output: { from: "the second" } });
    const before = await stage.dump();
    answer.keep({ from: "the first" });
    await stage.advance(0);
    expect(await stage.dump()).toEqual(before);
  });

  it("keeps a late value as evidence once a person has settled the act otherwise", async () => {
    const stage = newStage();
    const answer = deferred<object>();
    const send = scriptedTool("send", () => answer.promise, { timeoutMs: 100 });
    const engine = await stage.open({ tools: [send.tool] });
    const run = await engine.submit(one("send"), { principal: botAgent });
    await stage.runUntilIdle(run);
    await engine.resolve(run.run_id, "a", { principal: anaPerson, as: "give_up", reason: "too old" });
    expect((await run.result()).status).toBe("failed");
    answer.keep({ id: "after all" });
    await stage.advance(0);
    expect(await collectEvents(run, "evidence.kept")).toMatchObject([{ step_id: "a", evidence: { id: "after all" } }]);
    expect(await run.result()).toMatchObject({ status: "failed", steps: { a: { state: "failed_final" } } });
  });
});
