import { describe, it } from "vitest";
import { adapterContract } from "../../src/testing.ts";
import { aiSdkAdapter, aiSdks } from "./contract/ai-sdk-programs.ts";
import { anthropicMessages, anthropicRunner } from "./contract/anthropic-programs.ts";
import { gatewayOut, mcpIn } from "./contract/mcp-programs.ts";
import { openAiChat, openAiResponses, openAiRunTools } from "./contract/openai-programs.ts";

const ways = ["generateText", "streamText", "ToolLoopAgent"] as const;

const adapters = [
  ...aiSdks.flatMap((sdk) =>
    ways.map((way) => ({ name: `AI SDK ${sdk.major}, ${way}`, adapter: aiSdkAdapter(sdk, way) })),
  ),
  { name: "OpenAI chat", adapter: openAiChat(false) },
  { name: "OpenAI chat, streamed", adapter: openAiChat(true) },
  { name: "OpenAI responses", adapter: openAiResponses(false) },
  { name: "OpenAI responses, streamed", adapter: openAiResponses(true) },
  { name: "OpenAI runTools", adapter: openAiRunTools },
  { name: "Anthropic messages", adapter: anthropicMessages(false) },
  { name: "Anthropic messages, streamed", adapter: anthropicMessages(true) },
  { name: "Anthropic tool runner", adapter: anthropicRunner(false) },
  { name: "Anthropic tool runner, streamed", adapter: anthropicRunner(true) },
  { name: "MCP tools in an engine", adapter: mcpIn },
  { name: "MCP gateway", adapter: gatewayOut },
];

describe.each(adapters)("the adapter contract: $name", ({ adapter }) => {
  it.each(adapterContract(adapter))("$title", ({ check }) => check());
});
