import { describe, expect, it } from "vitest";
import type { RunId, StepId } from "../../src/core/id.ts";
import type { RunResult } from "../../src/core/result.ts";
import type { Entry, Store } from "../../src/core/store.ts";
import type { RunHandle } from "../../src/engine/api.ts";
import { childOf as derived } from "../../src/engine/road/kin.ts";
import { actor, type Deed, eventsOf, faultOf, hang, promised, says } from "./cast.ts";
import { ana, bot, places, type Stage } from "./stage.ts";

const child = (name = "look", more: object = {}) => ({ steps: [{ step_id: "in", name, ...more }] });
const asking = (plan: object, more: object = {}) => ({
  steps: [
    { step_id: "ask", kind: "run", payload: { plan }, ...more },
    { step_id: "next", name: "note", payload: {}, bindings: { "/got": { step: "ask", path: "/outputs" } } },
  ],
});
const note = () => actor("note", ({ input }) => input, { effect: "reads" });
const looks = (deed: Deed | readonly Deed[] = () => "seen") => actor("look", deed, { effect: "reads" });

/** Whether it was waited for or had ended before that, it has the name that can be derived. */
const childOf = (run: RunHandle): string => derived(run.run_id as RunId, "ask" as StepId);

/** Lets time pass until the run has ended: one that waits for another is at rest. */
async function ended(stage: Stage, run: RunHandle): Promise<RunResult> {
  for (let passed = 0; passed < 60 && !(await run.now()).final; passed += 1) await stage.pass(500);
  return run.now();
}

describe.each(places)("a step that asks for another run, on $name", ({ newStage }) => {
  it("has what that run's last steps answered, and what comes after builds on it", async () => {
    const stage = newStage();
    const look = looks();
    const engine = await stage.open({ tools: [look.tool, note().tool] });
    const run = await engine.submit(asking(child()), { principal: bot });
    expect(await ended(stage, run)).toMatchObject({
      status: "completed",
      steps: {
        ask: { output: { status: "completed", outputs: { in: "seen" } } },
        next: { output: { got: { in: "seen" } } },
      },
    });
    const id = childOf(run);
    expect(id.startsWith(`${run.run_id}-`)).toBe(true);
    const born = await engine.run(id, { principal: bot });
    expect(await eventsOf(born, "run.accepted")).toMatchObject([
      { parent: { run_id: run.run_id, step_id: "ask", depth: 1 }, principal: { id: "bot" }, mode: "auto_exec" },
    ]);
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });

  it("is asked for once, though whoever asks dies after asking and before it is on record", async () => {
    const stage = newStage();
    const look = looks();
    const first = await stage.open({
      tools: [look.tool, note().tool],
      failpoint: (point) => {
        if (point === "accept.after" && accepted++ === 1) void stage.crash();
      },
    });
    let accepted = 0;
    const { run_id } = await first.submit(asking(child()), { principal: bot });
    await stage.pass(100);
    await stage.crash();
    const second = await stage.open({ tools: [look.tool, note().tool] });
    const run = await second.run(run_id, { principal: bot });
    expect(await ended(stage, run)).toMatchObject({ status: "completed" });
    expect(await second.runs({ principal: ana })).toHaveLength(2);
    expect(look.calls).toHaveLength(1);
  });

  it("shows what it waits for, and goes on though the one that asked and the one that was asked died", async () => {
    const stage = newStage();
    const look = looks([hang, () => "seen"]);
    const first = await stage.open({ tools: [look.tool, note().tool] });
    const started = await first.submit(asking(child()), { principal: bot });
    await stage.pass(100);
    const id = childOf(started);
    expect(await started.now()).toMatchObject({ blocked_on: [{ reason_code: "WAITING_FOR_RUN", run_id: id }] });
    await stage.crash();
    const second = await stage.open({ tools: [look.tool, note().tool] });
    const run = await second.run(started.run_id, { principal: bot });
    await stage.pass(5000);
    expect(await run.result()).toMatchObject({ status: "completed" });
  });

  it("fails with what that run failed of, and resuming it resumes that run", async () => {
    const stage = newStage();
    const look = looks([says("POLICY_DENIED"), () => "seen"]);
    const engine = await stage.open({ tools: [look.tool, note().tool] });
    const run = await engine.submit(asking(child()), { principal: bot });
    const failed = await ended(stage, run);
    expect(failed).toMatchObject({
      status: "failed",
      steps: { ask: { state: "failed_final", fault: { code: "CHILD_FAILED", detail: { status: "failed" } } } },
    });
    expect(JSON.stringify(failed.steps.ask)).toContain("POLICY_DENIED");
    await engine.resume(run.run_id, { principal: ana });
    expect(await ended(stage, run)).toMatchObject({ status: "completed" });
    expect(await engine.runs({ principal: ana })).toHaveLength(2);
  });

  it("has much of it, but not more than an output may have, and asking again does not change that", async () => {
    const stage = newStage();
    const look = looks(({ input }) => "x".repeat((input as { readonly much: number }).much));
    const engine = await stage.open({ tools: [look.tool, note().tool], limits: { outputBytes: 300_000 } });
    const much = (...lengths: readonly number[]) => ({
      steps: lengths.map((length, at) => ({ step_id: `s${at}`, name: "look", payload: { much: length } })),
    });
    const fits = await engine.submit(asking(much(100_000, 150_000)), { principal: bot });
    expect((await ended(stage, fits)).steps.ask).toMatchObject({ output: { outputs: { s1: "x".repeat(150_000) } } });
    const run = await engine.submit(asking(much(200_000, 150_000)), { principal: bot });
    const fault = { code: "LIMIT_EXCEEDED", message: expect.stringContaining("300000 bytes") };
    expect((await ended(stage, run)).steps.ask).toMatchObject({ state: "failed_final", fault });
    await engine.resume(run.run_id, { principal: ana });
    expect((await ended(stage, run)).steps.ask).toMatchObject({ fault: { code: "LIMIT_EXCEEDED" } });
    expect((await engine.audit({ principal: ana })).broken).toEqual([]);
  });

  it("hears of a run that a person mended meanwhile", async () => {
    const stage = newStage();
    const look = looks([says("POLICY_DENIED"), () => "seen"]);
    const engine = await stage.open({ tools: [look.tool, note().tool] });
    const run = await engine.submit(asking(child()), { principal: bot });
    await ended(stage, run);
    await (await engine.resume(childOf(run), { principal: ana })).result();
    await stage.pass(1000);
    await engine.resume(run.run_id, { principal: ana });
    expect(await ended(stage, run)).toMatchObject({ status: "completed" });
    expect(look.calls).toHaveLength(2);
  });

  it("is resumed with that run, though whoever told of its end died before that was on record", async () => {
    const stage = newStage();
    const awaited = promised<void>();
    const look = looks([(called) => awaited.promise.then(() => says("POLICY_DENIED")(called)), () => "seen"]);
    const tools = [look.tool, note().tool];
    let told = 0;
    const first = await stage.open({
      tools,
      failpoint: (point) => {
        if (point === "notice.after" && told++ === 0) void stage.crash();
      },
    });
    const asked = await first.submit(asking(child()), { principal: bot });
    const { run_id } = asked;
    // Before the end of the other: what comes before anyone waits for it is kept, and told only by the next worker.
    while ((await asked.now()).steps.ask?.state !== "waiting") await stage.pass(100);
    awaited.keep();
    for (let passed = 0; passed < 60 && told === 0; passed += 1) await stage.pass(500);
    expect(told).toBe(1);
    await stage.crash();
    const looking = await stage.open({ tools, work: false });
    expect(await (await looking.run(run_id, { principal: bot })).now()).toMatchObject({ status: "failed" });
    await looking.resume(run_id, { principal: ana });
    await stage.crash();
    const second = await stage.open({ tools });
    const run = await second.run(run_id, { principal: bot });
    expect(await ended(stage, run)).toMatchObject({ status: "completed" });
  });

  it("is cancelled with all that it asked for, however deep", async () => {
    const stage = newStage();
    const look = looks(hang);
    const engine = await stage.open({ tools: [look.tool, note().tool] });
    const run = await engine.submit(asking(asking(child())), { principal: bot });
    await stage.pass(1000);
    expect(look.calls).toHaveLength(1);
    await run.cancel({ reason: "never mind" });
    await stage.pass(1000);
    const all = await engine.runs({ principal: ana });
    expect(all.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "cancelled"]);
    expect(look.calls[0]?.context.signal.aborted).toBe(true);
  });

  it("takes back what was on its way when the word came that it is cancelled", async () => {
    const stage = newStage();
    const look = looks(hang);
    const store = stage.store();
    const [asked, go] = [promised<void>(), promised<void>()];
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
    const run = await engine.submit(asking(child()), { principal: bot });
    await asked.promise;
    await run.cancel({});
    await stage.pass(1000);
    expect(await eventsOf(run, "notice.delivered")).toHaveLength(1);
    go.keep();
    await stage.pass(5000);
    expect(await engine.runs({ principal: ana, status: "cancelled" })).toHaveLength(2);
  });

  it("leaves nothing behind that was on its way when it was cancelled and its worker died", async () => {
    const stage = newStage();
    const look = looks(hang);
    const store = stage.store();
    const asked = promised<readonly Entry[]>();
    const append: Store["append"] = (entries) => {
      const born = entries.some(({ run, expect: { position } }) => run.includes("-") && position === 0);
      if (born) asked.keep(entries);
      return born ? new Promise(() => {}) : store.append(entries);
    };
    const first = await stage.open({ tools: [look.tool, note().tool], store: { ...store, append } });
    const { run_id } = await first.submit(asking(child()), { principal: bot });
    const late = await asked.promise;
    const looking = await stage.open({ tools: [], work: false });
    await (await looking.run(run_id, { principal: ana })).cancel({});
    await stage.crash();
    const second = await stage.open({ tools: [look.tool, note().tool] });
    await stage.pass(1000);
    expect(await stage.store().append(late)).toMatchObject([{ landed: false, why: "position" }]);
    await stage.pass(30_000);
    const all = await second.runs({ principal: ana });
    expect(all.map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
    expect(look.calls).toHaveLength(0);
    expect((await second.audit({ principal: ana })).broken).toEqual([]);
  });

  it("is cancelled with what it asked for, though nobody was there to carry the word", async () => {
    const stage = newStage();
    const look = looks(hang);
    const first = await stage.open({ tools: [look.tool, note().tool] });
    const { run_id } = await first.submit(asking(child()), { principal: bot });
    await stage.pass(100);
    await stage.crash();
    const looking = await stage.open({ tools: [], work: false });
    await (await looking.run(run_id, { principal: ana })).cancel({});
    expect(await looking.runs({ principal: ana, status: "cancelled" })).toHaveLength(1);
    await stage.crash();
    const second = await stage.open({ tools: [look.tool, note().tool] });
    await stage.pass(5000);
    expect(await second.runs({ principal: ana, status: "cancelled" })).toHaveLength(2);
  });

  it("asks for nothing that it may not: a condition that does not hold starts no run", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [looks().tool, note().tool] });
    const condition = { step: "first", path: "", operator: "eq", value: "no" };
    const steps = [
      { step_id: "first", name: "look" },
      { step_id: "ask", kind: "run", payload: { plan: child() }, preconditions: [condition] },
    ];
    const run = await engine.submit({ steps }, { principal: bot });
    expect((await ended(stage, run)).steps.ask).toMatchObject({ state: "rejected" });
    expect(await engine.runs({ principal: ana })).toHaveLength(1);
  });

  it("is rejected, with every reason, if the plan it asks for is none", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [note().tool] });
    const run = await engine.submit(asking(child("nobody")), { principal: bot });
    const { steps } = await ended(stage, run);
    expect(steps.ask).toMatchObject({ state: "rejected", fault: { code: "PLAN_INVALID" } });
    expect(JSON.stringify(steps.ask)).toContain("nobody");
  });

  it("asks for no run below more others than may be", async () => {
    const stage = newStage();
    const engine = await stage.open({ tools: [looks().tool, note().tool], limits: { childDepth: 1 } });
    const run = await engine.submit(asking(asking(child())), { principal: bot });
    const { steps } = await ended(stage, run);
    expect(JSON.stringify(steps.ask)).toContain("LIMIT_EXCEEDED");
  });

  it("can be left by a handler, and is then a step of its own", async () => {
    const stage = newStage();
    const look = looks();
    const plan = actor("plan", ({ context }) => context.child(child()) ?? 1, { effect: "reads" });
    const engine = await stage.open({ tools: [look.tool, plan.tool] });
    const run = await engine.submit({ steps: [{ step_id: "a", name: "plan" }] }, { principal: bot });
    expect(await ended(stage, run)).toMatchObject({
      status: "completed",
      steps: { "a.1": { output: { outputs: { in: "seen" } } } },
    });
  });

  it("believes nobody else that its run has ended", async () => {
    const stage = newStage();
    const seen = promised<string>();
    const engine = await stage.open({ tools: [looks(() => seen.promise).tool, note().tool] });
    const run = await engine.submit(asking(child()), { principal: bot });
    await stage.pass(100);
    const forged = engine.signal(`run:${childOf(run)}`, { status: "completed" }, { principal: ana });
    expect(await faultOf(forged)).toMatchObject({ code: "INVALID_INPUT" });
    const waiting = { steps: [{ step_id: "w", kind: "wait", payload: { signal: "run:x" } }] };
    expect(await faultOf(engine.submit(waiting, { principal: bot }))).toMatchObject({ code: "PLAN_INVALID" });
    seen.keep("seen");
    expect(await ended(stage, run)).toMatchObject({ status: "completed" });
  });

  it("starts no run in a rehearsal", async () => {
    const stage = newStage();
    const look = looks();
    const engine = await stage.open({ tools: [look.tool, note().tool] });
    const { steps } = await engine.simulate(asking(child()), { principal: bot });
    expect(steps.ask).toMatchObject({ would: "unknown" });
    expect(look.calls).toHaveLength(0);
    expect(await engine.runs({ principal: ana })).toEqual([]);
  });
});
