import { describe, expect, it } from "vitest";
import type { Json } from "../values/json.ts";
import { readModelAnswer } from "./read-model-answer.ts";

const whole = (json: Json) => readModelAnswer({ form: "json", json });
const streamed = (...events: readonly Json[]) =>
  readModelAnswer({
    form: "text",
    text: events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join(""),
  });
const chunks = (...list: readonly Json[]) => readModelAnswer({ form: "chunks", chunks: list });

const weather = [{ id: "call_1", tool: "weather" }];

describe("the tool calls of an answer", () => {
  it.each([
    [
      "an OpenAI chat completion",
      whole({
        id: "chatcmpl-1",
        model: "gpt",
        choices: [{ message: { tool_calls: [{ id: "call_1", type: "function", function: { name: "weather" } }] } }],
        usage: { prompt_tokens: 7, completion_tokens: 3 },
      }),
    ],
    [
      "a streamed OpenAI chat completion",
      streamed(
        { id: "chatcmpl-1", model: "gpt", choices: [{ delta: { role: "assistant" } }] },
        {
          choices: [
            { delta: { tool_calls: [{ index: 0, id: "call_1", function: { name: "weather", arguments: "" } }] } },
          ],
        },
        { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: "{}" } }] } }] },
        { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
        { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } },
        "[DONE]",
      ),
    ],
    [
      "an OpenAI response",
      whole({
        id: "resp_1",
        model: "gpt",
        error: null,
        output: [{ type: "reasoning" }, { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" }],
        usage: { input_tokens: 7, output_tokens: 3 },
      }),
    ],
    [
      "a streamed OpenAI response",
      streamed(
        { type: "response.created", response: {} },
        { type: "response.output_item.done", item: { type: "function_call", call_id: "call_1", name: "weather" } },
        {
          type: "response.completed",
          response: { id: "resp_1", model: "gpt", output: [], usage: { input_tokens: 7, output_tokens: 3 } },
        },
      ),
    ],
    [
      "an Anthropic message",
      whole({
        id: "msg_1",
        type: "message",
        model: "claude",
        content: [
          { type: "text", text: "let me look" },
          { type: "tool_use", id: "call_1", name: "weather", input: {} },
        ],
        stop_reason: "tool_use",
        usage: { input_tokens: 7, output_tokens: 3 },
      }),
    ],
    [
      "a streamed Anthropic message",
      streamed(
        {
          type: "message_start",
          message: { id: "msg_1", model: "claude", usage: { input_tokens: 7, output_tokens: 1 } },
        },
        { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "call_1", name: "weather" } },
        { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "{}" } },
        { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 3 } },
        { type: "message_stop" },
      ),
    ],
    [
      "a result of the AI SDK",
      whole({
        content: [{ type: "tool-call", toolCallId: "call_1", toolName: "weather", input: "{}" }],
        usage: { inputTokens: 7, outputTokens: 3 },
      }),
    ],
    [
      "a stream of the AI SDK",
      chunks(
        { type: "stream-start" },
        { type: "tool-call", toolCallId: "call_1", toolName: "weather", input: "{}" },
        { type: "finish", usage: { inputTokens: 7, outputTokens: 3 } },
      ),
    ],
  ])("are found in %s, with its tokens", (_what, facts) => {
    expect(facts).toMatchObject({ calls: weather, final: false, broken: null, usage: { tokens_in: 7, tokens_out: 3 } });
  });

  it("have no ids in an answer of Gemini, which is not final", () => {
    const answer = { candidates: [{ content: { parts: [{ functionCall: { name: "weather", args: {} } }] } }] };
    expect(whole(answer)).toMatchObject({ calls: [], final: false });
  });

  it("are absent in a final answer, in one of another shape, and where the provider executes them", () => {
    expect(whole({ choices: [{ message: { content: "hi" } }] })).toMatchObject({ calls: [], final: true });
    expect(whole("plain text")).toMatchObject({ calls: [], final: true });
    expect(whole({ content: [{ type: "tool-call", toolCallId: "a", providerExecuted: true }] })).toMatchObject({
      final: true,
    });
  });

  it("are to come after a turn that the provider has paused", () => {
    expect(whole({ content: [], stop_reason: "pause_turn" })).toMatchObject({ calls: [], final: false });
    const paused = streamed(
      { type: "message_start", message: {} },
      { type: "message_delta", delta: { stop_reason: "pause_turn" } },
      { type: "message_stop" },
    );
    expect(paused).toMatchObject({ calls: [], final: false, broken: null });
  });
});

describe("an answer that is not whole", () => {
  it.each([
    ["a chat completion without an end", streamed({ choices: [{ delta: { content: "he" } }] })],
    ["a message without an end", streamed({ type: "message_start", message: {} })],
    ["a response without an end", streamed({ type: "response.created" })],
    ["a stream of the AI SDK without an end", chunks({ type: "stream-start" }, { type: "text-delta", delta: "he" })],
    ["an event of an error", streamed({ type: "error", error: { message: "overloaded" } })],
    ["a failed response", streamed({ type: "response.created" }, { type: "response.failed" })],
    ["a body that reports an error", whole({ error: { message: "bad key" } })],
  ])("is %s", (_what, { broken }) => {
    expect(broken).toEqual(expect.any(String));
  });

  it("is told from a stream of an unknown shape", () => {
    expect(streamed({ hello: 1 }).broken).toBeNull();
    expect(readModelAnswer({ form: "text", text: "plain" }).broken).toBeNull();
  });
});
