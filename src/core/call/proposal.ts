import type { EarnedTrust } from "../approval/earned-trust.ts";
import type { PinFact, Preview } from "../approval/result-preview.ts";
import type { Call } from "../event/event.ts";
import type { ReuseSource } from "../event/reuse-source.ts";
import type { SignalSent } from "../event/signal.ts";
import type { SignalBoxVersion } from "../event/step-parking.ts";
import type { CostEstimate } from "../limits/budget.ts";
import type { Capture } from "../ports/resource.ts";
import type { PolicyState } from "../state/read-state-value.ts";
import type { LedgerRow } from "../store/tables.ts";
import type { AskedValue } from "../tool/asked-data.ts";
import type { Sighting, Tool } from "../tool/tool.ts";
import type { Fault } from "../values/fault.ts";
import type { Digest, GateId, WorkerId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import type { CallLimit } from "./counted-limits.ts";
import type { Receipt } from "./receipt.ts";

/** The declared properties of a tool that decisions use, without its functions. */
export type ToolFacts = Pick<
  Tool,
  | "name"
  | "version"
  | "effect"
  | "tags"
  | "risk"
  | "roles"
  | "confirmation"
  | "timeoutMs"
  | "tries"
  | "retry"
  | "asks"
  | "settleAfterMs"
  | "confirm"
  | "idempotentForMs"
  | "errorsMean"
  | "onDuplicate"
  | "safeIfAbsent"
> & {
  readonly verifies: boolean;
  readonly compensates: boolean;
};

/** The terms of work that a host does itself: its time, and the digest of its token. */
export interface ExternalTerms {
  readonly token: Digest;
  readonly for_ms: number;
}

/** A requested call that is not allowed yet, with every fact that its decision needs. */
export interface Proposal {
  readonly input: Json;
  /** Null unless an act, a gate or a reusable outcome needs it. */
  readonly call: Call | null;
  /** False if the input equals the payload of the step, so that events need not store it again. */
  readonly derived: boolean;
  /** The fault that was found while the proposal was made, such as an invalid input. */
  readonly flaw: Fault | null;
  /** The values that its input lacks, for which a person is asked. Absent: none. */
  readonly asks?: readonly AskedValue[];
  /** The fault that parks the step: its tool is missing, or is not the one that the run was accepted with. */
  readonly parked: Fault | null;
  /** The fault that parks the step once it may start: the caller runs it, and its function is not here. */
  readonly away: Fault | null;
  readonly tool: ToolFacts | null;
  /** True if a policy lets this tool act without an approval. A plan cannot set it. */
  readonly trusted: boolean;
  /** The trust that the principal has earned with the tool. Null if none can be earned, or it was not read. */
  readonly record: EarnedTrust | null;
  readonly ledger: LedgerFact | null;
  /** The ledger row of the act of another run that the call is, as its approvers say. Absent until it is needed. */
  readonly same?: LedgerFact | null;
  readonly reusable: ReusableOutcome | null;
  /** The signal that a wait waits for. Null for other steps. */
  readonly signal: SignalFact | null;
  /** The cost that the tool expects. Null if it is unknown. */
  readonly estimate: CostEstimate | null;
  /** The limits that apply to the call. */
  readonly limits: readonly CallLimit[];
  /** Captures of the resources of the tool. `wanted` until the decision allows the call and asks for them. */
  readonly captures: readonly Capture[] | "wanted";
  /** Present if the host of the agent does the work itself. */
  readonly external?: ExternalTerms;
  /** The expected changes, for the approvers. `wanted` until the decision opens a gate and asks for it. */
  readonly preview: Preview | "wanted" | null;
  /** The parts of the state that the rules read. Null if they read none, or it was not read. */
  readonly policy_state: PolicyState | null;
  /** The current values of the pinned parts of the approved preview. Null if they were not read. */
  readonly pins: PinFact | null;
  /** The id of the gate that the decision may open. Null without a call. */
  readonly gate_id: GateId | null;
  readonly gate_ms: number;
  /** Present if a gate that opens sends a notice. */
  readonly gate_notice?: true;
  readonly boot: string;
  /** The worker that would make the call. */
  readonly worker: WorkerId;
}

/** The ledger row of the key, as it was read. */
export interface LedgerFact {
  readonly version: number;
  readonly row: LedgerRow;
  /** The recorded result. Null if the row has none, or it cannot be read any more. */
  readonly receipt: Receipt | null;
  /** The answer of the verifier about the recorded act, if the tool demands a confirmation. */
  readonly sighting: Sighting | null;
}

/** A signal row as it was read, and the oldest signal that no step has taken. */
export interface SignalFact {
  readonly box: SignalBoxVersion;
  readonly next: Pick<SignalSent, "signal_id" | "payload" | "by" | "at"> | null;
}

/** The output of an earlier equal call that may be reused. */
export interface ReusableOutcome {
  readonly output: Json;
  readonly reused: ReuseSource;
}

/** The conditions under which an outcome may be reused. */
export interface ReuseTerms {
  readonly key: Digest;
  readonly ttlMs: number | null;
}
