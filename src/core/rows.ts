import type { Mode } from "./effect.ts";
import type { Fault } from "./fault.ts";
import type { Digest, EffectKey, GateId, Instant, RunId, StepId } from "./id.ts";

/** Every table beside the journal. All of them can be dropped and refolded from it. */
export const tables = [
  "run",
  "ledger",
  "request",
  "gate",
  "timer",
  "signal",
  "notice",
  "project",
  "outcome",
  "setting",
] as const;

export type Table = (typeof tables)[number];

/** The fields of a row that a query may name. Stores index exactly these. */
export const indexed: Readonly<Partial<Record<Table, readonly string[]>>> = {
  run: ["status"],
  gate: ["status", "run_id"],
  timer: ["due_at"],
  notice: ["run_id"],
  outcome: ["reuse_key", "run_id"],
};

/** What is told of a run without folding it. Key: run id. */
export interface RunRow {
  readonly run_id: RunId;
  readonly origin: RunId;
  readonly status: string;
  readonly final: boolean;
  readonly mode: Mode;
  readonly principal: string;
  readonly plan_id: string | null;
  readonly accepted_at: Instant;
  readonly ended_at: Instant | null;
}

/** When a run can move by itself again. Key: run id. The worker claims from here and nowhere else. */
export interface TimerRow {
  /** Null: no worker can move it but one that has what it needs. */
  readonly due_at: Instant | null;
  /** Absent: the default one. */
  readonly queue?: string;
  /** Absent: 0. */
  readonly priority?: number;
  /** Whoever has one of these may take it at any time. */
  readonly needs?: readonly string[];
}

/** Who may act: one row per effect key, the only thing that says "execute". Key: the effect key. */
export interface LedgerRow {
  readonly key: EffectKey;
  readonly state: LedgerState;
  readonly generation: number;
  readonly tool: string;
  readonly run_id: RunId;
  readonly origin: RunId;
  readonly step_id: StepId;
  readonly attempt: number;
  readonly input_digest: Digest;
  /** Position in the owner's journal of the event that proves the act, once there is one. */
  readonly receipt: number | null;
  /** False: it happened, but its output did not fit the schema, so nobody may build on it. */
  readonly usable: boolean;
}

export type LedgerState =
  | "started"
  | "committed"
  | "in_doubt"
  | "not_done"
  | "absent"
  | "given_up"
  | "compensating"
  | "compensated"
  | "compensation_failed";

/** Which run answers a request. Key: principal id and request key. */
export interface RequestRow {
  readonly run_id: RunId;
  readonly digest: Digest;
}

/** A held call, as a list shows it; the call itself is in the journal. Key: gate id. */
export interface GateRow {
  readonly gate_id: GateId;
  readonly run_id: RunId;
  readonly step_id: StepId;
  readonly tool: string;
  readonly status: "open" | "approved" | "rejected" | "expired" | "closed" | "consumed";
  readonly input_digest: Digest;
  readonly requester: string;
  readonly opened_at: Instant;
  readonly expires_at: Instant;
}

/** Who waits for a signal, and how many were sent into its box and taken out of it. Key: what sender and waiter call it. */
export interface SignalRow {
  /** The journal that last said so: a run's, or that of the box. */
  readonly run_id: RunId;
  readonly sent: number;
  readonly taken: number;
  /** The next signal is for the first of them. Who has gone on without is still here: its run says so when it is told. */
  readonly waiters: readonly { readonly run_id: RunId; readonly step_id: StepId }[];
}

/** A standing order as it is now. Key: its journal. */
export interface ScheduleRow {
  readonly schedule: string;
  readonly status: "on" | "paused";
  readonly cron: string;
  readonly zone: string;
  readonly catch_up: "all" | "latest" | "none";
  readonly queue: string;
  readonly priority: number;
  /** Position of the event that says what is to be submitted, and as whom. */
  readonly order: number;
  /** Null: it is paused, or what it is for comes no more. */
  readonly next_at: Instant | null;
  readonly last: { readonly due_at: Instant; readonly run_id: RunId | null; readonly fault: Fault | null } | null;
}

/** A tenant's policies: which there are, and where their journal says what they are. Key: their journal. */
export interface PolicyRow {
  readonly policies: readonly { readonly place: string; readonly position: number }[];
}

/** A person's word that nothing new begins, until a person takes it back. What is under way comes to its end. */
export interface Halt {
  readonly over: Reach;
  readonly by: string;
  readonly reason: string;
  readonly at: Instant;
}

/** What it is over: every tenant, the tenant in whose journal it is, or a run of it and those that it asked for. */
export type Reach = "everything" | "tenant" | RunId;

/** The halts that stand. Key: their journal. */
export interface HaltRow {
  readonly halts: readonly Halt[];
}

/** A person's word that nothing is done in a project: for a while, or because it is over. */
export interface Closure {
  readonly how: "locked" | "archived";
  readonly by: string;
  readonly reason: string;
  readonly at: Instant;
}

/** Key: the project's journal. */
export interface ClosureRow {
  /** Null: it is open. */
  readonly closure: Closure | null;
}

/** A message that waits to be delivered. Key: its stable id. Removed when delivered. */
export interface NoticeRow {
  readonly notice_id: string;
  readonly run_id: RunId;
  readonly position: number;
}

/** An event that tells a version of a project's state. */
export interface StatePoint {
  readonly run_id: RunId;
  readonly position: number;
  /** No two are alike, so that nobody takes one that the store has lost for the one that came in its place. */
  readonly commit: string;
}

/** Where a project's state is told; its version is the row's. Key: stateKeyOf the runs that work on it. */
export type ProjectRow = StatePoint;

/** An artifact, where to find it and what it was made from. Key: outcome id. */
export interface OutcomeRow {
  readonly outcome_id: string;
  readonly type: string;
  readonly status: "draft" | "final";
  readonly run_id: RunId;
  readonly step_id: StepId;
  readonly position: number;
  readonly tool: string;
  readonly at: Instant;
  /** Equal for calls that may share this outcome; null if nobody may. */
  readonly reuse_key: Digest | null;
}
