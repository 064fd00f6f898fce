import type { Effect } from "./effect.ts";
import type { EffectKey, Instant, RunId, StepId } from "./id.ts";
import type { Json, JsonObject } from "./json/json.ts";
import type { Estimate } from "./limits/budget.ts";
import type { Access } from "./resource.ts";
import type { Schema } from "./schema.ts";
import type { DraftOf, SliceOf, SliceShape } from "./state/slice.ts";
import type { Clock } from "./time/clock.ts";

/** What can be called. Data first: everything but the functions decides something in the law. */
export interface Tool {
  readonly name: string;
  readonly version: string;
  readonly effect: Effect;
  readonly description: string;
  readonly tags: readonly string[];
  readonly risk: "low" | "medium" | "high";
  /** Only who has one of these may call it; empty: anyone. */
  readonly roles: readonly string[];
  /** What has to hold of every call. */
  readonly preconditions: readonly Precondition[];
  readonly input: Schema;
  readonly output: Schema;
  /** JSON pointers into the canonical input that make two calls the same act, tenant-wide. */
  readonly identity: readonly string[] | null;
  readonly timeoutMs: number;
  /** How long a handler may give no sign of life; null: as long as its timeout lasts. */
  readonly heartbeatMs: number | null;
  /** Tries in all for a fault that may pass; null: the fault table's number. */
  readonly tries: number | null;
  readonly cache: CachePolicy;
  /** How long a recorded answer may stand in for a new one. */
  readonly cacheTtlMs: number | null;
  /** What a call of this input is expected to spend; null: nobody can tell. */
  readonly cost: ((input: Json) => Estimate) | null;
  /** By name, the resources that it changes, and how it gets at them. */
  readonly resources: Readonly<Record<string, Access>>;
  /** The places of state that it reads and writes, as JSON pointers; null: it does not say, and may go anywhere. */
  readonly stateReads: readonly string[] | null;
  readonly stateWrites: readonly string[] | null;
  /** Output fields (JSON pointers) that are stored as digests and can never be bound. */
  readonly redact: readonly string[];

  // For acts.
  readonly settleAfterMs: number;
  readonly confirm: "none" | "strict" | "warn" | "gate";
  readonly idempotentForMs: number | null;
  /** What a thrown error or `success: false` says about the world. */
  readonly errorsMean: "unknown" | "not_done";
  readonly onDuplicate: "hold" | "reuse" | "refuse";
  readonly safeIfAbsent: boolean;

  // Methods, so that tools with different inputs fit in one list. The schemas are what makes that safe.
  run(input: Json, context: ToolContext): Promise<unknown>;
  /** What an act would answer, told without acting: shown before it is approved, and what a rehearsal goes on with. */
  preview: ((input: Json, context: Pick<ToolContext, "slice" | "signal" | "now">) => Promise<unknown>) | null;
  verify: ((probe: Probe) => Promise<Sighting>) | null;
  compensate: ((done: Done, context: ToolContext) => Promise<unknown>) | null;
}

/** A condition under a name, so that the record can say which did not hold. */
interface Precondition {
  readonly id: string;
  readonly expression: string;
}

/** use_if_safe: an equal call may be answered from the record while it is safe. ttl_only: only within the tool's time. */
export type CachePolicy = "never" | "use_if_safe" | "ttl_only";

export interface ToolContext {
  /** Hand it to the outside world as the idempotency key. Empty for what never acts. */
  readonly key: EffectKey | "";
  readonly run_id: RunId;
  readonly plan_id: string | null;
  readonly step_id: StepId;
  readonly attempt: number;
  /** What the request came with, to be handed on: one for all it sets off, one for this trace of it. */
  readonly correlation_id: string;
  readonly trace_id: string;
  readonly signal: AbortSignal;
  /** The moment that the call stands on: when it began, or when it was shown to who approved it. */
  readonly now: Instant;
  /** What the time is while it runs: the engine's, which a test can set. */
  readonly clock: Clock;
  /** What the attempt before this one last said with its heartbeat, if that is on record; null: nothing. */
  readonly last_heartbeat: Json | null;
  /** A sign of life, with what the next attempt should know if this one is not heard of again. */
  heartbeat(details?: Json): void;
  /** Adds to the cost of this attempt. Integers only. */
  cost(spent: Partial<Cost>): void;
  /** A step to be taken after this one has committed: it walks the whole road. */
  errand(name: string, payload: Json): void;
  /** A run to be started after this one has committed, by a step of its own that waits for its end. */
  child(plan: Json, context?: JsonObject): void;
  /** A message to be delivered after commit, at least once, under a stable id. */
  notice(topic: string, payload: Json): void;
  /** A slice of the project's state: a tool that writes changes its own draft of it, all others look. */
  slice<Entry, Shape extends SliceShape>(slice: SliceOf<Entry, Shape>): DraftOf<Entry, Shape>;
  /** Changes the slices that have a reducer for the event: at once where the tool writes, when it commits where it acts. */
  dispatch(event: string, payload: Json): void;
  /** What the tool works on of a resource that it has declared. */
  resource<Handle>(name: string): Handle;
  /** Chance in [0, 1), the same for the same attempt of the same step whoever runs it. */
  random(): number;
}

/** What is asked of the world about an act in doubt, or about a recorded one. */
export interface Probe {
  readonly key: EffectKey;
  readonly input: Json;
  /** The recorded output, when an act on record is confirmed rather than searched for. */
  readonly output: Json | null;
  readonly since: Instant;
  readonly signal: AbortSignal;
}

/** What a verifier saw. Anything it cannot tell is unknown, never absent. */
export type Sighting =
  | { readonly saw: "happened"; readonly output: Json; readonly differs?: string }
  | { readonly saw: "absent" }
  | { readonly saw: "unknown"; readonly why?: string };

/** An act on record, as its compensation receives it. */
export interface Done {
  readonly input: Json;
  readonly output: Json | null;
  readonly key: EffectKey;
}

/** What an attempt cost: integers, attached to the attempt, never rolled back. */
export interface Cost {
  readonly usd_micros: number;
  readonly credits: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly model: string;
}
