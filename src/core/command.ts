import type { Basis } from "./basis.ts";
import type { Mode, World } from "./effect.ts";
import type {
  Call,
  Cause,
  Confirmed,
  InFlight,
  Notice,
  Parent,
  Pin,
  Reused,
  StepEvent,
  Takeover,
  UndoneAct,
} from "./event.ts";
import type { Fault } from "./fault.ts";
import type { Policy } from "./guard.ts";
import type { HaltFact } from "./halt.ts";
import type { GateId, Instant, RunId, StepId } from "./id.ts";
import type { Json, JsonObject } from "./json/json.ts";
import type { Alert } from "./limits/alert.ts";
import type { BoxVersion } from "./parking.ts";
import type { Plan, PlanStep } from "./plan/plan.ts";
import type { Principal } from "./principal.ts";
import type { Proposal, ReuseTerms, ToolFacts } from "./proposal.ts";
import type { Closing, RestoreReport } from "./resource.ts";
import type { Request } from "./signal.ts";
import type { Patch } from "./state/patch.ts";
import type { Forked, GoneBack, StateChange } from "./state/state-change.ts";
import type { Check } from "./store.ts";
import type { Cost, Sighting } from "./tool.ts";
import type { TrustRecord } from "./trust.ts";

/** A wish. It carries the moment it is judged at, and every fact from elsewhere, so that judging needs nothing else. */
export type Command = { readonly now: Instant } & (
  | {
      readonly type: "accept";
      readonly run_id: RunId;
      readonly origin: RunId;
      readonly principal: Principal;
      readonly mode: Mode;
      readonly plan: Plan | null;
      readonly context: JsonObject;
      readonly request: Request | null;
      readonly tools: Readonly<Record<string, Pin>>;
      readonly deadline_at: Instant | null;
      readonly queue?: string;
      readonly priority?: number;
      readonly correlation_id: string;
      readonly trace_id: string;
      readonly parent?: Parent;
      readonly project?: string;
      readonly session?: string;
      readonly forked?: Forked;
      readonly confirmed?: Confirmed;
      /** Why it never begins: it was taken back before it was there. */
      readonly cancelled?: string;
      /** What was done before the fork, in the order it was done. */
      readonly inherited?: readonly Inherited[];
    }
  | { readonly type: "propose"; readonly step: PlanStep; readonly pin: Pin | null }
  | { readonly type: "close" }
  | {
      readonly type: "start";
      readonly step_id: StepId;
      readonly proposal: Proposal;
      /** Null: nobody has made one. */
      readonly policy: Policy | null;
      /** The row that says so: what begins by no policy must not be met by the first. */
      readonly unruled: readonly Check[];
      readonly halts: HaltFact;
      readonly in_flight: readonly StepId[];
    }
  | {
      readonly type: "end";
      readonly grant: Grant;
      readonly ending: Ending;
      /** What the handler last said with a sign of life; null: nothing. */
      readonly heartbeat: Json | null;
      readonly tool: ToolFacts;
      readonly cost: Cost | null;
      readonly reuse: ReuseTerms | null;
      readonly errands: readonly Errand[];
      readonly notices: readonly Notice[];
      /** Null: no slice is declared here. */
      readonly state: StateFact | null;
      readonly closings?: readonly Closing[];
      /** For the jitter of a retry. */
      readonly dice: number;
      readonly in_flight: readonly StepId[];
      /** For an undo: the world was looked at and the act is gone. */
      readonly confirmed: boolean;
    }
  /** `taken`: null where nobody lost the run. */
  | { readonly type: "recover"; readonly found: readonly Found[]; readonly taken: Taking | null }
  | {
      readonly type: "settle";
      readonly step_id: StepId;
      readonly sighting: Sighting | null;
      readonly flaw: Fault | null;
      readonly in_flight: readonly StepId[];
    }
  | {
      readonly type: "resolve";
      readonly step_id: StepId;
      readonly principal: Principal;
      readonly verdict: Resolution;
      /** The attempt that was looked at; null: whichever it is now. */
      readonly attempt: number | null;
      readonly reason: string;
      readonly in_flight: InFlight;
    }
  | {
      readonly type: "approve";
      readonly gate_id: GateId;
      readonly principal: Principal;
      readonly reason: string;
      /** The call that was looked at. Absent: whichever it is. */
      readonly digest?: string;
      /** The call that is approved in its place. Absent: the one that is shown. */
      readonly edit?: Edit;
      readonly use_within_ms: number;
      readonly in_flight: InFlight;
    }
  | {
      readonly type: "reject";
      /** What whoever asked for the call had earned with its tool. */
      readonly record?: TrustRecord;
      readonly gate_id: GateId;
      readonly principal: Principal;
      readonly reason: string;
      readonly digest?: string;
      readonly in_flight: InFlight;
    }
  /** The time of a gate has come: others may decide, or nobody may any more. */
  | { readonly type: "expire"; readonly gate_id: GateId; readonly in_flight: InFlight }
  /** The ledger's row for an act of this run is another act's now. */
  | {
      readonly type: "supersede";
      readonly step_id: StepId;
      readonly by: Extract<StepEvent, { type: "step.superseded" }>["by"];
    }
  | { readonly type: "cancel"; readonly principal: Principal; readonly reason: string }
  /** Somebody wanted all acts undone, and this is what became of them. */
  | {
      readonly type: "tell_undone";
      readonly principal: Principal;
      readonly reason: string;
      readonly acts: readonly UndoneAct[];
    }
  /** A halt was lifted: what waited for that looks again. */
  | { readonly type: "wake" }
  | { readonly type: "resume"; readonly principal: Principal; readonly reason: string }
  | {
      readonly type: "restore";
      readonly principal: Principal;
      readonly reason: string;
      /** The version to be restored. */
      readonly to: number;
      readonly state: Pick<StateFact, "change" | "flaw">;
      /** Resources that have been gone back with; null: they are as they were. */
      readonly files: Required<Pick<GoneBack, "captures" | "closings">> | null;
    }
  /** What an attempt changed in resources is about to be put back. */
  | { readonly type: "restoring"; readonly step_id: StepId; readonly attempt: number; readonly fault: Fault }
  | {
      readonly type: "restored";
      readonly step_id: StepId;
      readonly attempt: number;
      readonly restored: readonly RestoreReport[];
    }
  | { readonly type: "alert"; readonly alert: Alert }
  | { readonly type: "deliver"; readonly notice_id: string }
  /** Someone sent what a step waits for. */
  | {
      readonly type: "signal";
      readonly signal_id: string;
      readonly step_id: StepId;
      readonly box: BoxVersion;
      readonly payload: Json;
      readonly by: string;
      readonly request: Request | null;
      readonly in_flight: InFlight;
    }
);

export type Ask<Type extends Command["type"]> = Extract<Command, { type: Type }>;

/** The right to execute one attempt, handed out by a decision and by nothing else. */
export interface Grant {
  readonly step_id: StepId;
  readonly attempt: number;
  readonly started_at: Instant;
  readonly generation: number;
  /** A `started` fact stands in the journal; without one, running is live information only. */
  readonly recorded: boolean;
  readonly proposal: Proposal;
  readonly basis: Basis | null;
}

/** Another input for a held call, as its tool reads it; or why it cannot be one. */
export type Edit = { readonly call: Call } | { readonly flaw: Fault };

/** What a call would make of its project's state, as that is when the call's end is judged. */
export interface StateFact {
  /** The version that the call worked on. */
  readonly base: number;
  /** What it leaves if it ends well; null: nothing. */
  readonly change: StateChange | null;
  /** What it leaves if it fails; null: nothing. */
  readonly logged: StateChange | null;
  /** Where others have changed what it had read or written; null: nowhere. */
  readonly quarrel: string | null;
  /** Why state does not take it; null: it does. */
  readonly flaw: Fault | null;
  /** What the handler itself wrote. */
  readonly written: Patch;
}

/** A step of the run that another was forked from, with what it had to show. */
export interface Inherited {
  readonly step_id: StepId;
  readonly output: Json;
  readonly world: World;
  readonly reused: Reused;
}

/** How a handler ended. */
export type Ending =
  /** `flaw`: what it answered does not fit its output schema. */
  | { readonly how: "value"; readonly output: Json; readonly flaw: Fault | null }
  /** The tool's word that nothing happened. */
  | { readonly how: "not_done"; readonly fault: Fault }
  | { readonly how: "error"; readonly fault: Fault }
  /** A timeout or an abort: it may still happen. */
  | { readonly how: "unheard"; readonly fault: Fault };

/** A step that a commit appends. */
export interface Errand {
  readonly step: PlanStep;
  readonly pin: Pin | null;
  readonly cause: Cause;
}

/** What a new holder of the run finds about a step that was under way, or that waited for a tool. */
export interface Found {
  readonly step_id: StepId;
  readonly mark: "yes" | "no" | "unknown";
  readonly tool: ToolFacts | null;
}

/** Who takes the run from whom, and how many may do so in turn before the run is to blame. */
export interface Taking extends Pick<Takeover, "by" | "from" | "epoch"> {
  readonly most: number;
}

export type Resolution =
  | { readonly as: "happened"; readonly output: Json; readonly flaw: Fault | null }
  | { readonly as: "absent" }
  | { readonly as: "give_up" }
  | { readonly as: "undo"; readonly tool: ToolFacts | null; readonly record?: TrustRecord }
  /** Nothing is said; the verifier is to look once more. */
  | { readonly as: "verify" };
