import { describe, expect, it } from "vitest";
import type { RunResult } from "../../src/core/run/run-result.ts";
import type { Entry, Store } from "../../src/core/store/store.ts";
import type { RunId, StepId } from "../../src/core/values/ids.ts";
import type { RunHandle } from "../../src/engine/api/engine-api.ts";
import { childRunId as derived } from "../../src/engine/call/child-run-port.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import {
  collectEvents,
  deferred,
  neverAnswers,
  rejectedFault,
  scriptedTool,
  type ToolBehaviour,
  throwsNotDone,
} from "./scripted-tool.ts";

const child = (name = "look", more: object = {}) => ({ steps: [{ step_id: "in", name, ...more }] });
const asking = (plan: object, more: object = {}) => ({
  steps: [
    { step_id: "ask", kind: "run", payload: { plan }, ...more },
    { step_id: "next", name: "note", payload: {}, bindings: { "/got": { step: "ask", path: "/outputs" } } },
  ],
});
const note = () => scriptedTool("note", ({ input }) => input, { effect: "reads" });
const looks = (deed: ToolBehaviour | readonly ToolBehaviour[] = () => "seen") =>
  scriptedTool("look", deed, { effect: "reads" });

/** Whether it was waited for or had ended before that, it has the name that can be derived. */
const childOf = (run: RunHandle): string => derived(run.run_id as RunId, "ask" as StepId);

/** Lets time pass until the run has ended: one that waits for another is at rest. */
async function ended(stage: EngineFixture, run: RunHandle): Promise<RunResult> {
  for (let passed = 0; passed < 60 && !(await run.now()).final; passed += 1) await stage.advance(500);
  return run.now();
}

describe.each(storeKinds)("step that starts a child run, on $name", ({ newFixture: newStage }) => {
  it("returns the outputs of the child's last steps to later steps", async () => {
    const stage = newStage();
    const look = looks();
    const engine = await stage.open({ tools: [look.tool, note().tool] });
    const run = await engine.submit(asking(child()), { principal: botAgent });
    expect(await ended(stage, run)).toMatchObject({
      status: "completed",
      steps: {
        ask: { output: { status: "completed", outputs: { in: "seen" } } },
        next: { output: { got: { in: "seen" } } },
      },
    });
    const id = childOf(run);
    expect(id.startsWith(`${run.run_id}-`)).toBe(true);
    const born = await engine.run(id, { principal: botAgent });
    expect(await collectEvents(born, "run.accepted")).toMatchObject([
      { parent: { run_id: run.run_id, step_id: "ask", depth: 1 }, principal: { id: "bot" }, mode: "auto_exec" },
    ]);
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("starts the child once, though the worker dies before the start is recorded", async () => {
    const stage = newStage();
    const look = looks();
    const first = await stage.open({
      tools: [look.tool, note().tool],
      failpoint: (point) => {
        if (point === "accept.after" && accepted++ === 1) void stage.crash();
      },
    });
    let accepted = 0;
    const { run_id } = await first.submit(asking(child()), { principal: botAgent });
    await stage.advance(100);
    await stage.crash();
    const second = await stage.open({ tools: [look.tool, note().tool] });
    const run = await second.run(run_id, { principal: botAgent });
    expect(await ended(stage, run)).toMatchObject({ status: "completed" });
    expect(await second.runs({ principal: anaPerson })).toHaveLength(2);
    expect(look.calls).toHaveLength(1);
  });

  it("shows its child and continues though both workers die", async () => {
    const stage = newStage();
    const look = looks([neverAnswers, () => "seen"]);
    const first = await stage.open({ tools: [look.tool, note().tool] });
    const started = await first.submit(asking(child()), { principal: botAgent });
    await stage.advance(100);
    const id = childOf(started);
    expect(await started.now()).toMatchObject({ blocked_on: [{ reason_code: "WAITING_FOR_RUN", run_id: id }] });
    await stage.crash();
    const second = await stage.open({ tools: [look.tool, note().tool] });
    const run = await second.run(started.run_id, { principal: botAgent });
    await stage.advance(5000);
    expect(await run.result()).toMatchObject({ status: "completed" });
  });

  it("fails with the child's fault, and resuming it resumes the child", async () => {
    const stage = newStage();
    const look = looks([throwsNotDone("POLICY_DENIED"), () => "seen"]);
    const engine = await stage.open({ tools: [look.tool, note().tool] });
    const run = await engine.submit(asking(child()), { principal: botAgent });
    const failed = await ended(stage, run);
    expect(failed).toMatchObject({
      status: "failed",
      steps: { ask: { state: "failed_final", fault: { code: "CHILD_FAILED", detail: { status: "failed" } } } },
    });
    expect(JSON.stringify(failed.steps.ask)).toContain("POLICY_DENIED");
    await engine.resume(run.run_id, { principal: anaPerson });
    expect(await ended(stage, run)).toMatchObject({ status: "completed" });
    expect(await engine.runs({ principal: anaPerson })).toHaveLength(2);
  });

  it("returns a large output up to the limit, and asking again does not change that", async () => {
    const stage = newStage();
    const look = looks(({ input }) => "x".repeat((input as { readonly much: number }).much));
    const engine = await stage.open({ tools: [look.tool, note().tool], limits: { outputBytes: 300_000 } });
    const much = (...lengths: readonly number[]) => ({
      steps: lengths.map((length, at) => ({ step_id: `s${at}`, name: "look", payload: { much: length } })),
    });
    const fits = await engine.submit(asking(much(100_000, 150_000)), { principal: botAgent });
    expect((await ended(stage, fits)).steps.ask).toMatchObject({ output: { outputs: { s1: "x".repeat(150_000) } } });
    const run = await engine.submit(asking(much(200_000, 150_000)), { principal: botAgent });
    const fault = { code: "LIMIT_EXCEEDED", message: expect.stringContaining("300000 bytes") };
    expect((await ended(stage, run)).steps.ask).toMatchObject({ state: "failed_final", fault });
    await engine.resume(run.run_id, { principal: anaPerson });
    expect((await ended(stage, run)).steps.ask).toMatchObject({ fault: { code: "LIMIT_EXCEEDED" } });
    expect((await engine.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("sees a child that a person fixed meanwhile", async () => {
    const stage = newStage();
    const look = looks([throwsNotDone("POLICY_DENIED"), () => "seen"]);
    const engine = await stage.open({ tools: [look.tool, note().tool] });
    const run = await engine.submit(asking(child()), { principal: botAgent });
    await ended(stage, run);
    await (await engine.resume(childOf(run), { principal: anaPerson })).result();
    await stage.advance(1000);
    await engine.resume(run.run_id, { principal: anaPerson });
    expect(await ended(stage, run)).toMatchObject({ status: "completed" });
    expect(look.calls).toHaveLength(2);
  });

  it("is resumed with its child, though the worker that reported the child's end died", async () => {
    const stage = newStage();
    const awaited = deferred<void>();
    const look = looks([(called) => awaited.promise.then(() => throwsNotDone("POLICY_DENIED")(called)), () => "seen"]);
    const tools = [look.tool, note().tool];
    let told = 0;
    const first = await stage.open({
      tools,
      failpoint: (point) => {
        if (point === "notice.after" && told++ === 0) void stage.crash();
      },
    });
    const asked = await first.submit(asking(child()), { principal: botAgent });
    const { run_id } = asked;
    // Before the end of the other: what comes before anyone waits for it is kept, and told only by the next worker.
    while ((await asked.now()).steps.ask?.state !== "waiting") await stage.advance(100);
    awaited.keep();
    for (let passed = 0; passed < 60 && told === 0; passed += 1) await stage.advance(500);
    expect(told).toBe(1);
    await stage.crash();
    const looking = await stage.open({ tools, work: false });
    expect(await (await looking.run(run_id, { principal: botAgent })).now()).toMatchObject({ status: "failed" });
    await looking.resume(run_id, { principal: anaPerson });
    await stage.crash();
    const second = await stage.open({ tools });
    const run = await second.run(run_id, { principal: botAgent });
    expect(await ended(stage, run)).toMatchObject({ status: "completed" });
  });

  it("is cancelled with all of its descendants", async () => {
    const stage = newStage();
    const look = looks(neverAnswers);
    const engine = await stage.open({ tools: [look.tool, note().tool] });
    const run = await engine.submit(asking(asking(child())), { principal: botAgent });
    await stage.advance(1000);
    expect(look.calls).toHaveLength(1);
    await run.cancel({ reason: "never mind" });
    await stage.advance(1000);
    const all = await engine.runs({ principal: anaPerson });
    expect(all.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "cancelled"]);
    expect(look.calls[0]?.context.signal.aborted).toBe(true);
  });

  it("cancels a child that is being started when the cancel arrives", async () => {
    const stage = newStage();
    const look = looks(neverAnswers);
    const store = stage.store();
    const [asked, go] = [deferred<void>(), deferred<void>()];
    let isFirst = true;
    const append: Store["append"] = async (entries) => {
      if (isFirst && entries.some(({ run, expect: { position } }) => run.includes("-") && position === 0)) {
        isFirst = false;
        asked.keep();
        await go.promise;
      }
      return store.append(entries);
    };
    const engine = await stage.open({ tools: [look.tool, note().tool], store: { ...store, append } });
    const run = await engine.submit(asking(child()), { principal: botAgent });
    await asked.promise;
    await run.cancel({});
    await stage.advance(1000);
    expect(await collectEvents(run, "notice.delivered")).toHaveLength(1);
    go.keep();
    await stage.advance(5000);
    expect(await engine.runs({ principal: anaPerson, status: "cancelled" })).toHaveLength(2);
  });

  it("leaves no child behind that was being started when its worker died", async () => {
    const stage = newStage();
    const look = looks(neverAnswers);
    const store = stage.store();
    const asked = deferred<readonly Entry[]>();
    const append: Store["append"] = (entries) => {
      const born = entries.some(({ run, expect: { position } }) => run.includes("-") && position === 0);
      if (born) asked.keep(entries);
      return born ? new Promise(() => {}) : store.append(entries);
    };
    const first = await stage.open({ tools: [look.tool, note().tool], store: { ...store, append } });
    const { run_id } = await first.submit(asking(child()), { principal: botAgent });
    const late = await asked.promise;
    const looking = await stage.open({ tools: [], work: false });
    await (await looking.run(run_id, { principal: anaPerson })).cancel({});
    await stage.crash();
    const second = await stage.open({ tools: [look.tool, note().tool] });
    await stage.advance(1000);
    expect(await stage.store().append(late)).toMatchObject([{ landed: false, why: "position" }]);
    await stage.advance(30_000);
    const all = await second.runs({ principal: anaPerson });
    expect(all.map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
    expect(look.calls).toHaveLength(0);
    expect((await second.audit({ principal: anaPerson })).broken).toEqual([]);
  });

  it("is cancelled with its child, though no worker was there to deliver it", async () => {
    const stage = newStage();
    const look = looks(neverAnswers);
    const first = await stage.open({ tools: [look.tool, note().tool] });
    const { run_id } = await first.submit(asking(child()), { principal: botAgent });
    await stage.advance(100);
    await stage.crash();
    const looking = await stage.open({ tools: [], work: false });
    await (await looking.run(run_id, { principal: anaPerson })).cancel({});
    expect(await looking.runs({ principal: anaPerson, status: "cancelled" })).toHaveLength(1);
    await stage.crash();
    const second = await stage.open({ tools: [look.tool, note().tool] });
    await stage.advance(5000);
    expect(await second.runs({ principal: anaPerson, status: "cancelled" })).toHaveLength(2);
  });

  it("starts no child if its condition does not hold", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [looks().tool, note().tool] });
    const condition = { step: "first", path: "", operator: "eq", value: "no" };
    const steps = [
      { step_id: "first", name: "look" },
      { step_id: "ask", kind: "run", payload: { plan: child() }, preconditions: [condition] },
    ];
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect((await ended(stage, run)).steps.ask).toMatchObject({ state: "rejected" });
    expect(await engine.runs({ principal: anaPerson })).toHaveLength(1);
  });

  it("is rejected with every reason if the child's plan is invalid", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [note().tool] });
    const run = await engine.submit(asking(child("nobody")), { principal: botAgent });
    const { steps } = await ended(stage, run);
    expect(steps.ask).toMatchObject({ state: "rejected", fault: { code: "PLAN_INVALID" } });
    expect(JSON.stringify(steps.ask)).toContain("nobody");
  });

  it("starts no child beyond the depth limit", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [looks().tool, note().tool], limits: { childDepth: 1 } });
    const run = await engine.submit(asking(asking(child())), { principal: botAgent });
    const { steps } = await ended(stage, run);
    expect(JSON.stringify(steps.ask)).toContain("LIMIT_EXCEEDED");
  });

  it("can be created by a handler and is then a step of its own", async () => {
    const stage = newStage();
    const look = looks();
    const plan = scriptedTool("plan", ({ context }) => context.child(child()) ?? 1, { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool, plan.tool] });
    const run = await engine.submit({ steps: [{ step_id: "a", name: "plan" }] }, { principal: botAgent });
    expect(await ended(stage, run)).toMatchObject({
      status: "completed",
      steps: { "a.1": { output: { outputs: { in: "seen" } } } },
    });
  });

  it("accepts a child's end only from its child run", async () => {
    const stage = newStage();
    const seen = deferred<string>();
    const engine = await stage.open({ tools: [looks(() => seen.promise).tool, note().tool] });
    const run = await engine.submit(asking(child()), { principal: botAgent });
    await stage.advance(100);
    const forged = engine.signal(`run:${childOf(run)}`, { status: "completed" }, { principal: anaPerson });
    expect(await rejectedFault(forged)).toMatchObject({ code: "INVALID_INPUT" });
    const waiting = { steps: [{ step_id: "w", kind: "wait", payload: { signal: "run:x" } }] };
    expect(await rejectedFault(engine.submit(waiting, { principal: botAgent }))).toMatchObject({
      code: "PLAN_INVALID",
    });
    seen.keep("seen");
    expect(await ended(stage, run)).toMatchObject({ status: "completed" });
  });

  it("starts no child in a simulation", async () => {
    const stage = newStage();
    const look = looks();
    const engine = await stage.open({ tools: [look.tool, note().tool] });
    const { steps } = await engine.simulate(asking(child()), { principal: botAgent });
    expect(steps.ask).toMatchObject({ would: "unknown" });
    expect(look.calls).toHaveLength(0);
    expect(await engine.runs({ principal: anaPerson })).toEqual([]);
  });
});
