import {
  type Context,
  context,
  type Meter,
  metrics,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { writVersion } from "../core/values/writ-version.ts";
import type { AppendedEvent, ObservedCall, Observer } from "../engine/api/observer.ts";
import { traceParentOf, traceParentText } from "../engine/ports/trace-parent.ts";
import { installedPackageProblem } from "../peer-packages/installed-package-problem.ts";
import {
  callAttributes,
  type FactFrame,
  factSpan,
  isGateDecision,
  spanName,
  usageAttributes,
} from "./call-attributes.ts";
import { EngineMetrics, type WaitingCounts } from "./engine-metrics.ts";

export interface OtelOptions {
  /** Default: the tracer of the registered provider. */
  readonly tracer?: Tracer;
  /** Default: the meter of the registered provider. */
  readonly meter?: Meter;
  /** True: spans show the input and the redacted output of each call. Default: false. */
  readonly content?: boolean;
  /**
   * Counts what waits for people now, for the gauges `writ.gates.open` and `writ.in_doubt`. The lists `engine.gates` and
   * `engine.inDoubt` count it with `count: true`. Default: these gauges do not exist.
   */
  readonly countWaiting?: () => Promise<WaitingCounts>;
}

/** How many open gates are remembered, to show how long each was open. */
const OPEN_GATES_MAX = 10_000;

/**
 * Returns an observer that makes a span per attempt and a span without duration per decided gate, refused call and reused
 * result, and counts steps, gates and reused acts. No span is open while a person decides.
 */
export function otel({
  tracer = trace.getTracer("writ", writVersion),
  meter = metrics.getMeter("writ", writVersion),
  content = false,
  countWaiting,
}: OtelOptions = {}): Observer {
  const problem = installedPackageProblem({ name: "@opentelemetry/api", tested: ["1"] }, "writ/otel");
  if (problem !== null) process.emitWarning(problem); // Telemetry never stops a program.
  const engineMetrics = new EngineMetrics(meter, countWaiting ?? null);
  const openGates = new Map<string, OpenedGate>();
  return {
    name: "otel",
    onEvent: (appended) => {
      const gate = decidedGate(openGates, appended);
      engineMetrics.count(appended, gate?.heldMs ?? null);
      addFactSpan(tracer, appended, gate);
    },
    onAppend: ({ ms }) => engineMetrics.measureAppend(ms),
    aroundCall: (call, start) => {
      const { parent, name, attributes } = describeSpan(call);
      const span = tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes }, parent);
      if (content) span.setAttribute("gen_ai.tool.call.arguments", JSON.stringify(call.input));
      return context.with(trace.setSpan(parent, span), async () => {
        const startedAt = performance.now();
        const end = await start({ traceparent: textOf(span) });
        engineMetrics.measureCall(call, end, performance.now() - startedAt);
        span.setAttribute("writ.status", end.status);
        if (call.model !== null) span.setAttributes(usageAttributes(end.cost));
        if (content && end.status === "succeeded")
          span.setAttribute("gen_ai.tool.call.result", JSON.stringify(end.output));
        if (end.fault !== null) {
          span.setAttribute("error.type", end.fault.code);
          span.setStatus({ code: SpanStatusCode.ERROR, message: end.fault.message });
        }
        span.end();
      });
    },
  };
}

/** The spans of frameworks for a tool call, and for a request to a model. */
const toolSpan = /^(?:ai\.toolCall|execute_tool)\b/;
const modelSpan = /^(?:ai\.(?:generateText|streamText)\.do|chat\b)/;

/** A framework that has its own span for a tool call makes ours a part of it, so that no call is counted twice. */
function describeSpan(call: ObservedCall): {
  readonly parent: Context;
  readonly name: string;
  readonly attributes: Record<string, string | number | boolean>;
} {
  const attributes = { ...callAttributes(call) };
  const active = trace.getActiveSpan() as { readonly name?: unknown } | undefined;
  if (active === undefined) return { parent: runContext(call), name: spanName(call), attributes };
  const isWithinOwn = (call.model === null ? toolSpan : modelSpan).test(String(active.name));
  if (!isWithinOwn) return { parent: context.active(), name: spanName(call), attributes };
  delete attributes["gen_ai.operation.name"];
  return { parent: context.active(), name: `writ.step ${call.tool}`, attributes };
}

/** Returns a context in which new spans belong to the trace of the run. */
function runContext(run: Pick<ObservedCall, "run_id" | "trace_id">): Context {
  const { traceId, spanId, sampled } = traceParentOf(run);
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

interface OpenedGate {
  readonly at: number;
  readonly rule: string;
}

/** Remembers when gates open. Returns how long the gate was open that the event decides, and its rule; else null. */
function decidedGate(openGates: Map<string, OpenedGate>, { event }: AppendedEvent): FactFrame["gate"] {
  if (event.type === "gate.opened" && openGates.size < OPEN_GATES_MAX) openGates.set(event.gate_id, event);
  if (!isGateDecision(event.type) || !("gate_id" in event)) return null;
  const opened = openGates.get(event.gate_id);
  openGates.delete(event.gate_id);
  return opened === undefined ? null : { heldMs: event.at - opened.at, rule: opened.rule };
}

function addFactSpan(tracer: Tracer, { run_id, trace_id, event, tool }: AppendedEvent, gate: FactFrame["gate"]): void {
  const fact = factSpan(event, { run_id, tool, gate });
  if (fact === null) return;
  const { name, attributes } = fact;
  tracer.startSpan(name, { attributes, startTime: event.at }, runContext({ run_id, trace_id })).end(event.at);
}

function textOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return traceParentText({ traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 });
}
