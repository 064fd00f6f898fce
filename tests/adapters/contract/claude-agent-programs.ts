import { onTestFinished } from "vitest";
import { govern } from "../../../src/agents/govern.ts";
import { forClaudeAgent } from "../../../src/claude-agent-sdk/for-claude-agent.ts";
import type { Json, JsonObject } from "../../../src/core/values/json.ts";
import { outputAsPlainData as plainValue } from "../../../src/engine/ports/output-as-plain-data.ts";
import { textsAboutCalls } from "../../../src/testing/adapter-contract/texts-about-calls.ts";
import { scriptedModel } from "../../../src/testing/scripted-model/scripted-model.ts";
import type { AdapterUnderTest, ContractTool, ModelScript, ScriptedAnswer } from "../../../src/testing.ts";
import { isolatedOptions, loadClaudeSdk, loadZod, newWorkplace } from "../claude-agent-fixture.ts";

const toolName = (tool: string) => `mcp__contract__${tool}`;

/** The tools of a program in Claude Code, which runs in a process of its own and asks the scripted model itself. */
export const claudeAgentTools: AdapterUnderTest = {
  // The schemas of the SDK allow arguments that they do not name, and Claude Code keeps large results in files.
  lacks: ["model", "argument texts", "repeated ids", "extra arguments", "large results"],
  toolName,
  outputAsPlainData: (output) => {
    const { content } = output as { readonly content: readonly [{ readonly text: string }] };
    return JSON.parse(content[0].text) as Json;
  },
  open: async ({ engine, session, principal, tools, script }) => {
    const sdk = await loadClaudeSdk();
    const { work, home } = newWorkplace();
    const model = await scriptedModel(withClaudeNames(script));
    const effects = Object.fromEntries(tools.map(({ name, effect }) => [toolName(name), effect]));
    const governed = await govern({ engine, session, principal, effects, print: () => {} });
    const writ = await forClaudeAgent(governed);
    const own = await toolsFor(sdk, tools);
    const stop = new AbortController();
    const close = async () => {
      stop.abort();
      await model.close();
    };
    onTestFinished(close); // The contract closes only the last program of a session.
    return {
      ask: async (signal) => {
        const abortController = new AbortController();
        for (const each of [signal, stop.signal]) each?.addEventListener("abort", () => abortController.abort());
        const options = writ.options({
          ...isolatedOptions(work, home, model.origin),
          allowedTools: tools.map(({ name }) => toolName(name)),
          mcpServers: { contract: sdk.createSdkMcpServer({ name: "contract", version: "1", tools: own }) },
          abortController,
          persistSession: false,
        });
        let text: string | null = null;
        for await (const { type, result } of sdk.query({ prompt: "write to ana", options }))
          if (type === "result") text = result ?? null;
        return { text, told: textsAboutCalls(model.requests) };
      },
      close,
    };
  },
};

function withClaudeNames(script: ModelScript): ModelScript {
  const renamed = (answer: ScriptedAnswer | undefined): ScriptedAnswer => {
    const { calls, ...rest } = answer ?? { text: "" };
    return calls === undefined
      ? rest
      : { ...rest, calls: calls.map((call) => ({ ...call, tool: toolName(call.tool) })) };
  };
  return (request, answered) => renamed(typeof script === "function" ? script(request, answered) : script[answered]);
}

async function toolsFor(sdk: Awaited<ReturnType<typeof loadClaudeSdk>>, tools: readonly ContractTool[]) {
  const z = await loadZod();
  return tools.map(({ name, description, input, run }) => {
    const shape = Object.fromEntries(Object.keys(input.properties as JsonObject).map((field) => [field, z.string()]));
    return sdk.tool(name, description, shape, async (given: unknown, extra?: { readonly signal?: AbortSignal }) => {
      const output = plainValue(await run(given, extra?.signal)).value;
      return { content: [{ type: "text", text: JSON.stringify(output) }] };
    });
  });
}
