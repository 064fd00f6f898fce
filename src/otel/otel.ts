import {
  type Context,
  context,
  type Meter,
  metrics,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { writVersion } from "../core/values/writ-version.ts";
import type { AppendedEvent, ObservedCall, Observer } from "../engine/api/observer.ts";
import { installedProblem } from "../peers/installed-problem.ts";
import { callAttributes, gateDecisions, isGateDecision, spanName, usageAttributes } from "./call-attributes.ts";
import { EngineMetrics } from "./engine-metrics.ts";
import { traceParentOf } from "./trace-parent.ts";

export interface OtelOptions {
  /** Default: the tracer of the registered provider. */
  readonly tracer?: Tracer;
  /** Default: the meter of the registered provider. */
  readonly meter?: Meter;
  /** True: spans show the input and the redacted output of each call. Default: false. */
  readonly content?: boolean;
}

/** How many open gates are remembered, to show how long each was open. */
const OPEN_GATES_MAX = 10_000;

/**
 * Returns an observer that makes a span per attempt and a span without duration per decided gate, and counts steps,
 * gates and reused acts. No span is open while a person decides.
 */
export function otel({
  tracer = trace.getTracer("writ", writVersion),
  meter = metrics.getMeter("writ", writVersion),
  content = false,
}: OtelOptions = {}): Observer {
  const problem = installedProblem({ name: "@opentelemetry/api", tested: ["1"] }, "writ/otel");
  if (problem !== null) process.emitWarning(problem); // Telemetry never stops a program.
  const engineMetrics = new EngineMetrics(meter);
  const openedAt = new Map<string, number>();
  return {
    name: "otel",
    onEvent: (appended) => {
      const heldMs = heldTime(openedAt, appended);
      engineMetrics.count(appended, heldMs);
      addGateSpan(tracer, appended, heldMs);
    },
    aroundCall: (call, start) => {
      const { parent, name, attributes } = describeSpan(call);
      const span = tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes }, parent);
      if (content) span.setAttribute("gen_ai.tool.call.arguments", JSON.stringify(call.input));
      return context.with(trace.setSpan(parent, span), async () => {
        const startedAt = performance.now();
        const end = await start();
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

/** Remembers when gates open. Returns how long the gate was open that the event decides, or null. */
function heldTime(openedAt: Map<string, number>, { event }: AppendedEvent): number | null {
  if (event.type === "gate.opened" && openedAt.size < OPEN_GATES_MAX) openedAt.set(event.gate_id, event.at);
  if (!isGateDecision(event.type) || !("gate_id" in event)) return null;
  const opened = openedAt.get(event.gate_id);
  openedAt.delete(event.gate_id);
  return opened === undefined ? null : event.at - opened;
}

function addGateSpan(tracer: Tracer, { run_id, trace_id, event, tool }: AppendedEvent, heldMs: number | null): void {
  if (!isGateDecision(event.type) || !("gate_id" in event)) return;
  const attributes = {
    "writ.run_id": run_id,
    "writ.gate_id": event.gate_id,
    "writ.decision": gateDecisions[event.type],
    ...(tool !== null && { "gen_ai.tool.name": tool }),
    ...(heldMs !== null && { "writ.held_ms": heldMs }),
  };
  const span = tracer.startSpan("writ.gate", { attributes, startTime: event.at }, runContext({ run_id, trace_id }));
  span.end(event.at);
}
