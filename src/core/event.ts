import type { Basis } from "./basis.ts";
import type { Demand, Vote } from "./demand.ts";
import type { Mode, World } from "./effect.ts";
import type { Fault } from "./fault.ts";
import type { Digest, EffectKey, Epoch, GateId, Instant, RunId, StepId, Tenant, WorkerId } from "./id.ts";
import type { Json, JsonObject } from "./json/json.ts";
import type { Alert } from "./limits/alert.ts";
import type { Estimate } from "./limits/budget.ts";
import type { Charged, Reserved } from "./limits/charged.ts";
import type { Parking } from "./parking.ts";
import type { LeanPlan, LeanStep } from "./plan/plan.ts";
import type { Preview } from "./preview.ts";
import type { Principal } from "./principal.ts";
import type { Capture, Closing, RestoreReport } from "./resource.ts";
import type { Request, Taken } from "./signal.ts";
import type { Forked, GoneBack, StateChange } from "./state/state-change.ts";
import type { Cost } from "./tool.ts";

/** A fact: past tense, complete in itself, never edited. Its kind and moment stand beside its body in the store. */
export type Event = { readonly at: Instant } & (RunEvent | StepEvent | GateEvent);

export type EventType = Event["type"];

/**
 * The version written with every event: 1 until the first release, whatever is added before it. When it moves is said in
 * CONTRIBUTING.md; nothing older has to be raised to it yet.
 */
export const EVENT_VERSION = 1;

export type RunEvent =
  | {
      readonly type: "run.accepted";
      readonly run_id: RunId;
      readonly tenant: Tenant;
      readonly origin: RunId;
      readonly principal: Principal;
      readonly mode: Mode;
      /** Null: an open run, whose steps are proposed one by one. */
      readonly plan: LeanPlan | null;
      readonly context: JsonObject;
      readonly request: Request | null;
      readonly tools: Readonly<Record<string, Pin>>;
      readonly deadline_at: Instant | null;
      /** Absent: the default one. */
      readonly queue?: string;
      /** Absent: 0. The highest is claimed first. */
      readonly priority?: number;
      readonly correlation_id: string;
      readonly trace_id: string;
      /** Present if a step of another run asked for this one. */
      readonly parent?: Parent;
      /** Whose state it works on. Absent: that of its origin, which is nobody else's. */
      readonly project?: string;
      /** Absent: none. */
      readonly session?: string;
      /** Present if it goes on from the middle of another run. */
      readonly forked?: Forked;
      /** Whoever asked for it says that all of it, or these steps, are meant. */
      readonly confirmed?: Confirmed;
    }
  | { readonly type: "run.closed" }
  | {
      readonly type: "cancel.requested";
      readonly by: string;
      readonly reason: string;
      readonly notices?: readonly Notice[];
    }
  | { readonly type: "run.resumed"; readonly by: string; readonly reason: string }
  /** Somebody wanted all of it undone: what became of each act. */
  | { readonly type: "run.undone"; readonly by: string; readonly reason: string; readonly acts: readonly UndoneAct[] }
  | { readonly type: "run.ended"; readonly status: EndStatus; readonly notices?: readonly Notice[] }
  /** A worker took the run from one that never let it go. */
  | ({ readonly type: "run.taken" } & Omit<Takeover, "at" | "position">)
  /** Too many took it in turn, and nothing came of it: nothing starts until a person resumes it. */
  | { readonly type: "run.poisoned"; readonly notices: readonly Notice[] }
  /** A budget that this run spends from is used up so far; `charges`: it is the first to say so. */
  | ({
      readonly type: "budget.alerted";
      readonly charges: readonly Reserved[];
      readonly notices: readonly Notice[];
    } & Alert)
  | { readonly type: "notice.delivered"; readonly notice_id: string }
  /** State and files are again what they were before; what came after it is still told where it happened. */
  | ({ readonly type: "state.restored" } & GoneBack);

/** A worker took the run from one that never let it go. Together they are the evidence against a run that kills its workers. */
export interface Takeover {
  readonly by: WorkerId;
  /** Who held it, and is dead or was not heard of for as long as its lease lasted. */
  readonly from: WorkerId;
  readonly epoch: Epoch;
  readonly at: Instant;
  /** Of the event that says so: what came before it is how far the run had got. */
  readonly position: number;
  /** Those that may have been under way, as far as the journal tells. */
  readonly steps: readonly StepId[];
}

export type EndStatus = "completed" | "partial" | "failed" | "cancelled";

/** What a caller says that it means: everything, or some steps. */
export type Confirmed = true | readonly StepId[];

/** The step that asked for a run, how many runs are above it, and how many bytes it may have to show. */
export interface Parent {
  readonly run_id: RunId;
  readonly step_id: StepId;
  readonly depth: number;
  /** Those that the one that asked comes from, the nearest first. Absent: there are none. */
  readonly above?: readonly RunId[];
  readonly most_bytes: number;
}

/** The tool a run was accepted with. Another one under the same name parks its steps. */
export interface Pin {
  readonly version: string;
  readonly schema_hash: Digest;
}

export type StepEvent = { readonly step_id: StepId } & (
  | {
      readonly type: "step.proposed";
      readonly step: LeanStep;
      readonly pin: Pin | null;
      readonly cause: Cause;
    }
  | {
      readonly type: "step.started";
      readonly attempt: number;
      readonly call: Call;
      readonly ledger: LedgerVersion | null;
      /** The approval this start stands on, consumed by it. */
      readonly gate: { readonly gate_id: GateId; readonly version: number } | null;
      /** Under which a missing send marker proves that the tool was never called. */
      readonly boot: string;
      /** The resources that the tool is about to change, as they were: they are put back unless the attempt succeeds. */
      readonly captures?: readonly Capture[];
      /** What limits took before it ran: reserved, and settled to the same tallies when it is over. */
      readonly charges?: readonly Reserved[];
      readonly basis?: Basis;
    }
  | {
      readonly type: "step.succeeded";
      readonly attempt: number;
      readonly started_at: Instant;
      readonly output: Json;
      readonly world: World;
      /** Present where it cannot be read off the plan. */
      readonly input?: Json;
      readonly cost?: Cost;
      readonly charges?: readonly Charged[];
      readonly ledger?: LedgerVersion;
      readonly reused?: Reused;
      readonly notices?: readonly Notice[];
      readonly outcome?: Provenance;
      readonly warning?: string;
      /** What a wait was for: from here on the signal's row has this version. */
      readonly signal?: Taken;
      /** The version of the project's state that it worked on. */
      readonly base?: number;
      /** What it left in resources, in the order of the captures. */
      readonly closings?: readonly Closing[];
      readonly state?: StateChange;
      /** Present where no `started` fact has said it. */
      readonly basis?: Basis;
    }
  | {
      readonly type: "step.failed";
      readonly attempt: number;
      readonly started_at: Instant;
      readonly fault: Fault;
      /** Null: this was the last try. */
      readonly retry_at: Instant | null;
      readonly world: World;
      readonly input?: Json;
      /** What an act answered, though nobody may build on it. */
      readonly output?: Json;
      readonly cost?: Cost;
      readonly charges?: readonly Charged[];
      readonly ledger?: LedgerVersion;
      readonly sparing?: InFlight;
      /** What the handler last said with a sign of life. */
      readonly heartbeat?: Json;
      /** The end of the run that it asked for. */
      readonly signal?: Taken;
      readonly base?: number;
      /** What it had said to logs. */
      readonly state?: StateChange;
      readonly basis?: Basis;
    }
  | {
      readonly type: "step.cancelled";
      readonly attempt: number;
      readonly started_at: Instant;
      readonly cost?: Cost;
      readonly charges?: readonly Charged[];
      readonly basis?: Basis;
    }
  | {
      readonly type: "step.doubted";
      readonly attempt: number;
      readonly fault: Fault;
      readonly ledger: LedgerVersion;
      readonly exits: Exits;
      /** The handler was not heard of and may still be at it. A second doubt says when it left. */
      readonly alive?: true;
      /** What the handler last said with a sign of life. */
      readonly heartbeat?: Json;
      readonly cost?: Cost;
      readonly charges?: readonly Charged[];
    }
  | {
      readonly type: "step.probed";
      readonly saw: "absent" | "unknown";
      readonly why: string;
      readonly next_at: Instant | null;
    }
  | {
      readonly type: "step.settled";
      readonly settled: Settlement;
      readonly by: string;
      readonly reason: string;
      readonly ledger: LedgerVersion | null;
      /** What was reserved is given back: nothing happened. */
      readonly charges?: readonly Charged[];
      readonly sparing?: InFlight;
    }
  | { readonly type: "step.readied"; readonly why: string }
  /** The attempt has failed, and the resources that it changed are about to be put back. */
  | { readonly type: "step.restoring"; readonly attempt: number; readonly fault: Fault }
  | { readonly type: "step.restored"; readonly attempt: number; readonly restored: readonly RestoreReport[] }
  | {
      readonly type: "step.rejected";
      readonly rule: string;
      readonly fault: Fault;
      readonly sparing?: InFlight;
      readonly basis?: Basis;
    }
  | { readonly type: "step.parked"; readonly on: Parking }
  | {
      readonly type: "step.compensating";
      readonly by: string;
      readonly reason: string;
      readonly ledger: LedgerVersion;
      readonly charges?: readonly Charged[];
    }
  | { readonly type: "step.compensated"; readonly confirmed: boolean; readonly ledger: LedgerVersion }
  | { readonly type: "step.uncompensated"; readonly fault: Fault; readonly ledger: LedgerVersion }
  /** Someone was told "yes, again" elsewhere: the ledger's row now speaks of that act. */
  | { readonly type: "step.superseded"; readonly by: Pick<Duplicate, "run" | "step" | "generation"> }
  /** A value that came too late to count, kept for whoever has to judge. */
  | { readonly type: "evidence.kept"; readonly attempt: number; readonly evidence: Json }
);

/**
 * Steps under way of which nothing is on record yet. Whoever holds the run knows which they are; from outside nobody does.
 * A fact that ends the plan is `sparing` them: they come to their own end.
 */
export type InFlight = readonly StepId[] | "unknown";

/** Why a step is in a run that no plan put there. */
export type Cause =
  | { readonly by: "agent" }
  | { readonly by: "errand"; readonly of: StepId }
  | { readonly by: "undo"; readonly of: StepId; readonly asked_by: string };

/** The exact call: these bytes were parsed once, hashed, shown, approved and run. */
export interface Call {
  readonly input: Json;
  readonly digest: Digest;
  /** Null for what never acts. */
  readonly key: EffectKey | null;
  /** What made the key: under a template, another input is another call. */
  readonly keyed_by: "identity" | "template" | "input" | null;
}

/** The version a ledger row has from this event on, and what it says. */
export interface LedgerVersion {
  readonly version: number;
  readonly generation: number;
  /** A later generation has the row: what becomes of this one is told in its own journal only. */
  readonly superseded?: true;
}

/** How doubt about an act can be settled without a person, as its tool declared when doubt arose. */
export interface Exits {
  readonly verify: boolean;
  /** Until when the identical call may be sent again under the same key. */
  readonly resend_until: Instant | null;
  /** Before this, "absent" proves nothing: the request may still be on its way. */
  readonly quiet_at: Instant;
}

export type Settlement =
  | { readonly as: "happened"; readonly output: Json; readonly fault: Fault | null }
  | { readonly as: "not_done" }
  | { readonly as: "absent" }
  | { readonly as: "resend" }
  | { readonly as: "given_up" };

/** Whose result this really is. `differs` says in what the recorded call was another. */
export interface Reused {
  readonly run: RunId;
  readonly step: StepId;
  readonly at: Instant;
  readonly differs: string | null;
}

/** What became of the wish to undo an act. */
export interface UndoneAct {
  readonly step_id: StepId;
  readonly tool: string;
  /**
   * confirmed: it is undone, and the world was asked. unconfirmed: it is undone, or may be, and nobody asked. irreversible: its tool
   * cannot undo it. failed: undoing it failed, and it stands. not_attempted: it stands, or may, and was not touched.
   */
  readonly undone: "confirmed" | "unconfirmed" | "irreversible" | "failed" | "not_attempted";
  readonly why: string | null;
}

export interface Notice {
  readonly notice_id: string;
  /** Present where it is not for the outside: the report of a run to whoever asked for it, or the wish that one is cancelled. */
  readonly kin?: "report" | "cancel";
  readonly topic: string;
  readonly payload: Json;
}

/** What an outcome was made from, so that an equal call may be answered with it. */
export interface Provenance {
  readonly outcome_id: string;
  readonly type: string;
  readonly status: "draft" | "final";
  readonly input_digest: Digest | null;
  readonly tool: string;
  readonly reuse_key: Digest | null;
}

export type GateEvent = { readonly gate_id: GateId } & (
  | {
      readonly type: "gate.opened";
      readonly step_id: StepId;
      readonly call: Call;
      readonly rule: string;
      readonly reason: string;
      readonly demand: Demand;
      readonly expires_at: Instant;
      /** The earlier act that this one would repeat; approving means "yes, again". */
      readonly duplicate_of: Duplicate | null;
      /** What it is expected to cost; absent: nobody can tell. */
      readonly estimate?: Estimate;
      /** Whether it can be undone, or put back, once it is done; absent: there is nothing to undo. */
      readonly reversible?: boolean;
      /** What it would do; absent: nothing can be told. */
      readonly preview?: Preview;
      /** Why a yes that was given is none any more. */
      readonly stale?: Fault;
      /** What those have said already who changed the call to this. */
      readonly votes?: readonly Vote[];
      readonly basis?: Basis;
    }
  /** A yes that is not enough by itself. */
  | { readonly type: "gate.endorsed"; readonly by: Principal; readonly reason: string }
  | { readonly type: "gate.approved"; readonly by: Principal; readonly reason: string; readonly use_by: Instant }
  /** A yes to another call than was shown: that one is judged anew, and what others said of the first is void. */
  | {
      readonly type: "gate.amended";
      readonly by: Principal;
      readonly reason: string;
      readonly use_by: Instant;
      readonly call: Call;
    }
  /** Nobody has decided for so long that others may, who are told. */
  | { readonly type: "gate.escalated"; readonly notices: readonly Notice[] }
  | {
      readonly type: "gate.rejected";
      readonly by: Principal;
      readonly reason: string;
      readonly sparing?: InFlight;
      readonly charges?: readonly Charged[];
    }
  | { readonly type: "gate.expired"; readonly sparing?: InFlight }
  | { readonly type: "gate.closed"; readonly reason: string }
  /** Someone who may not decide tried to. */
  | { readonly type: "gate.contested"; readonly by: Principal; readonly fault: Fault }
);

export interface Duplicate {
  readonly run: RunId;
  readonly step: StepId;
  readonly generation: number;
  readonly certain: boolean;
  /** It did nothing, and what came before it is what would be repeated. */
  readonly idle?: true;
}
