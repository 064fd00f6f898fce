import type { LedgerState } from "../store/tables.ts";
import type { Digest, RunId, StepId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";

/** The request of a model call, as its proposal records it. The payload of the step has the contents. */
export interface ModelRequest {
  /** Requests of one lane follow each other; those of another lane do not concern them. */
  readonly lane: string;
  /** Equal for equal requests. */
  readonly digest: Digest;
  /** The messages: the first `keep` of the last answered request of the lane, then `added`, each by its digest. */
  readonly keep: number;
  readonly added: readonly Digest[];
  /** The caller says that the messages replace the whole history before them. */
  readonly compacted?: true;
}

/** A turn of a lane is over: its last answer has no tool calls and was handed over, or its caller ended it. */
export interface TurnFinished {
  readonly type: "run.turn_finished";
  /** Null: the turns of all lanes. */
  readonly lane: string | null;
}

/** A request does not continue the recorded answers of its lane. Nothing after the branch point is replayed. */
export interface RunBranched {
  readonly type: "run.branched";
  readonly lane: string;
  /** The number of messages that the request has in common with the last answered one. */
  readonly keep: number;
  /** The model calls whose answers are not part of the conversation any more, oldest first. */
  readonly dropped: readonly StepId[];
  /** The acts after the branch point that happened or may have happened. Acts of their tools are held from now on. */
  readonly acts: readonly StepId[];
}

/** An act of a branch that the conversation has left. `input` is present if it is short. */
export interface EarlierAct {
  readonly step_id: StepId;
  /** The run of the act, such as that of a sub-agent. Absent: this run. */
  readonly run_id?: RunId;
  readonly state: LedgerState;
  readonly input?: Json;
}
