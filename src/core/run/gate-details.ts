import type { Demand, Vote } from "../approval/approval-demand.ts";
import type { Preview } from "../approval/result-preview.ts";
import type { EarlierAct } from "../event/model-call.ts";
import type { CostEstimate } from "../limits/budget.ts";
import type { AskedValue } from "../tool/asked-data.ts";
import type { Fault } from "../values/fault.ts";
import type { GateId, Instant, StepId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import type { Gate } from "./run.ts";

/** A held call as a person sees it. */
export interface OpenGate {
  readonly gate_id: GateId;
  readonly step_id: StepId;
  readonly tool: string;
  readonly input: Json;
  readonly digest: string;
  readonly reason: string;
  readonly expires_at: Instant;
  /** The approvals that the gate demands. `votes` are the approvals so far. */
  readonly demand: Demand;
  readonly votes: readonly Vote[];
  /** The expected cost, or null if it is unknown. */
  readonly estimate: CostEstimate | null;
  /** True if the call can be undone or restored. Null if there is nothing to undo. */
  readonly reversible: boolean | null;
  /** Present if the approval also covers the compensation of the act, with which the plan is rolled back if it aborts. */
  readonly covers?: "compensation";
  /** The version of the policy that judged the call. Null if no policy was in force. */
  readonly policy: string | null;
  /** The expected changes, or null if there is no preview. */
  readonly preview: Preview | null;
  /** The acts of the same tool in branches that the conversation has left. `approve` with `sameAs` says that the call is one of these acts. */
  readonly earlier?: readonly EarlierAct[];
  /** The values that the call lacks. The approval supplies them (`data`). */
  readonly asks_for?: readonly AskedValue[];
  /** Why an earlier approval is no longer valid. */
  readonly stale?: Fault;
  /** A reason to look twice: the identity of the act may not be what it looks like. */
  readonly caution?: string;
}

export function toOpenGate(gate: Gate, tool: string): OpenGate {
  const { gate_id, step_id, call } = gate;
  return { gate_id, step_id, tool, input: call.input, digest: call.digest, ...gateDetails(gate) };
}

/** Returns the fields of a gate that a person needs for a decision. */
export function gateDetails(gate: Gate): Omit<OpenGate, "gate_id" | "step_id" | "tool" | "input" | "digest"> {
  const { reason, expires_at, demand, votes, stale, call, earlier, asks_for } = gate;
  return {
    reason,
    expires_at,
    demand,
    votes,
    estimate: gate.estimate ?? null,
    reversible: gate.reversible ?? null,
    ...(gate.covers && { covers: gate.covers }),
    policy: gate.basis?.policy ?? null,
    preview: gate.preview ?? null,
    ...(earlier && { earlier }),
    ...(asks_for && { asks_for }),
    ...(stale && { stale }),
    ...(call.caution !== undefined && { caution: call.caution }),
  };
}
