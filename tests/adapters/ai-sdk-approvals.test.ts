import { describe, expect, it, onTestFinished } from "vitest";
import { govern } from "../../src/agents/govern.ts";
import { forAiSdk } from "../../src/ai-sdk/for-ai-sdk.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { scriptedModel } from "../../src/testing/scripted-model/scripted-model.ts";
import { anaPerson, botAgent } from "../engine/engine-fixture.ts";
import { aiSdks } from "./contract/ai-sdk-programs.ts";

interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly approvalId?: string;
  readonly reason?: string;
}

interface Said {
  readonly text: string;
  readonly content: readonly Part[];
  readonly response: { readonly messages: readonly object[] };
}

type Sdk = (typeof aiSdks)[number];

async function startedWith(
  { ai, createOpenAI }: Sdk,
  tool: object = {},
  mode: "human_gated" | "auto_exec" = "human_gated",
) {
  const engine = await createEngine({ store: memoryStore(), tools: [], tenants: { acme: { mode } } });
  const model = await scriptedModel([{ calls: [{ tool: "send", input: { to: "ana" } }] }, { text: "told" }]);
  onTestFinished(async () => {
    await model.close();
    await engine.close();
  });
  const printed: string[] = [];
  const print = (text: string) => void printed.push(text);
  const effects = { send: "acts" } as const;
  const writ = forAiSdk(await govern({ engine, session: "chat", principal: botAgent, effects, print }));
  const openai = createOpenAI({ baseURL: model.url, apiKey: "none", fetch: writ.fetch() });
  const sent: unknown[] = [];
  const own = {
    send: ai.tool({
      inputSchema: ai.jsonSchema({ type: "object" }),
      execute: (input: unknown) => {
        sent.push(input);
        return "sent";
      },
      ...tool,
    } as never),
  };
  const question = { role: "user", content: "write to ana" };
  const say = async (more: readonly object[] = [], options: object = {}, tools: object = own): Promise<Said> => {
    const asked = { messages: [question, ...more], tools: writ.tools(tools as never), ...options };
    const base = { model: openai.chat("scripted"), maxRetries: 0, stopWhen: ai.stepCountIs(5) };
    return (await ai.generateText({ ...base, ...asked } as never)) as unknown as Said;
  };
  const responded = ({ content, response }: Said, approved: boolean) => {
    const { approvalId } = content.find(({ type }) => type === "tool-approval-request") as Part;
    return [
      ...response.messages,
      { role: "tool", content: [{ type: "tool-approval-response", approvalId, approved }] },
    ];
  };
  return { engine, model, writ, sent, printed, say, responded, openai, own };
}

describe.each(aiSdks)("approvals in a chat of AI SDK $major", (sdk) => {
  const { ai } = sdk;
  const started = (tool?: object, mode?: "human_gated" | "auto_exec") => startedWith(sdk, tool, mode);
  const lastRequest = (model: { readonly requests: readonly object[] }) => JSON.stringify(model.requests.at(-1));

  it("a call that was approved in Writ is not denied when the chat's response arrives", async () => {
    const { engine, model, sent, say, responded } = await started();
    const held = await say();
    const [gate] = await engine.gates({ principal: anaPerson });
    await engine.approve(gate?.gate_id ?? "", { principal: anaPerson });
    expect((await say(responded(held, true))).text).toBe("told");
    expect(sent).toEqual([{ to: "ana" }]);
    expect(lastRequest(model)).toContain('"content":"sent"');
    expect(lastRequest(model)).not.toContain("does not require approval");
  });

  it("one tool part of a chat is decided by the authenticated person, for exactly the call that was seen", async () => {
    const { writ, sent, say, responded } = await started();
    const held = await say();
    const part = (input: object, toolCallId = "call_1_1") => {
      const approval = { id: "any", approved: true };
      return { type: "tool-send", toolCallId, state: "approval-responded", input, approval };
    };
    const decide = (given: object) => writ.decide(given, { principal: anaPerson });
    await expect(decide(part({ to: "eve" }))).rejects.toMatchObject({ fault: { code: "GATE_MISMATCH" } });
    await expect(decide(part({ to: "ana" }, "another"))).rejects.toMatchObject({ fault: { code: "GATE_NOT_FOUND" } });
    await expect(writ.decide(part({ to: "ana" }), { principal: botAgent })).rejects.toThrow();
    expect(sent).toEqual([]);
    await decide(part({ to: "ana" }));
    await decide(part({ to: "ana" })); // A second click decides nothing.
    expect((await say(responded(held, true))).text).toBe("told");
    expect(sent).toEqual([{ to: "ana" }]);
  });

  it("a rejection of the person reaches the model with its reason", async () => {
    const { writ, model, sent, say, responded } = await started();
    const messages = responded(await say(), false);
    await writ.decide(messages, { principal: anaPerson });
    expect((await say(messages)).text).toBe("told");
    expect(sent).toEqual([]);
    expect(lastRequest(model)).toMatch(/denied|rejected|Refused/);
  });

  it("a tool's own needsApproval still asks, and Writ makes the call when the user agrees", async () => {
    const { sent, say, responded } = await started({ needsApproval: true }, "auto_exec");
    const held = await say();
    expect(sent).toEqual([]);
    expect((await say(responded(held, true))).text).toBe("told");
    expect(sent).toEqual([{ to: "ana" }]);
  });

  it("a call that the user denies, and a tool that Writ does not govern, are not on record as refused", async () => {
    const { writ, sent, say, responded } = await started({ needsApproval: true }, "auto_exec");
    expect((await say(responded(await say(), false))).text).toBe("told");
    expect(sent).toEqual([]);
    expect((await writ.run.turns()).flatMap((turn) => turn.calls)).toEqual([]);
    const other = await started({}, "auto_exec");
    const run = { inputSchema: ai.jsonSchema({ type: "object" }), execute: () => "made" };
    await other.say([], { tools: { send: ai.tool(run as never) } }, {});
    expect((await other.writ.run.turns()).flatMap((turn) => turn.calls)).toEqual([]);
  });

  it("tools that the provider executes are named as outside Writ, once", async () => {
    const { printed, say, own, openai } = await started();
    const tools = { ...own, search_web: openai.tools.webSearch({}) };
    await say([], {}, tools);
    await say([], {}, tools);
    expect(printed.filter((text) => text.includes("outside Writ"))).toEqual([
      "writ: outside Writ, because the provider or the client executes them: search_web.",
    ]);
  });
});

describe("toolApproval of AI SDK 7", () => {
  it("asks with a reason", async () => {
    const { writ, sent, say } = await startedWith(aiSdks[1]);
    const held = await say([], { toolApproval: writ.approval });
    const request = held.content.find(({ type }) => type === "tool-approval-request");
    expect(JSON.stringify(request)).toContain("a person has to approve this call");
    expect(sent).toEqual([]);
  });
});
