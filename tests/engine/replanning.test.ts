import { describe, expect, it } from "vitest";
import type { PlanInput } from "../../src/core/plan/plan-input.ts";
import type { ReplanContext } from "../../src/core/run/replan-context.ts";
import { defineReplanner, type ReplanAnswer } from "../../src/schema/define-replanner.ts";
import { kvSlice } from "../../src/schema/kv-slice.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectEvents, collectJournal, scriptedTool, throwsFault } from "./scripted-tool.ts";

/** A replanner that gives these answers in turn; the last is repeated. It records what it was told. */
function scriptedReplanner(...answers: readonly (() => ReplanAnswer | Promise<ReplanAnswer>)[]) {
  const asked: ReplanContext[] = [];
  const tool = defineReplanner({
    name: "planner",
    timeoutMs: 1000,
    replan: (context) => {
      asked.push(context);
      return (answers[Math.min(asked.length, answers.length) - 1] as () => ReplanAnswer)();
    },
  });
  return { tool, asked };
}

const lookup = () => scriptedTool("lookup", ({ input }) => `found ${input.what}`, { effect: "reads" });
const broken = () => scriptedTool("broken", throwsFault("POLICY_DENIED"), { effect: "reads" });
const mailer = (more: Parameters<typeof scriptedTool>[2] = {}) => scriptedTool("mail", () => ({ sent: true }), more);

const find = { step_id: "find", name: "lookup", payload: { what: "tea" } };
const fails = { step_id: "order", name: "broken", depends_on: ["find"] };
const other: PlanInput = {
  steps: [{ step_id: "again", name: "lookup", bindings: { "/what": { step: "find", path: "" } } }],
};
const by = { principal: botAgent } as const;

describe.each(storeKinds)("a run whose plan fails, on $name", ({ newFixture }) => {
  it("continues with the plan of its replanner, which uses what has succeeded: one run on record", async () => {
    const replanner = scriptedReplanner(() => other);
    const engine = await newFixture().open({ tools: [lookup().tool, broken().tool, replanner.tool] });
    const run = await engine.submit({ plan_id: "tea", steps: [find, fails] }, { ...by, replan: { by: "planner" } });
    const result = await run.finished();
    expect(result).toMatchObject({ status: "completed", failed: [], replanned: { plans: 2, asked: 1 } });
    expect(result.steps.again?.output).toBe("found found tea");
    expect(replanner.asked).toMatchObject([
      {
        run_id: run.run_id,
        plan_id: "tea",
        attempt: 1,
        attempts_left: 0,
        failed: [{ step_id: "order", tool: "broken", state: "failed_final", fault: { code: "POLICY_DENIED" } }],
        succeeded: [{ step_id: "find", tool: "lookup", output: "found tea" }],
      },
    ]);
    const [replanned] = await collectEvents(run, "run.replanned");
    expect(replanned).toMatchObject({ answer_of: "replan.1", plan: { steps: [{ step_id: "again" }] } });
    expect((await run.transcript()).map(({ step_id }) => step_id)).toEqual(["find", "order", "replan.1", "again"]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [], tallies: [] });
  });

  it("reports steps that a rule refused, and nothing of other tenants or runs", async () => {
    const replanner = scriptedReplanner(() => null);
    const engine = await newFixture().open({ tools: [lookup().tool, mailer().tool, replanner.tool] });
    const principal = { ...botAgent, capabilities: [{ tools: { deny: ["mail"] } }] };
    await (await engine.submit({ steps: [find] }, { principal: { ...botAgent, tenant: "rival" } })).finished();
    const steps = [{ step_id: "tell", name: "mail", payload: { to: "ana" } }];
    const run = await engine.submit({ steps }, { principal, replan: { by: "planner" } });
    expect(await run.finished()).toMatchObject({ status: "failed" });
    const [told] = replanner.asked;
    expect(told).toMatchObject({ failed: [{ step_id: "tell", state: "rejected", input: { to: "ana" } }] });
    expect(JSON.parse(JSON.stringify(told))).toEqual(told);
    expect(told?.succeeded).toEqual([]);
  });

  it("waits the delay, and the time, the cancellation and the deadline cover all plans", async () => {
    const stage = newFixture();
    const replanner = scriptedReplanner(() => other);
    const engine = await stage.open({ tools: [lookup().tool, broken().tool, replanner.tool] });
    const submit = (more: object) =>
      engine.submit({ steps: [find, fails] }, { ...by, replan: { by: "planner", delayMs: 5000 }, ...more });
    const late = await submit({ deadlineMs: 4000 });
    const given = await submit({});
    const run = await submit({});
    await stage.advance(0);
    expect(await run.now()).toMatchObject({
      final: false,
      blocked_on: [{ step_id: "replan.1", reason_code: "WAITING_FOR_TIME" }],
    });
    await given.cancel();
    await stage.advance(4999);
    expect(replanner.asked).toEqual([]);
    await stage.advance(1);
    expect(await run.finished()).toMatchObject({ status: "completed" });
    expect(await given.finished()).toMatchObject({ status: "cancelled" });
    expect(await late.finished()).toMatchObject({ steps: { "replan.1": { fault: { code: "DEADLINE_EXCEEDED" } } } });
    expect(replanner.asked.length).toBe(1);
  });

  it("uses its fallback plans first, without a question, and gives a taken id another name", async () => {
    const replanner = scriptedReplanner(() => other);
    const look = lookup();
    const engine = await newFixture().open({ tools: [look.tool, broken().tool, replanner.tool] });
    const second = { steps: [{ ...find, payload: { what: "milk" } }, fails] };
    const third = { steps: [{ ...find, payload: { what: "rum" } }] };
    const run = await engine.submit(
      { steps: [find, fails] },
      { ...by, fallbacks: [second, third], replan: { by: "planner" } },
    );
    const result = await run.finished();
    expect(result).toMatchObject({ status: "completed", replanned: { plans: 3, asked: 0 } });
    expect(result.steps).toMatchObject({
      "order@2": { state: "failed_final" },
      "find@3": { output: "found rum" },
    });
    expect(look.calls.map(({ input }) => input.what)).toEqual(["tea", "milk", "rum"]);
    expect(replanner.asked).toEqual([]);
  });

  it("starts the next plan from the state as its steps have left it, and the report names its version", async () => {
    const told: (number | null)[] = [];
    const put = (value: number) => ({ step_id: "set", kind: "state_write", payload: { path: "/kv/n", value } });
    const read = { step_id: "n", kind: "state_read", payload: { path: "/kv/n" } } as const;
    const tool = defineReplanner({
      name: "planner",
      replan: ({ state }) => {
        told.push(state.version);
        return { steps: [read] };
      },
    });
    const engine = await newFixture().open({ tools: [broken().tool, tool], slices: [kvSlice] });
    const stops = { step_id: "order", name: "broken", depends_on: ["set"] };
    const options = { ...by, project: "p", replan: { by: "planner" } };
    const run = await engine.submit({ steps: [put(3), stops] }, options);
    expect(await run.finished()).toMatchObject({ status: "completed", steps: { n: { output: 3 } } });
    expect(told).toEqual([1]);
  });

  it("has one budget for all its plans", async () => {
    const replanner = scriptedReplanner(() => other);
    const look = lookup();
    const budgets = [{ unit: "calls", per: "run", limit: 3 }] as const;
    const engine = await newFixture().open({ tools: [look.tool, broken().tool, replanner.tool], budgets });
    const run = await engine.submit({ steps: [find, fails] }, { ...by, replan: { by: "planner" } });
    expect(await run.finished()).toMatchObject({
      status: "partial",
      steps: { again: { state: "rejected", fault: { code: "BUDGET_EXCEEDED" } } },
    });
    expect(look.calls.length).toBe(1);
  });

  it("is forked with the plan in force and the earlier steps that it uses", async () => {
    const replanner = scriptedReplanner(() => other);
    const [look, old] = [lookup(), broken()];
    const engine = await newFixture().open({ tools: [look.tool, old.tool, replanner.tool], slices: [kvSlice] });
    const run = await engine.submit({ steps: [find, fails] }, { ...by, replan: { by: "planner" } });
    await run.finished();
    const at = { runId: run.run_id, stepId: "again", side: "before" } as const;
    const fork = await engine.checkpoints.fork(at, { principal: anaPerson });
    const result = await fork.finished();
    expect(result).toMatchObject({ status: "completed", steps: { again: { output: "found found tea" } } });
    expect(Object.keys(result.steps)).toEqual(["find", "again"]);
    expect([look.calls.length, old.calls.length, replanner.asked.length]).toEqual([3, 1, 1]);
  });

  it("resumes the steps of the last plan only", async () => {
    const replanner = scriptedReplanner(
      () => ({ steps: [{ step_id: "second", name: "flaky" }] }),
      () => null,
    );
    const old = broken();
    const flaky = scriptedTool("flaky", [throwsFault("POLICY_DENIED"), () => "fine"], { effect: "reads" });
    const engine = await newFixture().open({ tools: [lookup().tool, old.tool, flaky.tool, replanner.tool] });
    const run = await engine.submit({ steps: [find, fails] }, { ...by, replan: { by: "planner", attempts: 3 } });
    expect(await run.finished()).toMatchObject({ status: "partial", failed: [{ step_id: "second" }] });
    await engine.resume(run.run_id, { principal: anaPerson });
    expect(await run.finished()).toMatchObject({ status: "completed" });
    expect([old.calls.length, flaky.calls.length, replanner.asked.length]).toEqual([1, 2, 2]);
  });
});

describe.each(storeKinds)("an answer of a replanner that cannot be used, on $name", ({ newFixture }) => {
  const answers: readonly (readonly [what: string, answer: () => ReplanAnswer | Promise<ReplanAnswer>])[] = [
    ["is garbage", () => ({ steps: "many" }) as unknown as ReplanAnswer],
    ["is no object", () => 7 as unknown as ReplanAnswer],
    ["names an unknown tool", () => ({ steps: [{ step_id: "x", name: "rm" }] })],
    ["has a cycle", () => ({ steps: [{ ...find, step_id: "x", depends_on: ["x"] }] })],
    ["uses a step that failed", () => ({ steps: [{ ...find, step_id: "x", depends_on: ["order"] }] })],
    ["is empty", () => ({ steps: [] })],
    ["is the plan that failed", () => ({ steps: [find, fails] })],
    [
      "is that plan under other names",
      () => ({
        steps: [
          { ...find, step_id: "f" },
          { ...fails, step_id: "o", depends_on: ["f"] },
        ],
      }),
    ],
    ["is an error", () => Promise.reject(new Error("the model is away"))],
    ["never comes", () => new Promise<never>(() => {})],
  ];

  it.each(answers)("%s: it is on record, uses up an attempt, and no plan runs again", async (_what, answer) => {
    const stage = newFixture();
    const replanner = scriptedReplanner(answer);
    const [look, old] = [lookup(), broken()];
    const engine = await stage.open({ tools: [look.tool, old.tool, replanner.tool] });
    const run = await engine.submit({ steps: [find, fails] }, { ...by, replan: { by: "planner", attempts: 3 } });
    for (let second = 0; second < 4; second += 1) await stage.advance(1000);
    expect(await run.finished()).toMatchObject({ status: "partial", replanned: { plans: 1, asked: 3 } });
    expect([look.calls.length, old.calls.length, replanner.asked.length]).toEqual([1, 1, 3]);
    const failed = (await collectEvents(run, "step.failed")).filter(({ step_id }) => step_id.startsWith("replan."));
    expect(failed.map(({ step_id }) => step_id)).toEqual(["replan.1", "replan.2", "replan.3"]);
    expect(replanner.asked[2]?.refused.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await engine.audit({ principal: anaPerson })).toMatchObject({ broken: [], rows: [], tallies: [] });
  });

  it("is kept with its reasons, and the next question tells them", async () => {
    const bad = { steps: [{ step_id: "x", name: "lokup" }] };
    const replanner = scriptedReplanner(
      () => bad,
      () => other,
    );
    const engine = await newFixture().open({ tools: [lookup().tool, broken().tool, replanner.tool] });
    const run = await engine.submit({ steps: [find, fails] }, { ...by, replan: { by: "planner", attempts: 2 } });
    expect(await run.finished()).toMatchObject({ status: "completed", replanned: { plans: 2, asked: 2 } });
    const refused = (await collectJournal(run)).find(
      ({ type, ...event }) => type === "step.failed" && "output" in event,
    );
    expect(refused).toMatchObject({ step_id: "replan.1", output: { plan: bad }, fault: { code: "REPLAN_REFUSED" } });
    expect(replanner.asked[1]?.refused[0]?.fault.message).toContain("lookup");
  });

  it("ends the run when there is no other plan", async () => {
    const replanner = scriptedReplanner(() => ({ plan: null, reason: "tea is sold out" }));
    const engine = await newFixture().open({ tools: [lookup().tool, broken().tool, replanner.tool] });
    const run = await engine.submit({ steps: [find, fails] }, { ...by, replan: { by: "planner", attempts: 5 } });
    const result = await run.finished();
    expect(result).toMatchObject({ status: "partial", replanned: { plans: 1, asked: 1 } });
    expect(result.steps["replan.1"]?.output).toEqual({ plan: null, reason: "tea is sold out" });
  });
});
