import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { onTestFinished } from "vitest";
import type { Event } from "../../src/core/event/event.ts";
import type { Engine, EngineOptions } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { type OtelOptions, otel } from "../../src/otel/otel.ts";
import { otlpSpans } from "../../src/otel/otlp-spans.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { anaPerson } from "../engine/engine-fixture.ts";
import { collectJournal, scriptedTool, type ToolBehaviour } from "../engine/scripted-tool.ts";

export const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

export interface Traced {
  readonly engine: Engine;
  readonly provider: BasicTracerProvider;
  spans(): readonly ReadableSpan[];
}

/** Opens an engine on a memory store whose spans stay in memory. */
export async function openTraced(
  script: ToolBehaviour,
  more: Partial<EngineOptions> & OtelOptions = {},
): Promise<Traced> {
  const { content, meter, countWaiting, ...options } = more;
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const { tool } = scriptedTool("send", script, { errorsMean: "not_done" });
  const engine = await createEngine({
    store: memoryStore(),
    tools: [tool],
    tenants: { acme: { mode: "auto_exec" } },
    observers: [
      otel({
        tracer: provider.getTracer("test"),
        ...(content && { content }),
        ...(meter && { meter }),
        ...(countWaiting && { countWaiting }),
      }),
    ],
    ...options,
  });
  onTestFinished(() => engine.close());
  return { engine, provider, spans: () => exporter.getFinishedSpans() };
}

export async function journalOf(engine: Engine, runId: string): Promise<readonly Event[]> {
  return collectJournal(await engine.run(runId, { principal: anaPerson }));
}

export interface ExportedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly { readonly key: string }[];
}

export function attributeNames(span: ExportedSpan | undefined): readonly string[] {
  return (span?.attributes ?? []).map(({ key }) => key).sort();
}

export function exportedSpans(runId: string, events: readonly Event[]): readonly ExportedSpan[] {
  return spansIn(otlpSpans(runId, events));
}

export function spansIn(request: unknown): readonly ExportedSpan[] {
  const { resourceSpans } = request as {
    readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[] }[];
  };
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

/** Starts an OTLP receiver on the loopback interface. */
export async function startReceiver(): Promise<{ readonly url: string; readonly received: readonly unknown[] }> {
  const received: unknown[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push(JSON.parse(Buffer.concat(chunks).toString("utf8")));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`, received };
}
