import type { Mode } from "../values/effect.ts";
import type { Fault } from "../values/fault.ts";
import type { Digest, EffectKey, GateId, Instant, RunId, StepId } from "../values/ids.ts";

/** The tables beside the journal. All of them can be dropped and rebuilt from it. */
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
  "doubt",
  "setting",
] as const;

export type Table = (typeof tables)[number];

/** The fields of a row that a query may name. Stores index exactly these. */
export const indexedRowFields: Readonly<Partial<Record<Table, readonly string[]>>> = {
  run: ["status"],
  gate: ["status", "run_id"],
  timer: ["due_at"],
  notice: ["run_id"],
  outcome: ["reuse_key", "run_id"],
};

/**
 * The fields of a row that a search may name; a list of texts counts with each of its texts. Stores keep an index entry
 * for each (row-tags.ts), so every search reads an index.
 */
export const taggedRowFields: Readonly<Partial<Record<Table, readonly string[]>>> = {
  run: ["status", "ended_as", "principal", "project", "session", "agent", "parent", "labels", "tools", "waiting_for"],
  gate: ["status", "run_id", "tool", "requester"],
  doubt: ["run_id", "tool", "requester", "project", "session", "waiting_for"],
  outcome: ["run_id", "type", "status", "tool", "requester", "project"],
};

/** The summary of a run that is read without folding its journal. Key: run id. */
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
  /** Present on a run that failed before anything ran, because it was refused. */
  readonly ended_as?: "rejected";
  readonly project?: string;
  readonly session?: string;
  /** The name of the program that proposes the calls of a session. */
  readonly agent?: string;
  /** The run whose step started this run. */
  readonly parent?: RunId;
  readonly title?: string;
  readonly labels?: readonly string[];
  /** The tools of the plan, or those that an open run has called. The first 64. */
  readonly tools?: readonly string[];
  /** The things that steps of the run wait for. */
  readonly waiting_for?: readonly WaitingFor[];
  /** The last change of the status, or of the waits for people. The counts and the cost are those of that time. */
  readonly updated_at?: Instant;
  /** The numbers of all steps, of those that have succeeded, and of those that have ended in any way. */
  readonly steps?: number;
  readonly succeeded?: number;
  readonly done?: number;
  /** Absent if nothing was spent. */
  readonly spent?: RunCost;
}

/** The thing that a waiting step waits for. */
export type WaitingFor =
  | "approval"
  | "resolution"
  | "release"
  | "signal"
  | "run"
  | "time"
  | "retry"
  | "rate"
  | "key"
  | "tool"
  | "halt"
  | "undo";

/** The cost of a run so far. A field is absent if it is 0. */
export interface RunCost {
  readonly usd_micros?: number;
  readonly credits?: number;
  readonly tokens_in?: number;
  readonly tokens_out?: number;
}

/** An act in doubt, as a list shows it; the call itself is in the journal. Key: run id and step id. */
export interface DoubtRow {
  readonly run_id: RunId;
  readonly step_id: StepId;
  readonly tool: string;
  readonly attempt: number;
  readonly requester: string;
  readonly since: Instant;
  /** person: only a person can settle it. verifier: the tool's verifier or a resend may. */
  readonly waiting_for: "person" | "verifier";
  /** When the engine looks again. Absent: it does not by itself, or does so now. */
  readonly look_at?: Instant;
  readonly project?: string;
  readonly session?: string;
}

/** The time at which a run can continue by itself. Key: run id. Workers find due runs only in this table. */
export interface TimerRow {
  /** Null: only a worker that offers something the run needs can continue it. */
  readonly due_at: Instant | null;
  /** Absent: the default queue. */
  readonly queue?: string;
  /** Absent: 0. */
  readonly priority?: number;
  /** A worker that offers one of these may claim the run at any time. */
  readonly needs?: readonly string[];
  /** The rules of the run: while a live worker has them, only such workers claim the run. Absent: any worker does. */
  readonly rules?: Digest;
  /**
   * The tools of the run: while a worker that may claim the run offers one of them, a worker that offers none does not
   * claim it. Absent: any worker does.
   */
  readonly tools?: readonly string[];
}

/** One row per effect key, which alone decides whether the act may execute. Key: the effect key. */
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
  /** Position in the owner's journal of the event that proves the act; null until it exists. */
  readonly receipt: number | null;
  /** False: the act happened, but its output did not fit the schema, so no other call may reuse it. */
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

/** The run that a request started. Key: principal id, project, session and request key. */
export interface RequestRow {
  readonly run_id: RunId;
  readonly digest: Digest;
}

/** The call that an act of an old branch answers. It has the table of requests. Key: the branch and the act. */
export interface NamingRow {
  readonly run_id: RunId;
  readonly step_id: StepId;
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

/** The steps that wait for a signal, and the numbers of signals sent and taken. Key: the signal key. */
export interface SignalRow {
  /** The journal that last changed the row: that of a run, or that of the signal. */
  readonly run_id: RunId;
  readonly sent: number;
  readonly taken: number;
  /**
   * The next signal goes to the first. A step that no longer waits may still be listed; its run then declines the
   * signal.
   */
  readonly waiters: readonly { readonly run_id: RunId; readonly step_id: StepId }[];
}

/** The current state of a schedule. Key: its journal. */
export interface ScheduleRow {
  readonly schedule: string;
  readonly status: "on" | "paused";
  readonly cron: string;
  readonly zone: string;
  readonly catch_up: "all" | "latest" | "none";
  readonly queue: string;
  readonly priority: number;
  /** While a live worker has these rules, only such workers fire the schedule. Absent: any worker does. */
  readonly rules?: Digest;
  /** Position of the event that holds the plan to submit and its principal. */
  readonly order: number;
  /** Null: the schedule is paused, or no further time matches. */
  readonly next_at: Instant | null;
  readonly last: { readonly due_at: Instant; readonly run_id: RunId | null; readonly fault: Fault | null } | null;
}

/** The policies of a tenant, each with the position of its document in their journal. Key: their journal. */
export interface PolicyRow {
  readonly policies: readonly { readonly place: string; readonly position: number }[];
}

/** The order of a person that no new call starts until a person lifts the halt. Running calls are not interrupted. */
export interface Halt {
  readonly over: HaltScope;
  readonly by: string;
  readonly reason: string;
  readonly at: Instant;
}

/** The scope of a halt: every tenant, the tenant that owns the journal, or one run and its child runs. */
export type HaltScope = "everything" | "tenant" | RunId;

/** The halts in force. Key: their journal. */
export interface HaltRow {
  readonly halts: readonly Halt[];
}

/** The order of a person that no call starts in a project: temporarily (`locked`) or permanently (`archived`). */
export interface ProjectLock {
  readonly how: "locked" | "archived";
  readonly by: string;
  readonly reason: string;
  readonly at: Instant;
}

/** Key: the project's journal. */
export interface ProjectLockRow {
  /** Null: the project is open. */
  readonly closure: ProjectLock | null;
}

/** Why a session takes no more runs. */
export interface SessionClosure {
  readonly by: string;
  readonly reason: string;
  readonly at: Instant;
}

/** A session that was opened by name. Key: its journal. */
export interface NamedSessionRow {
  readonly session: string;
  /** Null: the session is outside any project. */
  readonly project: string | null;
  readonly opened_by: string;
  readonly opened_at: Instant;
  /** Null: the session is open. */
  readonly closed: SessionClosure | null;
}

/** A notice that waits for delivery. Key: its stable id. Removed when delivered. */
export interface NoticeRow {
  readonly notice_id: string;
  readonly run_id: RunId;
  readonly position: number;
}

/** The event that holds a version of a project's state. */
export interface StatePoint {
  readonly run_id: RunId;
  readonly position: number;
  /** Unique, so that an event that the store has lost is not confused with the one written in its place. */
  readonly commit: string;
}

/** The event of the latest version of a project's state; the row has the same version. Key: stateKeyOf its runs. */
export type ProjectRow = StatePoint;

/** An artifact and the event that holds it. Key: outcome id. */
export interface OutcomeRow {
  readonly outcome_id: string;
  readonly type: string;
  readonly status: "draft" | "final";
  readonly run_id: RunId;
  readonly step_id: StepId;
  readonly position: number;
  readonly tool: string;
  readonly at: Instant;
  /** Equal for calls that may share this outcome; null if no other call may. */
  readonly reuse_key: Digest | null;
  /** The principal that requested the call, and the project of its run. Absent in rows of older versions. */
  readonly requester?: string;
  readonly project?: string;
}
