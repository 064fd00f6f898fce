import type { LedgerState } from "../store/tables.ts";
import type { Digest, EffectKey, RunId, StepId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";

/** An act of another run of the conversation that a branch has left. The ledger row of its key says how it ended. */
export interface LeftAct {
  readonly run_id: RunId;
  readonly step_id: StepId;
  readonly tool: string;
  readonly key: EffectKey;
  readonly digest: Digest;
  /** The state of the act when it was reported. */
  readonly state: LedgerState;
  /** The last branch that left the act. */
  readonly branch: BranchId;
  /** Present if it is short. */
  readonly input?: Json;
}

/** The run that branched, and the position of the event. */
export type BranchId = `${RunId}@${number}`;

/** The acts of a sub-agent that a branch has left, and of its own sub-agents. They are cancelled and start no more. */
export interface SubAgentLeft {
  readonly type: "run.sub_agent_left";
  readonly child: RunId;
  readonly acts: readonly LeftAct[];
}

/** A branch of the conversation above has left acts. They hold acts of the run, which does the work of another lane. */
export interface ActsLeftAbove {
  readonly type: "run.acts_left_above";
  readonly acts: readonly LeftAct[];
}

export type LeftActEvent = SubAgentLeft | ActsLeftAbove;

/** The earlier act that the approvers say a call is. Its receipt answers the call. */
export interface NamedAct {
  readonly same_as?: StepId;
  /** The run of the act. Absent: this run. */
  readonly same_in?: RunId;
}

/** The row that says which call an act answers after a branch, and its version from this event on. */
export interface ActNaming {
  readonly branch: BranchId;
  readonly version: number;
}
