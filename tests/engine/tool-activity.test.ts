import { describe, expect, it } from "vitest";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";
import { rejectedFault, scriptedTool } from "./scripted-tool.ts";

const principal = anaPerson;
const plan = (name: string) => ({ steps: [{ step_id: "a", name, payload: {} }] });

describe.each(storeKinds)("the activity of tools, on $name", ({ newFixture }) => {
  it("counts how calls ended, how long they took and what they cost", async () => {
    const stage = newFixture();
    let calls = 0;
    const ask = scriptedTool(
      "ask",
      ({ context }) => {
        calls += 1;
        stage.clock.advance(calls * 10);
        context.cost({ usd_micros: 5, tokens_in: 2 });
        if (calls === 3) throw new Error("no");
        return { calls };
      },
      { effect: "reads", cache: "never" },
    );
    const deny = { id: "no", kind: "deny", on: { tools: ["send"] }, reason: "closed" };
    const policies = [{ schema_version: "1.0", name: "house", rules: [deny] }];
    const engine = await stage.open({ tools: [ask.tool, scriptedTool("send", () => ({})).tool], policies });
    const runs: string[] = [];
    for (const name of ["ask", "ask", "ask", "send"]) {
      const run = await engine.submit(plan(name), { principal: botAgent });
      await run.result();
      runs.push(run.run_id);
    }
    const report = await engine.tools.activity({ principal });
    expect(report).toMatchObject({ runs: 4, complete: true });
    expect(report.tools).toMatchObject([
      {
        tool: "ask",
        calls: 3,
        succeeded: 2,
        failed: 1,
        doubted: 0,
        refused: 0,
        p50_ms: 20,
        p95_ms: 30,
        spent: { usd_micros: 15, tokens_in: 6 },
        last_run: runs[2],
      },
      { tool: "send", calls: 0, refused: 1, p50_ms: null, spent: {} },
    ]);
    const latest = await engine.tools.activity({ principal, tool: "ask", runs: 1 });
    expect(latest).toMatchObject({ runs: 1, complete: false, tools: [{ tool: "ask", calls: 1, failed: 1 }] });
  });

  it("shows to an agent only its own runs, and refuses other numbers of runs", async () => {
    const stage = newFixture();
    const engine = await stage.open({ tools: [scriptedTool("ask", () => ({}), { effect: "reads" }).tool] });
    await (await engine.submit(plan("ask"), { principal: botAgent })).result();
    const rob = { ...botAgent, id: "rob" };
    expect(await engine.tools.activity({ principal: rob })).toMatchObject({ runs: 0, since: null, tools: [] });
    expect(await engine.tools.activity({ principal: botAgent })).toMatchObject({ runs: 1 });
    expect(await engine.tools.activity({ principal: { ...principal, tenant: "globex" } })).toMatchObject({ runs: 0 });
    for (const runs of [0, 1001, 1.5])
      expect(await rejectedFault(engine.tools.activity({ principal, runs }))).toMatchObject({ code: "INVALID_INPUT" });
  });

  it("reports the spending of each principal on each day of a range", async () => {
    const stage = newFixture();
    const ask = scriptedTool(
      "ask",
      ({ context }) => {
        context.cost({ usd_micros: 7, tokens_out: 1 });
        return {};
      },
      { effect: "reads", cache: "never" },
    );
    const engine = await stage.open({ tools: [ask.tool] });
    const day = () => new Date(stage.clock.now()).toISOString().slice(0, 10);
    const spend = async (id: string) =>
      void (await (await engine.submit(plan("ask"), { principal: { ...botAgent, id } })).result());
    const first = day();
    await spend("team/bot");
    await spend("rob");
    stage.clock.advance(86_400_000);
    const second = day();
    await spend("rob");
    const whole = { from: first, to: second };
    const each = { usd_micros: 7, tokens_out: 1 };
    expect(await engine.spentByDay({ principal, ...whole })).toEqual({
      complete: true,
      days: [
        { day: first, by: "rob", ...each },
        { day: first, by: "team/bot", ...each },
        { day: second, by: "rob", ...each },
      ],
    });
    expect((await engine.spentByDay({ principal, from: first, to: first })).days).toHaveLength(2);
    expect((await engine.spentByDay({ principal, ...whole, by: "rob" })).days).toHaveLength(2);
    expect((await engine.spentByDay({ principal: { ...botAgent, id: "rob" }, ...whole })).days).toHaveLength(2);
    for (const range of [
      { from: second, to: first },
      { from: "2023-11-31", to: "2023-12-01" },
      { from: "2020-01-01", to: second },
    ])
      expect(await rejectedFault(engine.spentByDay({ principal, ...range }))).toMatchObject({ code: "INVALID_INPUT" });
  });
});
