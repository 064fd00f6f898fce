import type { Demand } from "../../../src/core/approval/approval-demand.ts";
import type { Principal } from "../../../src/core/approval/principal.ts";
import type { Basis } from "../../../src/core/approval/verdict-basis.ts";
import type { Call, Event } from "../../../src/core/event/event.ts";
import type { ToolPin } from "../../../src/core/event/tool-pin.ts";
import type { Capture, ResourceClosing, RestoreReport } from "../../../src/core/ports/resource.ts";
import type { ExplainedDecision } from "../../../src/core/run/explained-decision.ts";
import type { StateChange } from "../../../src/core/state/state-change.ts";
import type { WaitingFor } from "../../../src/core/store/tables.ts";
import type { ExternalChange } from "../../../src/core/tool/external-change.ts";
import type { Cost } from "../../../src/core/tool/tool.ts";
import type { Fault } from "../../../src/core/values/fault.ts";
import type { GateId, Instant, RunId, WorkerId } from "../../../src/core/values/ids.ts";
import type { Json } from "../../../src/core/values/json.ts";

/** The activity of a step in a part of its time. A step that is not ready yet, or has ended, is in no phase. */
export type PhaseKind = "queued" | "running" | "person" | "waiting" | "retrying" | "doubt" | "undoing";

export interface Phase {
  readonly kind: PhaseKind;
  readonly from: Instant;
  /** Null while it lasts. */
  until: Instant | null;
  /** The thing that the step waits for. Null: it does not wait. */
  readonly waitsFor: WaitingFor | null;
}

/** One execution of a step, with everything that the journal says about it. */
export interface Attempt {
  readonly number: number;
  readonly started_at: Instant;
  ended_at: Instant | null;
  outcome: "running" | "succeeded" | "failed" | "cancelled" | "in doubt" | "restoring";
  fault: Fault | null;
  retry_at: Instant | null;
  cost: Cost | null;
  /** The worker that made the call of an act. */
  worker: WorkerId | null;
  /** True: the host of the agent does the work itself. */
  readonly external: boolean;
  reported_by: string | null;
  heartbeat: Json | null;
  captures: readonly Capture[];
  restored: readonly RestoreReport[];
  /** The positions of its first and last event. */
  readonly first: number;
  last: number;
}

export interface Verdict extends ExplainedDecision {
  readonly position: number;
  readonly at: Instant;
  readonly gate_id: GateId | null;
}

/** A held call, and what people did about it. */
export interface GateHistory {
  readonly gate_id: GateId;
  readonly opened: Extract<Event, { readonly type: "gate.opened" }>;
  readonly demand: Demand;
  status: "open" | "approved" | "edited" | "rejected" | "expired" | "closed";
  readonly votes: {
    readonly by: Principal;
    readonly at: Instant;
    readonly says: "approve" | "edit" | "reject" | "refused";
    readonly reason: string;
  }[];
}

/** The changes that an attempt published. */
export interface PublishedChange {
  readonly position: number;
  readonly attempt: number;
  readonly at: Instant;
  readonly state: StateChange | null;
  readonly files: readonly ResourceClosing[];
}

export interface SentNotice {
  readonly notice_id: string;
  readonly topic: string;
  readonly payload: Json;
}

/** The late answers, probes and settlements of an act in doubt. */
export interface DoubtNote {
  readonly at: Instant;
  readonly position: number;
  readonly text: string;
  readonly evidence: Json | null;
}

/** The record of a step over time, from its journal. The fold changes it in place; `revision` grows with every change. */
export interface StepHistory {
  revision: number;
  readonly proposed_at: Instant;
  pin: ToolPin | null;
  ready_at: Instant | null;
  ended_at: Instant | null;
  readonly phases: Phase[];
  readonly attempts: Attempt[];
  readonly verdicts: Verdict[];
  readonly gates: GateHistory[];
  readonly changes: PublishedChange[];
  /** The changes outside that the last attempt put on record. */
  external: readonly ExternalChange[];
  readonly notices: SentNotice[];
  readonly doubts: DoubtNote[];
  /** The exact input, once an event has recorded it. Null: that of the plan. */
  input: Json | null;
  call: Call | null;
  output: Json | null;
  hasOutput: boolean;
  warning: string | null;
  basis: Basis | null;
  delegated: RunId | null;
  /** The positions of all events of the step and its gates. */
  readonly positions: number[];
}

export function newStepHistory(proposed_at: Instant, pin: ToolPin | null): StepHistory {
  return {
    revision: 0,
    proposed_at,
    pin,
    ready_at: null,
    ended_at: null,
    phases: [],
    attempts: [],
    verdicts: [],
    gates: [],
    changes: [],
    external: [],
    notices: [],
    doubts: [],
    input: null,
    call: null,
    output: null,
    hasOutput: false,
    warning: null,
    basis: null,
    delegated: null,
    positions: [],
  };
}
