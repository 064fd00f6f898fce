import type { DoubtExits } from "../event/doubt-settlement.ts";
import type { Call } from "../event/event.ts";
import type { ExternalAttempt } from "../event/external-attempt.ts";
import type { Provenance } from "../event/provenance.ts";
import type { ReuseSource } from "../event/reuse-source.ts";
import type { StepCause } from "../event/step-cause.ts";
import type { Parking } from "../event/step-parking.ts";
import type { ToolPin } from "../event/tool-pin.ts";
import type { VerifiedAct } from "../event/verified-act.ts";
import type { LimitUnit } from "../limits/budget.ts";
import type { PlanStep } from "../plan/plan.ts";
import { stepKinds } from "../plan/step-kinds.ts";
import type { Capture } from "../ports/resource.ts";
import type { Patch } from "../state/patch.ts";
import type { LedgerState } from "../store/tables.ts";
import type { ExternalChange } from "../tool/external-change.ts";
import type { Tool } from "../tool/tool.ts";
import type { WorldOutcome } from "../values/effect.ts";
import type { Fault } from "../values/fault.ts";
import type { GateId, Instant, RunId, StepId, WorkerId } from "../values/ids.ts";
import type { Json } from "../values/json.ts";
import type { StepTimes } from "./step-times.ts";

/** One step of a run with its current state. */
export interface Step {
  readonly index: number;
  readonly spec: PlanStep;
  readonly pin: ToolPin | null;
  /** Null for a step of the plan. */
  readonly cause: StepCause | null;
  /** The number of its dependencies that have not succeeded yet. */
  readonly missing: number;
  readonly standing: StepStanding;
  readonly attempts: number;
  /**
   * The number of attempts that do not count against the retry limit: all attempts before the last resume or repeated
   * undo request, and since then each attempt that failed with STATE_CONFLICT or CALL_NOT_MADE.
   */
  readonly forgiven: number;
  /** The exact call. It is set when a gate, a ledger row or an event first depends on it, and not derived again. */
  readonly call: Call | null;
  /** The last gate that was opened for the step. */
  readonly gate: GateId | null;
  readonly act: Act | null;
  /** The last attempt whose work the host of the agent does itself. Null if there was none. */
  readonly external: (ExternalAttempt & { readonly attempt: number; readonly boot: string }) | null;
  /** The last run of the session of the sub-agent that does the call. Null if none does. */
  readonly delegated: RunId | null;
  /** The amounts reserved for the last attempt. Empty once they are settled. */
  readonly reserved: readonly Reservation[];
  readonly world: WorldOutcome | null;
  /** The details of the last heartbeat of a failed or doubted attempt. */
  readonly heartbeat: Json | null;
  /** The captures of resources that the last attempt may have changed and that are not restored yet. */
  readonly captures: readonly Capture[];
  /** The fault with which the last attempt failed, while its resources are restored. */
  readonly failure: Fault | null;
  /** The state before and after the last attempt, and where it ended. Null if no attempt ended. */
  readonly checkpoint: Checkpoint | null;
  /** Null if no attempt ended. */
  readonly times: StepTimes | null;
}

/** The versions of the project state before and after a call. Null: the event of its end tells none. */
interface Checkpoint {
  readonly before: number | null;
  readonly after: number | null;
  /** The position of the event that ended the call. */
  readonly position: number;
  /** The resources before the call. Empty if it changed none or failed. */
  readonly captures: readonly Capture[];
  /** The changes of state. Null if there are none, or they are too large for a result. */
  readonly changes: Patch | null;
}

const NONE: readonly never[] = [];

/** Makes a step that has not started. It is ready if no dependency is missing. */
export function newStep(
  index: number,
  spec: PlanStep,
  pin: ToolPin | null,
  cause: StepCause | null,
  missing: number,
): Step {
  return {
    index,
    spec,
    pin,
    cause,
    missing,
    standing: missing === 0 ? { state: "ready" } : { state: "pending" },
    attempts: 0,
    forgiven: 0,
    call: null,
    gate: null,
    act: null,
    external: null,
    delegated: null,
    reserved: NONE,
    world: null,
    heartbeat: null,
    captures: NONE,
    failure: null,
    checkpoint: null,
    times: null,
  };
}

type MutableStep = { -readonly [Field in keyof Step]: Step[Field] };

/** Copies field by field, for the same reason as `copyRun`. */
export function copyStep(step: Step): MutableStep {
  return {
    index: step.index,
    spec: step.spec,
    pin: step.pin,
    cause: step.cause,
    missing: step.missing,
    standing: step.standing,
    attempts: step.attempts,
    forgiven: step.forgiven,
    call: step.call,
    gate: step.gate,
    act: step.act,
    external: step.external,
    delegated: step.delegated,
    reserved: step.reserved,
    world: step.world,
    heartbeat: step.heartbeat,
    captures: step.captures,
    failure: step.failure,
    checkpoint: step.checkpoint,
    times: step.times,
  };
}

/** The amount that an attempt has charged to a tally so far, and the cost that its handler has reported. */
export interface Reservation {
  readonly tally: string;
  readonly unit: LimitUnit;
  readonly charged: number;
  readonly reported: number;
}

/** The ledger row of the act of this step, as this run last wrote it. */
export interface Act {
  readonly version: number;
  readonly generation: number;
  readonly state: LedgerState;
  readonly attempt: number;
  readonly started_at: Instant;
  readonly boot: string;
  /** The position of the event that proves that the act happened. */
  readonly receipt: number | null;
  /** The recorded output. A compensation needs it after the step has left the state "succeeded". */
  readonly output: Json | null;
  /** The changes that its handler recorded. */
  readonly changes: readonly ExternalChange[];
  /** False if the act happened but its output is not valid. */
  readonly usable: boolean;
  /** Present if its plan is atomic, and its tool declares a compensation. */
  readonly reversible?: true;
  /** When the call was first sent under this key and generation. A promise of the tool about the key starts here. */
  readonly sent_at: Instant;
  /** How often the act was started under this key and generation. More than 1 means that it was sent again. */
  readonly sends: number;
  /** The calls under this key and generation whose handlers may still run, as far as the journal shows. */
  readonly sent: readonly SentCall[];
  /** The row belongs to a later generation. */
  readonly superseded?: true;
  /** The reaction that the tool demands if the act is not found later, as declared when it was started. */
  readonly confirm: Exclude<Tool["confirm"], "none"> | null;
  /** The last finding of a verifier about the recorded act, and the position of its event. */
  readonly verified: (Pick<VerifiedAct, "found" | "why"> & { readonly position: number }) | null;
  /** The doubt while the identical call is sent again. Until its end is known, the first call may have happened. */
  readonly doubt: InDoubt | null;
}

/** A call of an act, and the worker that makes it. */
export interface SentCall {
  readonly attempt: number;
  readonly worker: WorkerId;
}

/**
 * The maximum time between the recorded start of an act and the call of its tool. After it, the tool is not called:
 * another worker may have taken the run over and be about to conclude that the act never happened.
 */
export const CALL_WITHIN_MS = 10_000;

/** The state of a step, with exactly the data that exists in that state. */
export type StepStanding =
  | { readonly state: "pending" }
  | { readonly state: "ready" }
  | { readonly state: "waiting_approval"; readonly gate_id: GateId }
  | { readonly state: "waiting"; readonly on: Parking }
  /** `until` is present if the host of the agent does the work itself: then its end is unknown. */
  | { readonly state: "running"; readonly attempt: number; readonly started_at: Instant; readonly until?: Instant }
  | {
      readonly state: "succeeded";
      readonly output: Json;
      readonly reused: ReuseSource | null;
      readonly outcome: Provenance | null;
      readonly at: Instant;
    }
  | { readonly state: "failed_retryable"; readonly fault: Fault; readonly retry_at: Instant }
  | { readonly state: "failed_final"; readonly fault: Fault }
  | { readonly state: "in_doubt"; readonly fault: Fault; readonly since: Instant; readonly doubt: Doubt }
  | { readonly state: "rejected"; readonly fault: Fault; readonly rule: string }
  | { readonly state: "skipped"; readonly fault: Fault }
  | { readonly state: "cancelled" }
  | { readonly state: "compensating"; readonly undo: StepId }
  | { readonly state: "compensated"; readonly confirmed: boolean }
  | { readonly state: "compensation_failed"; readonly fault: Fault };

export type StepState = StepStanding["state"];
type InDoubt = Extract<StepStanding, { state: "in_doubt" }>;

/** The known facts about an act in doubt, and the next action. */
interface Doubt {
  readonly exits: DoubtExits;
  /** True if a handler of the act may still run, as far as the journal shows. */
  readonly alive: boolean;
  /** When the last probe found the act absent, else null. One such result proves nothing. */
  readonly absent_at: Instant | null;
  readonly next: NextDoubtAction;
}

export type NextDoubtAction =
  | { readonly do: "settle" } // the engine can verify or resend now
  | { readonly do: "look_again"; readonly at: Instant }
  | { readonly do: "ask" }; // only a person can settle it

/**
 * - moving: the step runs, or can start or be settled now.
 * - retrying: another attempt is scheduled.
 * - waiting: the step waits for a person, a signal, a time, another run or the host of the agent.
 * - blocked: a dependency has not succeeded yet.
 * - done: the step has ended.
 */
export type StepPace = "moving" | "retrying" | "waiting" | "blocked" | "done";

export function stepPace(standing: StepStanding): StepPace {
  switch (standing.state) {
    case "ready":
      return "moving";
    case "running":
      return standing.until === undefined ? "moving" : "waiting";
    case "failed_retryable":
      return "retrying";
    case "waiting_approval":
    case "waiting":
    case "compensating":
      return "waiting";
    case "in_doubt":
      return standing.doubt.next.do === "settle" ? "moving" : "waiting";
    case "pending":
      return "blocked";
    default:
      return "done";
  }
}

/** True if the step is a wait that a signal can end. The signal row shows whether one was sent. */
export function awaitsSignal({ spec: { kind, payload, bindings } }: Step): boolean {
  return stepKinds[kind].output === "with_signal" && ("signal" in payload || "/signal" in bindings);
}

/** True if the state of the step allows a start now: it is ready, its wait is over, or it waits for a tool. */
export function isStartable({ standing }: Step, now: Instant): boolean {
  switch (standing.state) {
    case "ready":
      return true;
    case "failed_retryable":
      return now >= standing.retry_at;
    case "waiting":
      return standing.on.for === "tool" || (standing.on.until !== null && now >= standing.on.until);
    default:
      return false;
  }
}

/** True if other calls changed the state that the last attempt used, so the step runs again. */
export function hadStateConflict({ standing }: Step): boolean {
  return standing.state === "failed_retryable" && standing.fault.code === "STATE_CONFLICT";
}

/** True if the host of the agent does the work of the current attempt itself, and has not reported its end. */
export function isHostAtWork({ standing }: Step): boolean {
  return standing.state === "running" && standing.until !== undefined;
}

/** True for a step of the plan that its plan permits to fail: it is skipped instead, and the plan continues. */
export function mayBeSkipped({ cause, spec }: Step): boolean {
  return cause === null && spec.on_failure === "skip";
}

export function isUndoStep({ cause }: Step): boolean {
  return cause?.by === "undo";
}

/** True for an undo that no person requested: its run is rolled back. */
export function isRollbackUndo({ cause }: Pick<Step, "cause">): boolean {
  return cause?.by === "undo" && cause.rollback === true;
}

/** True for a step that takes back: the undo of an act, or the restore of a rollback. A stopped run starts it, too. */
export function isReversal({ cause }: Pick<Step, "cause">): boolean {
  return cause?.by === "undo" || cause?.by === "rollback";
}

/** Returns the id of the step that undoes an act. There is one per act and generation. */
export function undoStepId(step: Step, generation: number): StepId {
  return `undo.${step.spec.step_id}.${generation}` as StepId;
}
