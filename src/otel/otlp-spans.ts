import type { Event } from "../core/event/event.ts";
import type { LeanStep } from "../core/plan/plan.ts";
import { askedModel } from "../core/run/model-steps.ts";
import type { Cost } from "../core/tool/tool.ts";
import { writVersion } from "../core/values/writ-version.ts";
import { spanIdOf, traceParentOf } from "../engine/ports/trace-parent.ts";
import {
  type Attributes,
  type AttributeValue,
  callAttributes,
  factSpan,
  isGateDecision,
  spanName,
  usageAttributes,
} from "./call-attributes.ts";

type AcceptedEvent = Extract<Event, { type: "run.accepted" }>;

/** A span in the JSON format of OTLP. */
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** Internal. */
  readonly kind: 1;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  /** 2: an error. */
  readonly status: { readonly code: 0 | 2; readonly message?: string };
}

/** The spans of one run, as an OTLP request in JSON. */
export interface OtlpTraces {
  readonly resourceSpans: readonly object[];
}

/**
 * Rebuilds the spans of a run from its journal. The ids are derived from the run, so a second export of the same run
 * gives the same spans.
 */
export function otlpSpans(run_id: string, events: readonly Event[]): OtlpTraces {
  const [accepted] = events;
  const spans = accepted?.type === "run.accepted" ? new RunSpans(run_id, accepted).read(events) : [];
  const scope = { name: "writ", version: writVersion };
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "writ" } }] };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] };
}

/** The tool of a step, as its proposal or the plan names it. */
interface ProposedTool {
  readonly name: string;
  readonly effect: string;
  readonly call_id: string | null;
  readonly model: string | null;
  /** The trace that the call was proposed in. Null: that of the run. */
  readonly trace_id: string | null;
}

const UNKNOWN_TOOL: ProposedTool = { name: "unknown", effect: "unknown", call_id: null, model: null, trace_id: null };

class RunSpans {
  readonly #runId: string;
  readonly #accepted: AcceptedEvent;
  readonly #tools = new Map<string, ProposedTool>();
  readonly #startedAt = new Map<string, number>();
  readonly #gates = new Map<string, { readonly step_id: string; readonly at: number; readonly rule: string }>();
  /** By step, the last gate whose approval covers its call. */
  readonly #used = new Map<string, string>();
  /** By step and attempt, the rule of a policy that allowed it. */
  readonly #passed = new Map<string, string>();
  readonly #spans: OtlpSpan[] = [];

  constructor(runId: string, accepted: AcceptedEvent) {
    this.#runId = runId;
    this.#accepted = accepted;
    this.#addPlanned(accepted.plan?.steps ?? []);
  }

  #addPlanned(steps: readonly LeanStep[]): void {
    for (const { step_id, name, effect } of steps)
      this.#tools.set(step_id, { name, effect, call_id: null, model: null, trace_id: null });
  }

  read(events: readonly Event[]): readonly OtlpSpan[] {
    for (const event of events) this.#add(event);
    const end = events.findLast(({ type }) => type === "run.ended") ?? events.at(-1);
    return [this.#runSpan(end?.at ?? this.#accepted.at), ...this.#spans];
  }

  #add(event: Event): void {
    switch (event.type) {
      case "run.replanned":
        this.#addPlanned(event.plan.steps);
        return;
      case "step.proposed":
        this.#tools.set(event.step_id, proposedTool(event));
        return;
      case "step.started":
        this.#startedAt.set(`${event.step_id}/${event.attempt}`, event.at);
        this.#notePassed(event);
        if (event.gate !== null) this.#used.set(event.step_id, event.gate.gate_id);
        return;
      case "gate.opened":
        this.#gates.set(event.gate_id, event);
        return;
      case "step.succeeded":
        this.#addSuccess(event);
        return;
      case "step.failed":
        this.#notePassed(event);
        this.#addCall(event, event.started_at, "failed", event.fault);
        return;
      case "step.rejected":
        this.#addFact(event, event.step_id);
        return;
      case "step.doubted":
        this.#addCall(
          event,
          this.#startedAt.get(`${event.step_id}/${event.attempt}`) ?? event.at,
          "unknown",
          event.fault,
        );
        return;
      default:
        if (isGateDecision(event.type) && "gate_id" in event) this.#addFact(event, event.gate_id);
    }
  }

  /** A reused result is no call. */
  #addSuccess(event: Extract<Event, { type: "step.succeeded" }>): void {
    if (event.reused !== undefined) {
      this.#addFact(event, event.step_id);
      return;
    }
    this.#notePassed(event);
    this.#addCall(event, event.started_at, "succeeded", null, event.cost);
  }

  #notePassed({
    step_id,
    attempt,
    basis,
  }: Extract<Event, { type: "step.started" | "step.succeeded" | "step.failed" }>) {
    const rule = basis?.passed[0];
    if (rule !== undefined) this.#passed.set(`${step_id}/${attempt}`, rule);
  }

  #runSpan(end: number): OtlpSpan {
    const { principal, session, project, at } = this.#accepted;
    const attributes = {
      "gen_ai.operation.name": "invoke_workflow",
      "gen_ai.agent.name": principal.id,
      ...(session !== undefined && { "gen_ai.conversation.id": session }),
      ...(project !== undefined && { "writ.project": project }),
      "writ.run_id": this.#runId,
    };
    const { traceId, spanId } = this.#parent;
    // A run without a trace of its caller is the root of its trace, under the id that its spans name as their parent.
    const isRoot = spanId === spanIdOf(this.#runId);
    const own = isRoot ? { spanId } : { spanId: spanIdOf(`${this.#runId}/run`), parentSpanId: spanId };
    return { traceId, ...own, ...spanBody("invoke_workflow writ.run", at, end, attributes, null) };
  }

  #addCall(
    { step_id, attempt, at }: { readonly step_id: string; readonly attempt: number; readonly at: number },
    start: number,
    status: string,
    fault: { readonly code: string; readonly message: string } | null,
    cost?: Cost,
  ): void {
    const tool = this.#tools.get(step_id) ?? UNKNOWN_TOOL;
    const gate_id = this.#used.get(step_id) ?? null;
    const rule = gate_id === null ? this.#passed.get(`${step_id}/${attempt}`) : this.#gates.get(gate_id)?.rule;
    const { principal, session = null, project = null } = this.#accepted;
    const attributes = {
      ...callAttributes({
        run_id: this.#runId,
        step_id,
        attempt,
        call_id: tool.call_id,
        tool: tool.name,
        model: tool.model,
        effect: tool.effect,
        verdict: gate_id === null ? "allow" : "hold",
        rule: rule ?? null,
        gate_id,
        principal: principal.id,
        project,
        session,
      }),
      "writ.status": status,
      ...(tool.model !== null && usageAttributes(cost)),
      ...(fault !== null && { "error.type": fault.code }),
    };
    const name = spanName({ tool: tool.name, model: tool.model });
    this.#push(`${step_id}/${attempt}`, tool, spanBody(name, start, at, attributes, fault));
  }

  /** Adds the span of a decided gate, of a refused call or of a reused result. */
  #addFact(event: Event, id: string): void {
    const gate = this.#gates.get(id);
    const tool = this.#tools.get(gate?.step_id ?? id);
    const held = gate === undefined ? null : { heldMs: event.at - gate.at, rule: gate.rule };
    const fact = factSpan(event, { run_id: this.#runId, tool: tool?.name ?? null, gate: held });
    if (fact === null) return;
    this.#push(id, tool ?? UNKNOWN_TOOL, spanBody(fact.name, event.at, event.at, fact.attributes, null));
  }

  #push(name: string, { trace_id }: ProposedTool, body: Omit<OtlpSpan, "traceId" | "spanId">): void {
    const run_id = this.#runId;
    const { traceId, spanId: parentSpanId } = trace_id === null ? this.#parent : traceParentOf({ run_id, trace_id });
    this.#spans.push({ traceId, spanId: spanIdOf(`${this.#runId}/${name}`), parentSpanId, ...body });
  }

  get #parent() {
    return traceParentOf({ run_id: this.#runId, trace_id: this.#accepted.trace_id });
  }
}

function proposedTool({ step, cause }: Extract<Event, { type: "step.proposed" }>): ProposedTool {
  const call_id = cause.by === "agent" ? (cause.call?.id ?? null) : null;
  const model = step.kind === "model" ? askedModel({ spec: { kind: "model", payload: step.payload ?? {} } }) : null;
  const trace_id = cause.by === "agent" ? (cause.trace_id ?? null) : null;
  return { name: step.name, effect: step.effect ?? "reads", call_id, model, trace_id };
}

function spanBody(
  name: string,
  start: number,
  end: number,
  attributes: Attributes,
  fault: { readonly message: string } | null,
): Omit<OtlpSpan, "traceId" | "spanId"> {
  return {
    name,
    kind: 1,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(Math.max(start, end)),
    attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: otlpValue(value) })),
    status: fault === null ? { code: 0 } : { code: 2, message: fault.message },
  };
}

function nanoseconds(ms: number): string {
  return `${BigInt(Math.round(ms)) * 1_000_000n}`;
}

function otlpValue(value: AttributeValue): object {
  if (typeof value === "number") return { intValue: String(value) };
  return typeof value === "boolean" ? { boolValue: value } : { stringValue: value };
}
