/** The value of an attribute. */
export type AttributeValue = string | number | boolean;

export type Attributes = Readonly<Record<string, AttributeValue>>;

/** The facts of a call that a span shows. */
interface SpanFacts {
  readonly run_id: string;
  readonly step_id: string;
  readonly attempt: number;
  readonly tool: string;
  readonly effect: string;
  readonly gate_id: string | null;
  readonly principal: string;
  readonly project: string | null;
  readonly session: string | null;
}

/** Returns the attributes of the span of an attempt, by the conventions of OpenTelemetry for generative AI. */
export function callAttributes(call: SpanFacts): Attributes {
  const { run_id, step_id, attempt, tool, effect, gate_id, principal, project, session } = call;
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": step_id,
    "gen_ai.agent.name": principal,
    ...(session !== null && { "gen_ai.conversation.id": session }),
    "writ.run_id": run_id,
    "writ.step_id": step_id,
    "writ.attempt": attempt,
    "writ.effect": effect,
    ...(gate_id !== null && { "writ.gate_id": gate_id }),
    ...(project !== null && { "writ.project": project }),
  };
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
