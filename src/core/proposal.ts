import type { Call, Reused } from "./event.ts";
import type { Expression } from "./expression.ts";
import type { Fault } from "./fault.ts";
import type { Digest, GateId, Instant } from "./id.ts";
import type { Json } from "./json/json.ts";
import type { Estimate } from "./limits/budget.ts";
import type { Toll } from "./limits/toll.ts";
import type { BoxVersion } from "./parking.ts";
import type { PinFact, Preview } from "./preview.ts";
import type { Capture } from "./resource.ts";
import type { LedgerRow } from "./rows.ts";
import type { SignalSent } from "./signal.ts";
import type { StateSeen } from "./state/state-seen.ts";
import type { Sighting, Tool } from "./tool.ts";
import type { TrustRecord } from "./trust.ts";

/** The declared part of a tool: what the law reads, without anything that runs. */
export type ToolFacts = Pick<
  Tool,
  | "name"
  | "version"
  | "effect"
  | "tags"
  | "risk"
  | "roles"
  | "timeoutMs"
  | "tries"
  | "settleAfterMs"
  | "confirm"
  | "idempotentForMs"
  | "errorsMean"
  | "onDuplicate"
  | "safeIfAbsent"
> & {
  readonly verifies: boolean;
  readonly compensates: boolean;
  /** Its preconditions, read. */
  readonly conditions: readonly { readonly id: string; readonly expression: Expression }[];
};

/** A call as data, asked for but not yet allowed, with every fact that judging it needs. */
export interface Proposal {
  readonly input: Json;
  /** Present only where something uses it: an act, a gate, a reusable outcome. */
  readonly call: Call | null;
  /** False: the input is the step's payload and need not be stored again. */
  readonly derived: boolean;
  /** What is wrong with the asking itself, found while it was put together. */
  readonly flaw: Fault | null;
  /** The tool is not the one the run was accepted with. */
  readonly parked: Fault | null;
  readonly tool: ToolFacts | null;
  /** A policy of the tenant, never the plan, says that this tool needs no person. */
  readonly trusted: boolean;
  /** What whoever asks has earned with the tool; null: nothing can be earned, or nobody has looked. */
  readonly record: TrustRecord | null;
  readonly ledger: LedgerFact | null;
  readonly reusable: ReusableOutcome | null;
  /** For a wait: the box of its signal. */
  readonly signal: SignalFact | null;
  /** What the tool says that the call spends; null: it does not say. */
  readonly estimate: Estimate | null;
  /** What limits ask of the call before it runs. */
  readonly tolls: readonly Toll[];
  /** The resources of the tool as they were before it; `wanted`: they are captured once it is sure that the call is made. */
  readonly captures: readonly Capture[] | "wanted";
  /** What it would do, for whoever is asked; `wanted`: it is told once it is sure that someone is. */
  readonly preview: Preview | "wanted" | null;
  /** What rules have to see of state; null: nobody has looked, or nobody wants to. */
  readonly seen: StateSeen | null;
  /** How what was shown to whoever said yes stands now; null: nobody has looked. */
  readonly pins: PinFact | null;
  /** For the case that a gate is opened, which takes a call. */
  readonly gate_id: GateId | null;
  readonly gate_ms: number;
  readonly boot: string;
}

/** The ledger's row for the key, as it was read. */
export interface LedgerFact {
  readonly version: number;
  readonly row: LedgerRow;
  /** The recorded result, where the row points to one that can still be read. */
  readonly receipt: { readonly output: Json; readonly at: Instant } | null;
  /** What the world says of the recorded act, where the tool wants that to be asked. */
  readonly sighting: Sighting | null;
}

/** A signal's row as it was read, and the oldest signal that nobody has taken. */
export interface SignalFact {
  readonly box: BoxVersion;
  readonly next: Pick<SignalSent, "signal_id" | "payload" | "by" | "at"> | null;
}

/** An earlier answer to an equal question, found safe to hand out. */
export interface ReusableOutcome {
  readonly output: Json;
  readonly reused: Reused;
}

/** What must stay equal for an outcome to be handed out again. */
export interface ReuseTerms {
  readonly key: Digest;
  readonly ttlMs: number | null;
}
