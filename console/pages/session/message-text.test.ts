import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/core/values/json.ts";
import { answerTexts, readMessage } from "./message-text.ts";

describe("a message", () => {
  it.each<[string, Json, string, readonly string[]]>([
    ["of a chat", { role: "user", content: "hello" }, "person", ["hello"]],
    [
      "with parts",
      {
        role: "user",
        content: [
          { type: "text", text: "one" },
          { type: "text", text: "two" },
        ],
      },
      "person",
      ["one", "two"],
    ],
    ["with the calls of a model", { role: "assistant", content: null, tool_calls: [{ id: "1" }] }, "model", []],
    [
      "with a call as a part",
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look" },
          { type: "tool_use", id: "1", input: { text: "no" } },
        ],
      },
      "model",
      ["I look"],
    ],
    ["with results", { role: "user", content: [{ type: "tool_result", content: "5" }] }, "results", []],
    ["of a tool", { role: "tool", tool_call_id: "1", content: "5" }, "results", ["5"]],
    ["with instructions", { role: "system", content: "be brief" }, "instructions", ["be brief"]],
    ["that is a text", "hello", "person", ["hello"]],
    ["of an unknown form", { kind: "x" }, "other", []],
    ["that is a number", 5, "other", []],
    ["with an output of a call", { type: "function_call_output", output: "5" }, "results", []],
  ])("%s is read", (_, message, role, texts) => {
    expect(readMessage(message)).toEqual({ role, texts });
  });
});

describe("an answer of a model", () => {
  it.each<[string, Parameters<typeof answerTexts>[0], readonly string[]]>([
    ["of a chat completion", { form: "json", json: { choices: [{ message: { content: "hi" } }] } }, ["hi"]],
    [
      "of messages",
      {
        form: "json",
        json: {
          content: [
            { type: "thinking", thinking: "…" },
            { type: "text", text: "hi" },
          ],
        },
      },
      ["hi"],
    ],
    [
      "of responses",
      { form: "json", json: { output: [{ type: "message", content: [{ type: "output_text", text: "hi" }] }] } },
      ["hi"],
    ],
    ["as plain text", { form: "text", text: "hi" }, ["hi"]],
    [
      "as an event stream",
      {
        form: "text",
        text: 'data: {"choices":[{"delta":{"content":"h"}}]}\n\ndata: {"choices":[{"delta":{"content":"i"}}]}\n\ndata: [DONE]\n',
      },
      ["hi"],
    ],
    [
      "as chunks",
      {
        form: "chunks",
        chunks: [
          { type: "text-delta", delta: "h" },
          { type: "text-delta", delta: "i" },
          { type: "tool-call", input: "x" },
        ],
      },
      ["hi"],
    ],
    ["with calls only", { form: "json", json: { choices: [{ message: { content: null } }] } }, []],
  ])("%s is read", (_, content, texts) => {
    expect(answerTexts(content)).toEqual(texts);
  });
});
