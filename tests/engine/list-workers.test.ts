import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/schema/define-tool.ts";
import { anaPerson, botAgent, storeKinds } from "./engine-fixture.ts";

function sendTool(version = "1.0") {
  return defineTool({
    name: "send",
    version,
    effect: "acts",
    input: z.object({}),
    output: z.object({}),
    run: async () => ({}),
  });
}

const plan = { steps: [{ step_id: "send", name: "send", payload: {} }] };
const principal = anaPerson;

describe.each(storeKinds)("the list of workers on $name", ({ newFixture }) => {
  it("shows each worker with its process, rules, tools and deliveries", async () => {
    const stage = newFixture();
    await stage.open({ tools: [sendTool()], onNotice: async () => {} });
    const other = await stage.open({ tools: [], zone: "Asia/Tokyo" });
    const { workers, waiting } = await other.workers({ principal });
    const [first, second] = workers.toSorted((left, right) => right.tools.length - left.tools.length);
    expect(first).toMatchObject({ tools: ["send@1.0"], notices: true, runs: [], pid: process.pid });
    expect(second).toMatchObject({ tools: [], notices: false });
    expect([first?.version, typeof first?.host]).toEqual([second?.version, "string"]);
    expect(first?.rules).not.toBe(second?.rules);
    expect(waiting).toEqual([]);
  });

  it("shows no worker that has closed, and says that a due run waits for one", async () => {
    const stage = newFixture();
    const worker = await stage.open({ tools: [sendTool()] });
    const client = await stage.open({ tools: [sendTool()], work: false });
    await worker.close();
    await stage.advance(20_000);
    const { run_id } = await client.submit(plan, { principal: botAgent });
    expect(await client.workers({ principal })).toMatchObject({
      workers: [],
      waiting: [{ run_id, reason_code: "NO_WORKER" }],
    });
  });

  it("says which tool a waiting run needs, and whether a worker has it in another form", async () => {
    const stage = newFixture();
    const client = await stage.open({ tools: [sendTool()], work: false });
    const worker = await stage.open({ tools: [] });
    const { run_id } = await client.submit(plan, { principal: botAgent });
    await stage.advance(3000);
    const waiting = async () => (await client.workers({ principal })).waiting;
    expect(await waiting()).toMatchObject([{ run_id, reason_code: "TOOL_MISSING", needs: ["send@1.0"] }]);
    await worker.close();
    await stage.open({ tools: [sendTool("2.0")] });
    await stage.advance(20_000);
    expect(await waiting()).toMatchObject([{ run_id, reason_code: "TOOL_CHANGED", needs: ["send@1.0"] }]);
  });

  it("names the workers that have the tool and the rules of a waiting run, and so does its result", async () => {
    const stage = newFixture();
    const client = await stage.open({ tools: [sendTool()], work: false });
    await stage.open({ tools: [] });
    const { run_id } = await client.submit(plan, { principal: botAgent });
    await stage.advance(3000);
    const other = await stage.open({ tools: [sendTool()], zone: "Asia/Tokyo" });
    const { workers, waiting } = await other.workers({ principal });
    const idOf = (tools: number) => workers.find((worker) => worker.tools.length === tools)?.worker;
    const who = { with_needs: [idOf(1)], with_rules: [idOf(0)] };
    expect(waiting).toMatchObject([{ run_id, reason_code: "RULES_ELSEWHERE", ...who }]);
    const handle = await other.run(run_id, { principal });
    for (const result of [await handle.now(), await stage.runUntilIdle(handle)]) {
      expect(result.blocked_on).toMatchObject([{ step_id: "send", reason_code: "RULES_ELSEWHERE", workers: who }]);
      expect(result.next).toContain(`the rules of run ${run_id}`);
    }
  });
});
