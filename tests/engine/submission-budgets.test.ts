import { describe, expect, it } from "vitest";
import { expectCleanAudit, usedTallies } from "./budget-fixture.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const ask = () =>
  scriptedTool(
    "ask",
    ({ context }) => {
      context.cost({ credits: 3 });
      return {};
    },
    { effect: "reads" },
  );
const chain = (count: number) => ({
  sequential: true,
  steps: Array.from({ length: count }, (_, at) => ({ step_id: `s${at}`, name: "ask", payload: { at } })),
});

describe.each(storeKinds)("budget of a submission, on $name", ({ newFixture }) => {
  it("limits its own run only, and the call beyond it is refused before it runs", async () => {
    const stage = newFixture();
    const { tool, calls } = ask();
    const engine = await stage.open({ tools: [tool] });
    const budgets = [{ unit: "calls", limit: 2 }] as const;
    const limited = await engine.submit(chain(3), { principal: botAgent, budgets });
    const { steps, counts, status } = await limited.result();
    expect(status).toBe("partial");
    expect(steps.s2).toMatchObject({ state: "rejected", fault: { code: "BUDGET_EXCEEDED", detail: { limit: 2 } } });
    expect(counts).toMatchObject({ succeeded: 2, rejected: 1 });
    const free = await engine.submit(chain(3), { principal: botAgent });
    expect((await free.result()).status).toBe("completed");
    expect(calls).toHaveLength(5);
    expect(await usedTallies(stage)).toEqual({ [`budget/calls/submission/${limited.run_id}`]: 2 });
    const [view] = await engine.budgets({ principal: anaPerson, runId: limited.run_id });
    expect(view).toMatchObject({ unit: "calls", limit: 2, used: 2, left: 0 });
    await expectCleanAudit(engine);
  });

  it("covers child runs, each of a list and of a plan inside a plan", async () => {
    const stage = newFixture();
    const { tool, calls } = ask();
    const engine = await stage.open({ tools: [tool] });
    const plan = {
      sequential: true,
      steps: [
        { step_id: "inner", kind: "run", payload: { plan: chain(2) }, on_failure: "skip" },
        {
          step_id: "each",
          kind: "for_each",
          payload: { items: [1, 2, 3], sequential: true, each: { name: "ask" } },
          on_failure: "skip",
        },
      ],
    };
    const budgets = [{ unit: "calls", limit: 3, tool: "ask" }] as const;
    const run = await engine.submit(plan, { principal: botAgent, budgets });
    const { steps } = await run.finished();
    expect(steps.inner?.state).toBe("succeeded");
    expect(steps.each).toMatchObject({ state: "skipped", fault: { code: "CHILD_FAILED" } });
    expect(calls).toHaveLength(3);
    expect(await usedTallies(stage)).toEqual({ [`budget/calls:ask/submission/${run.run_id}`]: 3 });
  });

  it("counts money and applies beside the budgets of the settings, after a crash too", async () => {
    const stage = newFixture();
    const { tool, calls } = ask();
    const settings = { budgets: [{ unit: "credits", limit: 100, per: "run" }] } as const;
    const engine = await stage.open({ tools: [tool], ...settings, work: false });
    const run = await engine.submit(chain(5), { principal: botAgent, budgets: [{ unit: "credits", limit: 7 }] });
    await engine.close();
    const other = await stage.open({ tools: [tool], ...settings });
    const { steps } = await stage.runUntilIdle(await other.run(run.run_id, { principal: botAgent }));
    expect(steps.s3).toMatchObject({ state: "rejected", fault: { code: "BUDGET_EXCEEDED" } });
    expect(calls).toHaveLength(3); // 0, 3 and 6 of 7 are used when they start.
  });

  it.each([
    ["no list", "much", "budgets must be a list"],
    ["a unit that nothing counts", [{ unit: "euros", limit: 1 }], "budgets[0] needs unit, one of"],
    ["a negative limit", [{ unit: "calls", limit: -1 }], "budgets[0] needs a limit"],
    ["another scope", [{ unit: "calls", limit: 1, per: "user-day" }], "budgets[0] has no per"],
    ["too many", Array.from({ length: 17 }, () => ({ unit: "calls", limit: 1 })), "a list of at most 16"],
  ])("with %s is refused", async (_, budgets, message) => {
    const engine = await newFixture().open({ tools: [ask().tool] });
    const refused = await rejectedFault(engine.submit(chain(1), { principal: botAgent, budgets: budgets as never }));
    expect(refused).toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining(message) });
  });
});
