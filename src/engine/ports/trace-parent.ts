import { hash } from "node:crypto";

/** The place of a run or of a call in a trace. */
export interface TraceParent {
  readonly traceId: string;
  /** The span that the spans of the run belong to. */
  readonly spanId: string;
  readonly sampled: boolean;
}

const w3c = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/**
 * Returns the trace of a run or of a call: the one of the `traceparent` that its caller gave as `traceId`, or one derived
 * from the id of the run, so that every process and every later export finds the same trace.
 */
export function traceParentOf({
  run_id,
  trace_id,
}: {
  readonly run_id: string;
  readonly trace_id: string;
}): TraceParent {
  const [, traceId, spanId, flags = ""] = w3c.exec(trace_id) ?? [];
  if (traceId !== undefined && spanId !== undefined && /[1-9a-f]/.test(traceId) && /[1-9a-f]/.test(spanId))
    return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
  return { traceId: hash("sha256", `trace ${run_id}`).slice(0, 32), spanId: spanIdOf(run_id), sampled: true };
}

/** Returns the text of a trace context as W3C defines it, for the header or field `traceparent`. */
export function traceParentText({ traceId, spanId, sampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** Returns the text if it is a `traceparent`, else null. Other programs may send any text. */
export function readTraceParent(text: unknown): string | null {
  return typeof text === "string" && w3c.test(text) ? text : null;
}

/** Returns the id of a span that is always the same for the same name. */
export function spanIdOf(name: string): string {
  return hash("sha256", `span ${name}`).slice(0, 16);
}
