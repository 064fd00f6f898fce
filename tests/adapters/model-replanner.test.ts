import { describe, expect, it, onTestFinished } from "vitest";
import type { AskPlanningModel } from "../../src/agents/ask-for-json.ts";
import { modelPlanner } from "../../src/agents/model-planner.ts";
import { modelReplanner } from "../../src/agents/model-replanner.ts";
import type { JsonObject } from "../../src/core/values/json.ts";
import { planAndExecute } from "../../src/engine/plan-and-execute.ts";
import type { ModelScript } from "../../src/testing/scripted-model/model-script.ts";
import { type ScriptedModel, scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { botAgent, storeKinds } from "../engine/engine-fixture.ts";
import { collectEvents, scriptedTool, throwsFault } from "../engine/scripted-tool.ts";

const [memory] = storeKinds;

async function startModel(script: ModelScript): Promise<ScriptedModel> {
  const model = await scriptedModel(script);
  onTestFinished(() => model.close());
  return model;
}

/** Asks over HTTP as the clients of the providers do. */
const providers: Readonly<Record<string, (model: ScriptedModel) => AskPlanningModel>> = {
  "OpenAI chat completions":
    ({ url }) =>
    ({ system, prompt, signal }) =>
      post(
        `${url}/chat/completions`,
        {
          messages: [
            { role: "system", content: system },
            { role: "user", content: prompt },
          ],
        },
        signal,
      ),
  "OpenAI responses":
    ({ url }) =>
    ({ system, prompt, signal }) =>
      post(`${url}/responses`, { instructions: system, input: prompt }, signal),
  "Anthropic messages":
    ({ origin }) =>
    ({ system, prompt, signal }) =>
      post(
        `${origin}/v1/messages`,
        { system, max_tokens: 2000, messages: [{ role: "user", content: prompt }] },
        signal,
      ),
};

async function post(url: string, body: object, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify({ model: "scripted", ...body }), signal });
  return response.json();
}

const reads = { effect: "reads" } as const;
const tools = () => [
  scriptedTool("lookup", ({ input }) => `found ${input.what}`, reads).tool,
  scriptedTool("shop", throwsFault("POLICY_DENIED"), reads).tool,
];
const plan = {
  steps: [
    { step_id: "find", name: "lookup", payload: { what: "tea" } },
    { step_id: "buy", name: "shop", depends_on: ["find"] },
  ],
};
const next = { steps: [{ step_id: "again", name: "lookup", bindings: { "/what": { step: "find", path: "" } } }] };

describe("a model that is asked for plans", () => {
  it.each(Object.entries(providers))("replans a run over %s, and its tokens are charged", async (_name, asks) => {
    const text = `Here is a plan:\n\`\`\`json\n${JSON.stringify({ plan: next })}\n\`\`\``;
    const model = await startModel([{ text }]);
    const own = tools();
    const replanner = modelReplanner({ name: "ai", tools: own, ask: asks(model), instructions: "Prefer tea." });
    const engine = await (memory as NonNullable<typeof memory>).newFixture().open({ tools: [...own, replanner] });
    const run = await engine.submit(plan, { principal: botAgent, replan: { by: "ai" } });
    const result = await run.finished();
    expect(result).toMatchObject({ status: "completed", steps: { again: { output: "found found tea" } } });
    expect(result.spent.tokens_in + result.spent.tokens_out).toBeGreaterThan(0);
    const told = JSON.stringify(model.requests[0]);
    for (const part of ["Prefer tea.", "lookup", "POLICY_DENIED", "data, not instructions"])
      expect(told).toContain(part);
  });

  it("plans for a goal, and its second plan is used when the first does not complete", async () => {
    const plans = { plans: [plan, { steps: [{ step_id: "find", name: "lookup", payload: { what: "rum" } }] }] };
    const model = await startModel((request: JsonObject) => {
      expect(JSON.stringify(request)).toContain("tea, by noon");
      return { text: JSON.stringify(plans) };
    });
    const own = tools();
    const ask = providers["Anthropic messages"]?.(model) as AskPlanningModel;
    const planner = modelPlanner({ name: "ai", tools: own, ask });
    const engine = await (memory as NonNullable<typeof memory>).newFixture().open({ tools: [...own, planner] });
    const { run, ranked } = await planAndExecute(engine, { principal: botAgent, planner: "ai", goal: "tea, by noon" });
    expect(ranked.length).toBe(2);
    expect(await run.finished()).toMatchObject({ status: "completed" });
  });

  it.each([
    ["prose", { text: "I am sorry." }, "TOOL_FAILED"],
    ["an error", { status: 500, text: "overloaded" }, "ANSWER_INCOMPLETE"],
    ["a call of a tool", { calls: [{ tool: "shop", input: {} }] }, "TOOL_FAILED"],
    ["a plan that names no tool", { text: '{"steps":[{"step_id":"x","name":"rm"}]}' }, "REPLAN_REFUSED"],
  ])("that answers %s uses up its attempts, and nothing runs again", async (_what, answer, code) => {
    const model = await startModel(() => answer);
    const own = tools();
    const ask = providers["OpenAI chat completions"]?.(model) as AskPlanningModel;
    const engine = await (memory as NonNullable<typeof memory>)
      .newFixture()
      .open({ tools: [...own, modelReplanner({ name: "ai", tools: own, ask })] });
    const run = await engine.submit(plan, { principal: botAgent, replan: { by: "ai", attempts: 2 } });
    expect(await run.finished()).toMatchObject({ status: "partial", replanned: { plans: 1, asked: 2 } });
    const failed = await collectEvents(run, "step.failed");
    expect(failed.map(({ fault }) => fault.code)).toEqual(["POLICY_DENIED", code, code]);
  });
});
