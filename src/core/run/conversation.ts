import type { BranchId, LeftAct } from "../event/left-act.ts";
import { TrieMap } from "../persistent/trie-map.ts";
import type { Vector } from "../persistent/vector.ts";
import type { Digest, StepId } from "../values/ids.ts";

/** The model calls of an open run. */
export interface Conversation {
  readonly lanes: TrieMap<ModelLane>;
  /** By the id of a tool call, the index of the model call whose answer contains it. Answers of old branches are not here. */
  readonly answered: TrieMap<number>;
  /** The digests of the contents that the journal has. */
  readonly contents: TrieMap<true>;
  /** Acts of old branches, by step id, that have answered no call since, with the last branch that left them. */
  readonly branchActs: TrieMap<BranchId>;
  /** Acts of other runs that a branch has left, by run and step. `answers`: the call that the act answers since. */
  readonly leftActs: TrieMap<LeftAct & { readonly answers: StepId | null }>;
  /** The calls that were unfinished when a branch left them. They end, and are neither tried again nor delegated. */
  readonly leftCalls: TrieMap<true>;
  /** By its run, a sub-agent that a branch has left and whose acts are not reported yet. */
  readonly leftAgents: TrieMap<LeftAgent>;
}

/** The call of a sub-agent that a branch has left. */
export interface LeftAgent {
  readonly step_id: StepId;
  readonly branch: BranchId;
}

/** The model calls that follow each other. */
export interface ModelLane {
  /** Grows with every finished turn and every branch. */
  readonly turn: number;
  /** Indices of the model calls of the unfinished turn, in order. */
  readonly asked: readonly number[];
  /** The digests of the messages of the last answered request. */
  readonly history: Vector<Digest>;
  /** The answers of the current branch, oldest first. Each continues the one before it. */
  readonly answers: Vector<RecordedAnswer>;
  /** The messages of the requests that have no answer yet. */
  readonly pending: readonly { readonly index: number; readonly history: Vector<Digest> }[];
}

export interface RecordedAnswer {
  readonly index: number;
  /** The number of messages of its request. */
  readonly length: number;
  readonly calls: readonly string[];
  readonly answer_id: string | null;
}

export const EMPTY_CONVERSATION: Conversation = {
  lanes: TrieMap.empty(),
  answered: TrieMap.empty(),
  contents: TrieMap.empty(),
  branchActs: TrieMap.empty(),
  leftActs: TrieMap.empty(),
  leftCalls: TrieMap.empty(),
  leftAgents: TrieMap.empty(),
};
