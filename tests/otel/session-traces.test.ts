import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { govern } from "../../src/agents/govern.ts";
import { anaPerson, botAgent } from "../engine/engine-fixture.ts";
import { chat, chatAnswer, user } from "../engine/scripted-model.ts";
import { scriptedTool } from "../engine/scripted-tool.ts";
import { attributeNames, exportedSpans, journalOf, openTraced, traceparent } from "./traced-engine.ts";

const theirs = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const another = "00-11111111111111111111111111111111-2222222222222222-01";

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => context.disable());

describe("the trace of a session", () => {
  it("continues the trace of its opening, and that of a call which names its own, live and in the export", async () => {
    const { engine, spans } = await openTraced(() => ({}));
    const run = await engine.openRun({ session: "chat", principal: botAgent, traceId: traceparent });
    await run.callTool({ id: "1", tool: "send", input: { n: 1 } });
    await run.callTool({ id: "2", tool: "send", input: { n: 2 } }, { traceId: another });
    const live = spans().map((span) => [span.spanContext().traceId, span.parentSpanContext?.spanId]);
    expect(live).toEqual([
      [theirs.traceId, theirs.spanId],
      ["1".repeat(32), "2".repeat(16)],
    ]);
    const [, ...exported] = exportedSpans(run.run_id, await journalOf(engine, run.run_id));
    expect(exported.map(({ traceId, parentSpanId }) => [traceId, parentSpanId])).toEqual(live);
  });

  it("is passed on to a tool, a model and a host: each gets the span of its attempt", async () => {
    const { engine, spans } = await openTraced(({ context: { traceparent: given } }) => ({ given }));
    const run = await engine.openRun({ session: "chat", principal: botAgent, traceId: traceparent });
    const called = await run.callTool({ id: "1", tool: "send", input: {} });
    let asked = "";
    await run.recordModelCall(chat(user("hi")), (given) => {
      asked = given.traceparent;
      return chatAnswer("hello");
    });
    const begun = await run.beginCall({ id: "2", tool: "send", input: { n: 2 } });
    if (!("go" in begun)) throw new Error("the call was not begun");
    expect(spans()).toHaveLength(2); // The span of the host is open while the host works.
    await run.endCall(begun.token, { output: {} });
    const ids = spans().map((span) => `00-${theirs.traceId}-${span.spanContext().spanId}-01`);
    expect([called.status === "succeeded" && called.output, asked, begun.traceparent]).toEqual([
      { given: ids[0] },
      ids[1],
      ids[2],
    ]);
    expect(spans()[2]).toMatchObject({ name: "execute_tool send", attributes: { "writ.status": "succeeded" } });
  });

  it("is passed on without an observer, from the trace of the run", async () => {
    const { engine } = await openTraced(({ context: { traceparent: given } }) => ({ given }), { observers: [] });
    const run = await engine.openRun({ session: "chat", principal: botAgent, traceId: traceparent });
    expect(await run.callTool({ id: "1", tool: "send", input: {} })).toMatchObject({ output: { given: traceparent } });
    const begun = await run.beginCall({ id: "2", tool: "send", input: { n: 2 } });
    expect(begun).toMatchObject({ traceparent });
  });

  it("ends the span of work that a host reports as failed, below the span that is active in the host", async () => {
    const { engine, provider, spans } = await openTraced(() => ({}));
    const run = await engine.openRun({ session: "chat", principal: botAgent });
    const outer = provider.getTracer("host").startSpan("loop");
    const begun = await context.with(trace.setSpan(context.active(), outer), () =>
      run.beginCall({ id: "1", tool: "send", input: {} }),
    );
    if (!("go" in begun)) throw new Error("the call was not begun");
    await run.endCall(begun.token, { notDone: { message: "no luck" } });
    expect(spans()).toMatchObject([
      {
        name: "execute_tool send",
        parentSpanContext: { spanId: outer.spanContext().spanId },
        attributes: { "writ.status": "failed", "error.type": "TOOL_FAILED" },
      },
    ]);
  });

  it("is sent as a header with a request to a model, unless the client sends one", async () => {
    const { engine, spans } = await openTraced(() => ({}));
    const writ = await govern({ engine, session: "chat", principal: botAgent, traceId: traceparent });
    const sent: Headers[] = [];
    const inner: typeof fetch = async (_target, init) => {
      sent.push(new Headers(init?.headers));
      return Response.json(chatAnswer("hello"));
    };
    const asking = writ.fetch({ fetch: inner });
    const ask = (text: string, headers: Record<string, string>) =>
      asking("http://127.0.0.1/v1/chat", {
        method: "POST",
        headers: { "x-own": "1", ...headers },
        body: JSON.stringify(chat(user(text))),
      });
    await ask("one", {});
    expect(sent[0]?.get("traceparent")).toBe(`00-${theirs.traceId}-${spans()[0]?.spanContext().spanId}-01`);
    expect(sent[0]?.get("x-own")).toBe("1");
    await ask("two", { traceparent: another });
    expect(sent[1]?.get("traceparent")).toBe(another);
  });

  it("shows a call that the receipt of an earlier act answered, as a span without duration", async () => {
    const { tool } = scriptedTool("send", () => ({}), { identity: ["/to"], onDuplicate: "reuse" });
    const { engine, spans } = await openTraced(() => ({}), { tools: [tool] });
    const first = await engine.call("send", { to: "ana" }, { principal: botAgent });
    const second = await engine.call("send", { to: "ana" }, { principal: botAgent });
    const reuse = spans().find(({ name }) => name === "writ.reuse");
    expect(spans().map(({ name }) => name)).toEqual(["execute_tool send", "writ.reuse"]);
    expect(reuse).toMatchObject({
      duration: [0, 0],
      attributes: { "writ.reused": expect.stringContaining(first.run_id), "gen_ai.tool.name": "send" },
    });
    const [, exported] = exportedSpans(second.run_id, await journalOf(engine, second.run_id));
    expect([exported?.name, attributeNames(exported)]).toEqual([
      "writ.reuse",
      Object.keys(reuse?.attributes ?? {}).sort(),
    ]);
  });

  it("shows a refused call as a span without duration", async () => {
    const { engine, spans } = await openTraced(() => ({}));
    const run = await engine.openRun({ session: "chat", principal: botAgent });
    await run.callTool({ id: "1", tool: "unknown", input: {} });
    const [refused] = spans();
    expect(refused).toMatchObject({
      name: "writ.refusal",
      duration: [0, 0],
      attributes: { "writ.verdict": "refuse", "writ.rule": expect.any(String), "error.type": "TOOL_UNKNOWN" },
    });
    expect(refused?.attributes).not.toHaveProperty(["gen_ai.operation.name"]);
    const [, exported] = exportedSpans(run.run_id, await journalOf(engine, run.run_id));
    expect(exported?.name).toBe("writ.refusal");
    expect(attributeNames(exported)).toEqual(Object.keys(refused?.attributes ?? {}).sort());
  });

  it("refuses a trace that is no name, and tools see no trace that a caller invented", async () => {
    const { engine } = await openTraced(({ context: { traceparent: given } }) => ({ given }), {
      observers: [
        {
          name: "wrong",
          aroundCall: async (_call, start) => void (await start({ traceparent: "not a trace\r\nx-evil: 1" })),
        },
      ],
    });
    await expect(engine.openRun({ session: "a", principal: botAgent, traceId: "" })).rejects.toThrow("traceId");
    const run = await engine.openRun({ session: "chat", principal: anaPerson, traceId: "request 7" });
    const answer = await run.callTool({ id: "1", tool: "send", input: {} });
    expect(answer).toMatchObject({ output: { given: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/) } });
    await expect(run.callTool({ id: "2", tool: "send", input: {} }, { traceId: "" })).rejects.toThrow("traceId");
  });
});
