import type { CostEstimate } from "../limits/budget.ts";
import type { Clock } from "../ports/clock.ts";
import type { Access, ResourceHandles } from "../ports/resource.ts";
import type { Schema } from "../ports/schema.ts";
import type { DeclaredState } from "../state/named-state-pointers.ts";
import type { DraftOf, SliceOf, SliceShape } from "../state/slice.ts";
import type { Snapshot, SnapshotContents } from "../state/snapshot.ts";
import type { Effect } from "../values/effect.ts";
import type { EffectKey, Instant, RunId, StepId } from "../values/ids.ts";
import type { Json, JsonObject } from "../values/json.ts";
import type { TextForm } from "../values/normalize-text.ts";
import type { AskedData } from "./asked-data.ts";
import type { ExternalChange } from "./external-change.ts";

/** A function that can be called, with its declaration. The decisions in `core` use every field but the functions. */
export interface Tool {
  readonly name: string;
  readonly version: string;
  readonly effect: Effect;
  readonly description: string;
  readonly tags: readonly string[];
  readonly risk: "low" | "medium" | "high";
  /** A caller needs one of these roles; empty: any caller. */
  readonly roles: readonly string[];
  /** True: every call is held until its requester or an approver confirms it. */
  readonly confirmation: boolean;
  /** The values of its input that a person supplies if a call has none: what each is, by its JSON pointer. */
  readonly asksFor: AskedData;
  /** The conditions that every call must meet. */
  readonly preconditions: readonly Precondition[];
  readonly input: Schema;
  readonly output: Schema;
  /** The fields of the canonical input that make two calls the same act, tenant-wide. */
  readonly identity: readonly IdentityField[] | null;
  /** A call that has not ended by then is aborted: `TOOL_TIMEOUT`, and an act is in doubt. */
  readonly timeoutMs: number;
  /** model: the tool asks a language model, whose answer is paid for even if it comes too late. */
  readonly asks: "model" | null;
  /** The maximum time between two heartbeats of a handler; null: only the timeout applies. */
  readonly heartbeatMs: number | null;
  /** The total number of attempts after a fault that `retry` covers; null: the number in the fault table. */
  readonly tries: number | null;
  /** named: only temporary faults are retried. any: also an error that is not a fault (`TOOL_FAILED`). */
  readonly retry: "named" | "any";
  readonly cache: CachePolicy;
  /** How long a recorded output may be reused instead of a new call. */
  readonly cacheTtlMs: number | null;
  /** Whether a recorded output answers the other principals of the tenant, too. */
  readonly cacheShare: "principal" | "tenant";
  /** Estimates the cost of a call with this input; null: unknown. */
  readonly cost: ((input: Json) => CostEstimate) | null;
  /** The resources that it changes, by name, and how it accesses them. */
  readonly resources: Readonly<Record<string, Access>>;
  /** JSON pointers to the state that it reads and writes; null: not declared, so it may access all state. */
  readonly stateReads: readonly string[] | null;
  readonly stateWrites: readonly string[] | null;
  /** True: the host of an agent does the work itself, and the tool has no handler. */
  readonly external: boolean;
  /** Output fields (JSON pointers) that are stored as digests and can never be bound. */
  readonly redact: readonly string[];

  // For acts.
  readonly settleAfterMs: number;
  readonly confirm: "none" | "strict" | "warn" | "gate";
  readonly idempotentForMs: number | null;
  /** Whether a thrown error or `success: false` proves that the act did not happen. */
  readonly errorsMean: "unknown" | "not_done";
  readonly onDuplicate: "hold" | "reuse" | "refuse";
  readonly safeIfAbsent: boolean;
  /** safe: the signal of a caller reaches the handler, and an act that this signal stops did not happen. */
  readonly abort: "never" | "safe";

  // Methods, so that tools with different inputs fit in one list. The schemas make this safe.
  run(input: Json, context: ToolContext): Promise<unknown>;
  /** Predicts the output of a call without making it: it is shown for approval, and a simulation continues with it. */
  preview: ((input: Json, context: Pick<ToolContext, "slice" | "signal" | "now">) => Promise<unknown>) | null;
  verify: ((probe: Probe) => Promise<Sighting>) | null;
  /** Checks one recorded change in the outside world. */
  verifyChange: ((probe: ChangeProbe) => Promise<Sighting>) | null;
  compensate: ((done: CompletedAct, context: ToolContext) => Promise<unknown>) | null;
}

/** A tool with the types of its input and its output, for its callers. */
export interface ToolOf<Input, Output> extends Tool {
  /** Never present: it carries the types. */
  readonly of?: { readonly input: Input; readonly output: Output };
}

/** The input that a caller may give to a tool. A tool without types takes any JSON. */
export type InputOf<Called extends Tool> = Called extends ToolOf<infer Input, unknown> ? OrJson<Input> : Json;

/** The recorded output of a tool. Redacted fields are digests. */
export type OutputOf<Called extends Tool> = Called extends ToolOf<unknown, infer Output> ? OrJson<Output> : Json;

type OrJson<Type> = unknown extends Type ? Json : Type;

/** A field of the input that is part of the identity of an act. */
export interface IdentityField {
  /** A JSON pointer into the canonical input. */
  readonly pointer: string;
  /** Texts are compared in this form; null: byte for byte. The input itself is not changed. */
  readonly normalize: TextForm | null;
}

/** A named condition, so that the journal records which one failed. */
export interface Precondition {
  readonly id: string;
  readonly expression: string;
  /** The state that the expression reads, as `state.NAME`: the values when the call starts. */
  readonly state?: DeclaredState;
}

/** use_if_safe: an equal call may reuse a recorded output while that is safe. ttl_only: only within `cacheTtlMs`. */
export type CachePolicy = "never" | "use_if_safe" | "ttl_only";

export interface ToolContext {
  /** Pass it to the receiver as the idempotency key. Empty for a tool that does not act. */
  readonly key: EffectKey | "";
  readonly run_id: RunId;
  readonly plan_id: string | null;
  readonly step_id: StepId;
  readonly attempt: number;
  /** From the request, to be passed on: the correlation id covers everything it causes, the trace id this trace. */
  readonly correlation_id: string;
  readonly trace_id: string;
  /** The W3C trace context of this attempt: of the span of an observer, or derived from the trace id. Pass it on. */
  readonly traceparent: string;
  readonly signal: AbortSignal;
  /** The logical time of the call: when it started, or when its preview was shown for approval. */
  readonly now: Instant;
  /** The clock of the engine, which a test can set. */
  readonly clock: Clock;
  /** The details of the last recorded heartbeat of the previous attempt, or null. */
  readonly last_heartbeat: Json | null;
  /** Reports that the handler is alive, with details for the next attempt if this one is lost. */
  heartbeat(details?: Json): void;
  /** Adds to the cost of this attempt. Integers only. */
  cost(spent: Partial<Cost>): void;
  /** Adds a step that runs after this one has committed and passes all six stages. */
  errand(name: string, payload: Json): void;
  /** Adds a step that starts a child run after this step has committed, and waits for its end. */
  child(plan: Json, context?: JsonObject): void;
  /** Adds a notice, delivered at least once after the commit, under a stable id. */
  notice(topic: string, payload: Json): void;
  /**
   * Records a change that the act made to a resource outside, whether the attempt succeeds or fails. `engine.verify`
   * checks each recorded change. Only for acts.
   */
  changed(change: ExternalChange): void;
  /** Returns a slice of the project's state. A tool that writes changes its draft; other tools can only read. */
  slice<Entry, Shape extends SliceShape>(slice: SliceOf<Entry, Shape>): DraftOf<Entry, Shape>;
  /** Changes the slices that have a reducer for the event: immediately if the tool writes, at the commit if it acts. */
  dispatch(event: string, payload: Json): void;
  /** Returns the handle of a resource that the tool has declared. `ResourceHandles` gives names their types. */
  resource<Name extends keyof ResourceHandles>(name: Name): ResourceHandles[Name];
  resource<Handle>(name: string): Handle;
  /**
   * Returns the state and the resources of the tool as the call sees them now, with their contents: data that
   * `checkpoints.load` accepts. It reads whole slices.
   */
  snapshot(options?: SnapshotContents): Promise<Snapshot>;
  /**
   * Returns a random number in [0, 1). The sequence is the same for the same attempt of the same step on any worker.
   */
  random(): number;
}

/** The act that a verifier checks: one in doubt, or a recorded one. */
export interface Probe {
  readonly key: EffectKey;
  readonly input: Json;
  /** The recorded output if a recorded act is confirmed; null if an act in doubt is searched for. */
  readonly output: Json | null;
  readonly since: Instant;
  readonly signal: AbortSignal;
}

/** A recorded change of an act, which a verifier checks. */
export interface ChangeProbe {
  readonly change: ExternalChange;
  readonly key: EffectKey;
  readonly input: Json;
  readonly signal: AbortSignal;
}

/** The result of a verifier. If the verifier cannot be sure, the result is `unknown`, never `absent`. */
export type Sighting =
  | { readonly saw: "happened"; readonly output: Json; readonly differs?: string }
  | { readonly saw: "absent" }
  | { readonly saw: "unknown"; readonly why?: string };

/** A recorded act, as its compensation receives it. */
export interface CompletedAct {
  readonly input: Json;
  readonly output: Json | null;
  readonly key: EffectKey;
  /** The changes that it recorded, in their order. */
  readonly changes: readonly ExternalChange[];
}

/** The cost of an attempt, in integers. It is never rolled back. */
export interface Cost {
  readonly usd_micros: number;
  readonly credits: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly model: string;
}
