import type { Event } from "../core/event/event.ts";

/** The value of an attribute. */
export type AttributeValue = string | number | boolean;

export type Attributes = Readonly<Record<string, AttributeValue>>;

/** The facts of a call that a span shows. */
interface SpanFacts {
  readonly run_id: string;
  readonly step_id: string;
  readonly attempt: number;
  readonly call_id: string | null;
  readonly tool: string;
  readonly model: string | null;
  readonly effect: string;
  readonly verdict: string;
  readonly rule: string | null;
  readonly gate_id: string | null;
  readonly principal: string;
  readonly project: string | null;
  readonly session: string | null;
}

/** Returns the attributes of the span of an attempt, by the conventions of OpenTelemetry for generative AI. */
export function callAttributes(call: SpanFacts): Attributes {
  const { run_id, step_id, attempt, effect, verdict, rule, gate_id, principal, project, session } = call;
  return {
    ...operationAttributes(call),
    "gen_ai.agent.name": principal,
    ...(session !== null && { "gen_ai.conversation.id": session }),
    "writ.run_id": run_id,
    "writ.step_id": step_id,
    "writ.attempt": attempt,
    "writ.effect": effect,
    "writ.verdict": verdict,
    ...(rule !== null && { "writ.rule": rule }),
    ...(gate_id !== null && { "writ.gate_id": gate_id }),
    ...(project !== null && { "writ.project": project }),
  };
}

function operationAttributes({ tool, model, call_id, step_id }: SpanFacts): Attributes {
  if (model !== null)
    return { "gen_ai.operation.name": "chat", ...(model !== "" && { "gen_ai.request.model": model }) };
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": call_id ?? step_id,
  };
}

/** Returns the name of the span of an attempt. */
export function spanName({ tool, model }: Pick<SpanFacts, "tool" | "model">): string {
  return model === null ? `execute_tool ${tool}` : `chat ${model}`.trimEnd();
}

/** Returns the tokens that a model call has used. */
export function usageAttributes(cost: TokenUsage | null | undefined): Attributes {
  if (cost == null || cost.tokens_in + cost.tokens_out === 0) return {};
  return { "gen_ai.usage.input_tokens": cost.tokens_in, "gen_ai.usage.output_tokens": cost.tokens_out };
}

interface TokenUsage {
  readonly tokens_in: number;
  readonly tokens_out: number;
}

/** A span without duration for a fact of a run that is no attempt. */
export interface FactSpan {
  readonly name: "writ.gate" | "writ.refusal" | "writ.reuse";
  readonly attributes: Attributes;
}

/** The run, tool and gate of a fact. */
export interface FactFrame {
  readonly run_id: string;
  readonly tool: string | null;
  /** The gate that the event decides: how long it was open and the rule that held the call, if they are known. */
  readonly gate: { readonly heldMs: number; readonly rule: string } | null;
}

/** Returns the span of a decided gate, of a refused call, and of a call that a receipt or an outcome answered; else null. */
export function factSpan(event: Event, { run_id, tool, gate }: FactFrame): FactSpan | null {
  const about = { "writ.run_id": run_id, ...(tool !== null && { "gen_ai.tool.name": tool }) };
  if (isGateDecision(event.type) && "gate_id" in event) {
    const attributes = {
      ...about,
      "writ.gate_id": event.gate_id,
      "writ.verdict": "hold",
      "writ.decision": gateDecisions[event.type],
      ...(gate !== null && { "writ.held_ms": gate.heldMs, "writ.rule": gate.rule }),
    };
    return { name: "writ.gate", attributes };
  }
  if (event.type === "step.rejected") {
    const { step_id, rule, fault } = event;
    const why = { "writ.verdict": "refuse", "writ.rule": rule, "error.type": fault.code };
    return { name: "writ.refusal", attributes: { ...about, "writ.step_id": step_id, ...why } };
  }
  if (event.type === "step.succeeded" && event.reused !== undefined) {
    const { run, step } = event.reused;
    const attributes = { ...about, "writ.step_id": event.step_id, "writ.reused": `${run}/${step}` };
    return { name: "writ.reuse", attributes };
  }
  return null;
}

/** Events that decide a gate, and the decision that a span shows. */
export const gateDecisions = {
  "gate.approved": "approved",
  "gate.amended": "approved",
  "gate.rejected": "rejected",
  "gate.expired": "expired",
  "gate.closed": "closed",
} as const;

export function isGateDecision(type: string): type is keyof typeof gateDecisions {
  return Object.hasOwn(gateDecisions, type);
}
