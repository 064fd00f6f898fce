import type { World } from "./effect.ts";
import type { Call, Cause, Exits, Pin, Provenance, Reused } from "./event.ts";
import type { Fault } from "./fault.ts";
import type { GateId, Instant, StepId } from "./id.ts";
import type { Json } from "./json/json.ts";
import type { Unit } from "./limits/budget.ts";
import type { Parking } from "./parking.ts";
import type { PlanStep } from "./plan/plan.ts";
import type { Capture } from "./resource.ts";
import type { LedgerState } from "./rows.ts";

/** One node of a run and where it stands. */
export interface Step {
  readonly index: number;
  readonly spec: PlanStep;
  readonly pin: Pin | null;
  /** Null: the plan put it here. */
  readonly cause: Cause | null;
  /** How many of the steps it needs have not succeeded yet. */
  readonly missing: number;
  readonly standing: Standing;
  readonly attempts: number;
  /** Attempts before the last resume: they no longer count against the tries. */
  readonly forgiven: number;
  /** Fixed the first time something depends on the exact call, and never derived again. */
  readonly call: Call | null;
  /** The last gate opened for it. */
  readonly gate: GateId | null;
  readonly act: Act | null;
  /** What its last attempt was charged in advance, as long as that is not settled. */
  readonly reserved: readonly Reservation[];
  readonly world: World | null;
  /** What its last attempt said with a sign of life before it failed, or was not heard of any more. */
  readonly heartbeat: Json | null;
  /** What its last attempt may have changed and not put back. */
  readonly captures: readonly Capture[];
  /** The project's state before and after its last attempt; null: no attempt has ended that could have seen any. */
  readonly checkpoint: Checkpoint | null;
}

/** Where a call stands in the versions of its project's state. */
interface Checkpoint {
  readonly before: number;
  readonly after: number;
  /** Of the event that says so. */
  readonly position: number;
  /** Resources as they were before the call, if it changed any and ended well. */
  readonly captures: readonly Capture[];
}

/** A step that nobody else has seen yet. */
type MutableStep = { -readonly [Field in keyof Step]: Step[Field] };

/** Field by field, as `draftOf` copies a run. */
export function copyOf(step: Step): MutableStep {
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
    reserved: step.reserved,
    world: step.world,
    heartbeat: step.heartbeat,
    captures: step.captures,
    checkpoint: step.checkpoint,
  };
}

/** What was charged to a tally for an attempt so far, and what its handler has said it cost. */
export interface Reservation {
  readonly tally: string;
  readonly unit: Unit;
  readonly charged: number;
  readonly told: number;
}

/** What the ledger says of this step's act, as this run last wrote it. */
export interface Act {
  readonly version: number;
  readonly generation: number;
  readonly state: LedgerState;
  readonly attempt: number;
  readonly started_at: Instant;
  readonly boot: string;
  /** Position of the event that proves it. */
  readonly receipt: number | null;
  /** What the world answered, as recorded: a compensation needs it after the step has moved on. */
  readonly output: Json | null;
  readonly usable: boolean;
  /** When the call may first have gone out under this key and generation: a promise about the key counts from here. */
  readonly sent_at: Instant;
  /** How often it was started under this key and generation: more than once, and it was sent again. */
  readonly sends: number;
  /** A later generation has taken the row. */
  readonly superseded?: true;
  /** The doubt that sending the identical call again has yet to settle. Until then it may have happened before. */
  readonly doubt: InDoubt | null;
}

/**
 * How long after its start was recorded an act may still be called. Whoever is later than that does not call: another
 * worker may have taken the run over and be about to believe that the act never happened.
 */
export const CALL_WITHIN_MS = 10_000;

/** Where a step stands. Each state carries exactly the facts that are true in it. */
export type Standing =
  | { readonly state: "pending" }
  | { readonly state: "ready" }
  | { readonly state: "waiting_approval"; readonly gate_id: GateId }
  | { readonly state: "waiting"; readonly on: Parking }
  | { readonly state: "running"; readonly attempt: number; readonly started_at: Instant }
  | {
      readonly state: "succeeded";
      readonly output: Json;
      readonly reused: Reused | null;
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

export type State = Standing["state"];
type InDoubt = Extract<Standing, { state: "in_doubt" }>;

/** What is known about an act in doubt, and what may be done about it next. */
interface Doubt {
  readonly exits: Exits;
  /** The handler may still be at it, as far as the journal knows. */
  readonly alive: boolean;
  /** When the world was first seen without it. Once proves nothing. */
  readonly absent_at: Instant | null;
  readonly next: DoubtNext;
}

export type DoubtNext =
  | { readonly do: "settle" } // the engine can look now
  | { readonly do: "look_again"; readonly at: Instant }
  | { readonly do: "ask" }; // only a person can tell

/** Whether a step moves now, will be tried again, waits for someone or some time, rests behind others, or is done. */
export type Pace = "moving" | "retrying" | "waiting" | "blocked" | "done";

export function pace(standing: Standing): Pace {
  switch (standing.state) {
    case "ready":
    case "running":
      return "moving";
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

/** A wait that a signal can end; whether one has come is written in the signal's row. */
export function awaitsSignal({ spec: { kind, payload, bindings } }: Step): boolean {
  return kind === "wait" && ("signal" in payload || "/signal" in bindings);
}

/** What keeps a step from being started is not that it has begun, is over or has to wait. */
export function startable({ standing }: Step, now: Instant): boolean {
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

/** Others changed what its last attempt had worked with. */
export function wasOvertaken({ standing }: Step): boolean {
  return standing.state === "failed_retryable" && standing.fault.code === "STATE_CONFLICT";
}

export function isUndo({ cause }: Step): boolean {
  return cause?.by === "undo";
}

/** An undo is a step of its own, one per act. */
export function undoId(step: Step, generation: number): StepId {
  return `undo.${step.spec.step_id}.${generation}` as StepId;
}
