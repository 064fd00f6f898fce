import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { collectJournal, scriptedTool } from "./scripted-tool.ts";

const plan = { steps: ["10", "9", "1"].map((step_id) => ({ step_id, name: "look" })) };

describe.each(storeKinds)("a submission, on $name", ({ newFixture }) => {
  it("takes all of its terms together and has them on record before the first call", async () => {
    const look = scriptedTool("look", ({ context }) => ({ by: context.correlation_id }), { effect: "reads" });
    const stage = newFixture();
    const engine = await stage.open({ tools: [look.tool] });
    const terms = {
      principal: { ...botAgent, roles: ["desk"], claims: { shift: "night" } },
      project: "hotel",
      session: "guest 7",
      requestKey: "check in",
      context: { guest: 7 },
      mode: "human_gated",
      deadlineMs: 60_000,
      priority: 5,
      budgets: [{ unit: "calls", limit: 10 }],
      confirmed: ["10"],
      correlationId: "c-1",
      title: "Check in",
      labels: ["front"],
      signal: new AbortController().signal,
    } as const;
    const run = await engine.submit(plan, terms);
    expect((await run.result()).status).toBe("completed");
    const [accepted, ...later] = await collectJournal(run);
    expect(accepted).toMatchObject({
      type: "run.accepted",
      principal: { id: "bot", roles: ["desk"], claims: { shift: "night" } },
      project: "hotel",
      session: "guest 7",
      request: { key: "check in" },
      context: { guest: 7 },
      mode: "human_gated",
      priority: 5,
      budgets: { run: run.run_id, limits: [{ unit: "calls", limit: 10 }] },
      confirmed: ["10"],
      correlation_id: "c-1",
      title: "Check in",
      labels: ["front"],
      plan: { steps: [{ step_id: "10" }, { step_id: "9" }, { step_id: "1" }] },
    });
    expect(later.map(({ type }) => type)).not.toContain("run.accepted");
    expect((await engine.runs({ principal: anaPerson, project: "hotel", session: "guest 7" })).length).toBe(1);
    expect((await engine.submit(plan, terms)).attached).toBe(true);
  });

  it("has a result with its steps in the order of the plan, their number by end, attempts and times", async () => {
    const look = scriptedTool("look", [() => 1, () => Promise.reject(new Error("no"))], {
      effect: "reads",
      retry: "any",
    });
    const stage = newFixture();
    const engine = await stage.open({ tools: [look.tool] });
    const steps = plan.steps.map((step) => ({ ...step, on_failure: "skip", retries: step.step_id === "9" ? 1 : 0 }));
    const run = await engine.submit({ sequential: true, steps }, { principal: botAgent });
    const { results, counts, times } = await stage.runUntilIdle(run);
    expect(results.map(({ step_id, state, attempts }) => [step_id, state, attempts])).toEqual([
      ["10", "succeeded", 1],
      ["9", "skipped", 2],
      ["1", "skipped", 1],
    ]);
    expect(counts).toMatchObject({ steps: 3, succeeded: 1, skipped: 2, failed: 0, rejected: 0, retries: 1 });
    expect(times).toMatchObject({ accepted_at: expect.any(Number), ended_at: expect.any(Number) });
    for (const { started_at } of results) expect(started_at).toEqual(expect.any(Number));
  });
});
