import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createEngine } from "../../src/engine/engine.ts";
import { otel } from "../../src/otel/otel.ts";
import { otlpSpans } from "../../src/otel/otlp-spans.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { anaPerson, botAgent } from "../engine/engine-fixture.ts";
import { gateOf } from "../engine/open-run-fixture.ts";
import { chat, chatAnswer, user } from "../engine/scripted-model.ts";
import { collectJournal, scriptedTool, throwsFault } from "../engine/scripted-tool.ts";
import {
  attributeNames,
  exportedSpans,
  journalOf,
  openTraced,
  spansIn,
  startReceiver,
  traceparent,
} from "./traced-engine.ts";

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => {
  context.disable();
  propagation.disable();
});

describe("otel", () => {
  it("makes one span per attempt, in a trace that is derived from the run", async () => {
    const { engine, spans } = await openTraced(() => ({ sent: true }));
    const { run_id } = await engine.call("send", { to: "ana" }, { principal: botAgent, session: "chat" });
    const [span] = spans();
    expect(spans()).toHaveLength(1);
    expect(span).toMatchObject({
      name: "execute_tool send",
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "send",
        "gen_ai.conversation.id": "chat",
        "gen_ai.agent.name": "bot",
        "writ.run_id": run_id,
        "writ.attempt": 1,
        "writ.effect": "acts",
        "writ.status": "succeeded",
      },
    });
    const [, exported] = exportedSpans(run_id, await journalOf(engine, run_id));
    expect(exported).toMatchObject({
      traceId: span?.spanContext().traceId,
      parentSpanId: span?.parentSpanContext?.spanId,
    });
    expect(span?.attributes).not.toHaveProperty(["gen_ai.tool.call.arguments"]);
  });

  it("shows the fault of a failed call, and the content only if asked", async () => {
    const { engine, spans } = await openTraced(throwsFault("TOOL_FAILED"), { content: true });
    await engine.call("send", { to: "ana" }, { principal: botAgent });
    expect(spans()[0]).toMatchObject({
      attributes: { "error.type": "TOOL_FAILED", "gen_ai.tool.call.arguments": '{"to":"ana"}' },
      status: { code: 2 },
    });
  });

  it("continues the trace of the submission", async () => {
    const { engine, spans } = await openTraced(() => ({}));
    await engine.call("send", {}, { principal: botAgent, traceId: traceparent });
    expect(spans()[0]?.spanContext().traceId).toBe("0af7651916cd43dd8448eb211c80319c");
    expect(spans()[0]?.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
  });

  it("is the active span of the handler", async () => {
    const { engine, spans } = await openTraced(() => ({ span: trace.getActiveSpan()?.spanContext().spanId ?? null }));
    const { step } = await engine.call("send", {}, { principal: botAgent });
    expect(step.output).toEqual({ span: spans()[0]?.spanContext().spanId });
  });

  it("makes no second tool span below the tool span of a framework", async () => {
    const { engine, provider, spans } = await openTraced(() => ({}));
    const outer = provider.getTracer("framework").startSpan("ai.toolCall");
    await context.with(trace.setSpan(context.active(), outer), () => engine.call("send", {}, { principal: botAgent }));
    const [span] = spans();
    expect(span).toMatchObject({ name: "writ.step send", parentSpanContext: { spanId: outer.spanContext().spanId } });
    expect(span?.attributes).not.toHaveProperty(["gen_ai.operation.name"]);
  });

  it("has no span open while a person decides, and shows how long the gate was open", async () => {
    let now = 1_700_000_000_000;
    const clock = { now: () => now };
    const { engine, spans } = await openTraced(() => ({}), { tenants: {}, clock: clock as never });
    const run = await engine.submit({ steps: [{ step_id: "a", name: "send", payload: {} }] }, { principal: botAgent });
    const { gates } = await run.result();
    expect(spans()).toEqual([]);
    now += 60_000;
    await engine.approve(gates[0]?.gate_id ?? "", { principal: anaPerson });
    await run.result();
    const [gate, call] = spans();
    expect(gate).toMatchObject({
      name: "writ.gate",
      duration: [0, 0],
      attributes: {
        "writ.decision": "approved",
        "writ.verdict": "hold",
        "writ.rule": expect.any(String),
        "writ.held_ms": 60_000,
        "gen_ai.tool.name": "send",
      },
    });
    expect(call?.attributes).toMatchObject({ "writ.verdict": "hold", "writ.rule": gate?.attributes["writ.rule"] });
    expect(call?.attributes["writ.gate_id"]).toBe(gates[0]?.gate_id);
    expect(exportedSpans(run.run_id, await collectJournal(run)).map(({ name }) => name)).toEqual([
      "invoke_workflow writ.run",
      "writ.gate",
      "execute_tool send",
    ]);
  });

  it("counts steps, reused acts and gates, and measures calls", async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    const countWaiting = async () => ({ gates_open: 2, in_doubt: 1 });
    const { engine } = await openTraced(() => ({}), { meter: provider.getMeter("test"), countWaiting });
    const step = { name: "send", payload: { to: "ana" } };
    const steps = [{ ...step, step_id: "a" }];
    const run = await engine.submit({ steps }, { principal: botAgent });
    await run.result();
    await reader.forceFlush();
    const found = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
    const values = Object.fromEntries(found.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
    expect(values["writ.steps"]).toMatchObject([
      { attributes: { "gen_ai.tool.name": "send", "writ.outcome": "succeeded" }, value: 1 },
    ]);
    expect(values["gen_ai.execute_tool.duration"]).toMatchObject([{ value: { count: 1 } }]);
    expect(values["writ.gates.open"]).toMatchObject([{ value: 2 }]);
    expect(values["writ.in_doubt"]).toMatchObject([{ value: 1 }]);
    const journal = await collectJournal(run);
    const [appends] = values["writ.append.duration"] as unknown as readonly [{ readonly value: { count: number } }];
    expect(appends.value.count).toBeGreaterThan(0);
    expect(appends.value.count).toBeLessThanOrEqual(journal.length);
    await provider.shutdown();
  });

  it("names the spans of a session by its model, its calls and their ids, live and in the export", async () => {
    const { engine, spans } = await openTraced(() => ({ sent: true }));
    const run = await engine.openRun({ session: "chat 7", principal: botAgent });
    const use = { id: "toolu.1:a", tool: "send", input: { to: "ana" } };
    const usage = { prompt_tokens: 7, completion_tokens: 3 };
    await run.recordModelCall(chat(user("tell ana")), () => ({ ...chatAnswer(null, use), usage }));
    await run.callTool(use);
    await run.close();
    const live = spans().map(({ name, attributes }) => ({ name, attributes }));
    expect(live).toMatchObject([
      {
        name: "chat m-1",
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.request.model": "m-1",
          "gen_ai.usage.input_tokens": 7,
          "gen_ai.usage.output_tokens": 3,
          "gen_ai.conversation.id": "chat 7",
          "writ.status": "succeeded",
        },
      },
      {
        name: "execute_tool send",
        attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "toolu.1:a" },
      },
    ]);
    const [, ...exported] = exportedSpans(run.run_id, await journalOf(engine, run.run_id));
    expect(exported.map(({ name }) => name)).toEqual(live.map(({ name }) => name));
    for (const [index, span] of exported.entries())
      expect(attributeNames(span)).toEqual(Object.keys(live[index]?.attributes ?? {}).sort());
  });

  it("makes no second span below the span of a framework for a request to a model", async () => {
    const { engine, provider, spans } = await openTraced(() => ({}));
    const run = await engine.openRun({ session: "chat", principal: botAgent });
    const outer = provider.getTracer("framework").startSpan("chat gpt");
    await context.with(trace.setSpan(context.active(), outer), () =>
      run.recordModelCall(chat(user("hi")), () => chatAnswer("hello")),
    );
    expect(spans()).toMatchObject([
      { name: "writ.step writ.model", parentSpanContext: { spanId: outer.spanContext().spanId } },
    ]);
  });

  it("has no span open while the call of a session is held, and one span when it runs", async () => {
    const { engine, spans } = await openTraced(() => ({}), { tenants: {} });
    const run = await engine.openRun({ session: "chat", principal: botAgent });
    const held = await run.callTool({ id: "1", tool: "send", input: {} });
    expect([held.status, spans()]).toEqual(["held", []]);
    await engine.approve(gateOf(held), { principal: anaPerson });
    expect(await run.findCall("1")).toMatchObject({ status: "succeeded" });
    expect(spans().map(({ name }) => name)).toEqual(["writ.gate", "execute_tool send"]);
  });

  it("exports the work that a host did itself", async () => {
    const { engine } = await openTraced(() => ({}));
    const run = await engine.openRun({ session: "chat", principal: botAgent });
    const begun = await run.beginCall({ id: "1", tool: "send", input: {} });
    if (!("go" in begun)) throw new Error("the call was not begun");
    await run.endCall(begun.token, { output: {} });
    const [, span] = exportedSpans(run.run_id, await journalOf(engine, run.run_id));
    expect(span?.name).toBe("execute_tool send");
  });

  it("sends the same spans to an OTLP receiver as an export of the journal", async () => {
    const receiver = await startReceiver();
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url: receiver.url }))],
    });
    const { tool } = scriptedTool("send", () => ({}));
    const engine = await createEngine({
      store: memoryStore(),
      tools: [tool],
      tenants: { acme: { mode: "auto_exec" } },
      observers: [otel({ tracer: provider.getTracer("test") })],
    });
    onTestFinished(() => engine.close());
    const { run_id } = await engine.call("send", {}, { principal: botAgent });
    await provider.forceFlush();
    const exported = otlpSpans(run_id, await journalOf(engine, run_id));
    const response = await fetch(receiver.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(exported),
    });
    expect(response.status).toBe(200);
    const [live, rebuilt] = receiver.received.map((request) =>
      spansIn(request).find(({ name }) => name.includes("send")),
    );
    expect(Object.keys(live ?? {})).toEqual(expect.arrayContaining(Object.keys(rebuilt ?? {})));
    expect(rebuilt).toMatchObject({ traceId: live?.traceId, parentSpanId: live?.parentSpanId, name: live?.name });
    expect(attributeNames(rebuilt)).toEqual(attributeNames(live));
    await provider.shutdown();
  });
});
