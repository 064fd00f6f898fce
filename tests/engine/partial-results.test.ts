import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, deferred, scriptedTool, throwsFault, throwsNotDone } from "./scripted-tool.ts";

const reads = (name: string, output: unknown = { name }) => scriptedTool(name, () => output, { effect: "reads" });

describe.each(storeKinds)("partial result, on $name", ({ newFixture: newStage }) => {
  it("lists outputs, failures with reasons, and what to do next", async () => {
    const tools = [
      scriptedTool("summarize", () => ({ text: "birds" }), { effect: "reads" }).tool,
      scriptedTool("draft", () => ({ body: "Dear" }), { effect: "writes" }).tool,
      scriptedTool("send", throwsNotDone("AUTH_FORBIDDEN")).tool,
    ];
    const engine = await newStage().open({ tools });
    const steps = [
      { step_id: "s1", name: "summarize", outcome: { type: "Summary.Professor", status: "final" } },
      { step_id: "s2", name: "draft", depends_on: ["s1"], outcome: { type: "Draft.Email" } },
      { step_id: "s3", name: "send", depends_on: ["s2"] },
      { step_id: "s4", name: "summarize", depends_on: ["s3"] },
    ];
    const run = await engine.submit({ plan_id: "plan-1", steps }, { principal: botAgent });
    const result = await run.result();
    expect(result).toMatchObject({
      run_id: run.run_id,
      plan_id: "plan-1",
      status: "partial",
      final: true,
      outcomes: [
        { type: "Summary.Professor", status: "final", step_id: "s1" },
        { type: "Draft.Email", status: "draft", step_id: "s2" },
      ],
      failed: [{ step_id: "s3", state: "failed_final", fault: { code: "AUTH_FORBIDDEN" } }],
      blocked_on: [],
      gates: [],
    });
    expect(result.steps.s1).toEqual({ state: "succeeded", output: { text: "birds" } });
    expect(result.steps.s4).toMatchObject({ state: "skipped", fault: { code: "ABORTED" } });
    expect(result.next).toContain(`resume run ${run.run_id}`);
    expect(new Set(result.outcomes.map(({ outcome_id }) => outcome_id)).size).toBe(2);
  });

  it("is called failed when there is no output", async () => {
    const engine = await newStage().open({
      tools: [scriptedTool("draft", throwsFault("INVALID_INPUT"), { effect: "writes" }).tool],
    });
    const run = await engine.submit({ steps: [{ step_id: "a", name: "draft" }] }, { principal: botAgent });
    expect(await run.result()).toMatchObject({
      status: "failed",
      final: true,
      outcomes: [],
      failed: [{ step_id: "a" }],
    });
  });

  it("keeps steps parallel to a failure and starts nothing after it", async () => {
    const last = reads("last");
    const tools = [
      scriptedTool("bad", throwsFault("POLICY_DENIED"), { effect: "reads" }).tool,
      reads("good").tool,
      last.tool,
    ];
    const engine = await newStage().open({ tools });
    const steps = [
      { step_id: "bad", name: "bad" },
      { step_id: "good", name: "good" },
      { step_id: "last", name: "last", depends_on: ["good"] },
    ];
    const result = await (await engine.submit({ steps }, { principal: botAgent })).result();
    expect(result.steps).toMatchObject({ bad: { state: "failed_final" }, good: { state: "succeeded" } });
    expect(result).toMatchObject({ status: "partial", final: true });
  });

  it("skips a failure where the plan allows it, with only its dependents", async () => {
    const tools = [scriptedTool("bad", throwsFault("POLICY_DENIED"), { effect: "reads" }).tool, reads("good").tool];
    const engine = await newStage().open({ tools });
    const steps = [
      { step_id: "bad", name: "bad", on_failure: "skip" },
      { step_id: "behind", name: "good", depends_on: ["bad"] },
      { step_id: "behindThat", name: "good", depends_on: ["behind"] },
      { step_id: "beside", name: "good" },
    ];
    const result = await (await engine.submit({ steps }, { principal: botAgent })).result();
    expect(result.steps).toMatchObject({
      behind: { state: "skipped", fault: { code: "DEPENDENCY_FAILED" } },
      behindThat: { state: "skipped", fault: { code: "DEPENDENCY_FAILED" } },
      beside: { state: "succeeded" },
    });
    expect(result.status).toBe("partial");
  });

  it("continues after a refusal only where the plan says so", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [reads("good").tool, scriptedTool("send", () => 1).tool] });
    const submit = (on_rejected: string) =>
      engine.submit(
        {
          steps: [
            { step_id: "send", name: "send", on_rejected },
            { step_id: "after", name: "good", depends_on: ["first"] },
            { step_id: "first", kind: "wait", payload: { ms: 1000 } },
          ],
        },
        { principal: botAgent, mode: "draft_only" },
      );
    const ended = async (on_rejected: string) => {
      const run = await submit(on_rejected);
      await stage.advance(2000);
      return run.result();
    };
    const goingOn = await ended("continue");
    expect(goingOn.steps).toMatchObject({ send: { state: "rejected" }, after: { state: "succeeded" } });
    const stopped = await ended("stop");
    expect(stopped.steps).toMatchObject({ send: { state: "rejected" }, after: { state: "skipped" } });
  });

  it("completes after the cause is fixed and the run resumed, without repeating done steps", async () => {
    const good = reads("good");
    const bad = scriptedTool("bad", [throwsFault("POLICY_DENIED"), () => ({ ok: true })], { effect: "reads" });
    const engine = await newStage().open({ tools: [good.tool, bad.tool] });
    const steps = [
      { step_id: "good", name: "good" },
      { step_id: "bad", name: "bad", depends_on: ["good"] },
      { step_id: "end", name: "good", depends_on: ["bad"] },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect((await run.result()).steps.end).toMatchObject({ state: "skipped" });
    await engine.resume(run.run_id, { principal: botAgent, reason: "mended" });
    expect(await run.result()).toMatchObject({ status: "completed", failed: [], next: null });
    expect(good.calls).toHaveLength(2);
    expect(await collectEvents(run, "run.resumed")).toMatchObject([{ by: "bot", reason: "mended" }]);
    expect(await collectEvents(run, "run.ended")).toMatchObject([{ status: "partial" }, { status: "completed" }]);
  });
});

describe.each(storeKinds)("running call when a plan is ended, on $name", ({ newFixture: newStage }) => {
  const steps = [
    { step_id: "send", name: "send" },
    { step_id: "look", name: "look" },
    { step_id: "more", name: "look", payload: { n: 2 } },
    { step_id: "after", name: "look", payload: { n: 3 }, depends_on: ["look"] },
  ];

  /** A run at a gate, with a read under way and another that has no room yet. */
  async function busy() {
    const stage = newStage();
    const answer = deferred<object>();
    const look = scriptedTool("look", () => answer.promise, { effect: "reads" });
    const send = scriptedTool("send", () => ({ id: 1 }));
    const tools = [look.tool, send.tool];
    const worker = await stage.open({ tools, tenants: {}, limits: { concurrency: 1 } });
    const run = await worker.submit({ steps }, { principal: botAgent });
    await stage.advance(0);
    const [gate] = await worker.gates({ principal: anaPerson });
    return { stage, worker, run, look, answer, tools, gate: gate?.gate_id as string };
  }

  it.each([
    ["here", true],
    ["in another process", false],
  ])("ends by itself, and nothing else starts, when a person rejects %s", async (_, here) => {
    const { stage, worker, run, look, answer, tools, gate } = await busy();
    const decides = here ? worker : await stage.open({ tools, work: false });
    await decides.reject(gate, { principal: anaPerson });
    await stage.advance(2000);
    expect((await run.now()).final).toBe(false);
    answer.keep({ page: "birds" });
    const result = await stage.runUntilIdle(run);
    expect(result).toMatchObject({ status: "partial", final: true });
    expect(result.steps).toMatchObject({
      send: { state: "rejected" },
      look: { state: "succeeded", output: { page: "birds" } },
      more: { state: "skipped", fault: { code: "ABORTED" } },
      after: { state: "skipped" },
    });
    expect(look.calls).toHaveLength(1);
  });

  it("is left to the next worker when no worker has the run, and then nothing starts", async () => {
    const { stage, run, look, tools, gate } = await busy();
    await stage.crash();
    const office = await stage.open({ tools, work: false });
    await office.reject(gate, { principal: anaPerson });
    const next = await stage.open({ tools });
    const result = await stage.runUntilIdle(await next.run(run.run_id, { principal: botAgent }));
    expect(result).toMatchObject({ status: "failed", final: true, steps: { look: { state: "skipped" } } });
    expect(look.calls).toHaveLength(1);
  });
});
