import type { Event } from "../../core/event.ts";
import type { Instant, RunId, StepId } from "../../core/id.ts";
import type { Json, JsonObject } from "../../core/json/json.ts";
import type { ResourceChange } from "../../core/resource.ts";
import type { Difference } from "../../core/state/difference.ts";
import type { SliceOf, SliceShape, ViewOf } from "../../core/state/slice.ts";
import type { SnapshotOptions, StateSnapshot } from "./state-snapshot.ts";

/** Whose state is meant: a project's, or that which a run works on. */
export type StateOf = { readonly project: string; readonly session?: string } | { readonly runId: string };

/** Which of its versions is meant; the latest, unless it is said. */
export interface StateWhen {
  readonly version?: number;
  /** The last one that was there at this moment. */
  readonly at?: Instant | number;
}

/** A slice as it is on record. */
export interface RecordedSlice {
  readonly version: string;
  readonly shape: SliceShape;
  readonly entries: readonly Json[] | JsonObject;
}

/** State at one version, to look at. It stays as it is, whatever happens meanwhile. */
export interface StateView {
  readonly version: number;
  /** When that version was made; null: nothing was ever written. */
  readonly at: Instant | null;
  /** Every slice that is on record, declared here or not, by the name that the record has for it. */
  all(): Readonly<Record<string, RecordedSlice>>;
  slice<Entry, Shape extends SliceShape>(slice: SliceOf<Entry, Shape>): ViewOf<Entry, Shape>;
  /** As data, to be kept elsewhere; `engine.checkpoints.load` takes it back. */
  snapshot(options?: SnapshotOptions): StateSnapshot;
}

/** State right before or right after a call. */
export interface CheckpointAt {
  readonly runId: string;
  readonly stepId: string;
  readonly side: "before" | "after";
}

/** What is different between two calls. */
export interface CheckpointDiff {
  /** Entry by entry, in order. */
  readonly state: readonly Difference[];
  /** By the names that tools have for resources, in the order of the paths. Those in which nothing is different are left out. */
  readonly files: Readonly<Record<string, readonly ResourceChange[]>>;
}

/** One version of a project's state, and the call or the restore that made it. */
export interface CheckpointView {
  readonly version: number;
  readonly run_id: RunId;
  /** Null: no call made it, but somebody who restored an earlier one. */
  readonly step_id: StepId | null;
  readonly attempt: number | null;
  readonly type: Event["type"];
  readonly at: Instant;
  readonly elapsed_ms: number;
  readonly changes: number;
}
