import type { Event } from "../../core/event/event.ts";
import type { ResourceDifference } from "../../core/ports/resource.ts";
import type { SliceOf, SliceShape, ViewOf } from "../../core/state/slice.ts";
import type { SliceSnapshot, Snapshot, SnapshotContents } from "../../core/state/snapshot.ts";
import type { StateDifference } from "../../core/state/state-difference.ts";
import type { Instant, RunId, StepId } from "../../core/values/ids.ts";
import type { Json, JsonObject } from "../../core/values/json.ts";

/** Selects a state: that of a project, or the one that a run uses. */
export type StateSelector = { readonly project: string; readonly session?: string } | { readonly runId: string };

/** Selects a version of a state. Default: the latest. */
export interface StateVersionSelector {
  readonly version?: number;
  /** Selects the version that was the latest at this time. */
  readonly at?: Instant | number;
}

/** A slice as it is stored. */
export interface RecordedSlice {
  readonly version: string;
  readonly shape: SliceShape;
  readonly entries: readonly Json[] | JsonObject;
}

/** A read-only view of the state at one version. Later changes do not affect it. */
export interface StateView {
  readonly version: number;
  /** When the version was made. Null: the state was never written. */
  readonly at: Instant | null;
  /** Returns every stored slice by its stored name, including slices that this engine does not declare. */
  all(): Readonly<Record<string, RecordedSlice>>;
  slice<Entry, Shape extends SliceShape>(slice: SliceOf<Entry, Shape>): ViewOf<Entry, Shape>;
  /** Returns the state as data that `engine.checkpoints.load` accepts. It contains no resources. */
  snapshot(options?: SnapshotOptions): Snapshot;
}

/** The form of snapshots before version "2": slices only. It can still be loaded. */
export interface StateSnapshot {
  readonly schema_version: "1";
  readonly created_at: Instant;
  readonly version: number;
  readonly tag: string | null;
  readonly slices: Readonly<Record<string, Omit<SliceSnapshot, "size" | "digest">>>;
}

export interface SnapshotOptions extends SnapshotContents {
  /** Includes the slices of all policies. */
  readonly includeAll?: boolean;
}

/** Names the state right before or right after a call. */
export interface CheckpointRef {
  readonly runId: string;
  readonly stepId: string;
  readonly side: "before" | "after";
}

/** The values that one call changed in the state of its project. Changes of other calls are not part of it. */
export interface StepChange {
  readonly step_id: StepId;
  /** Null: the change was recorded when a doubt was settled. */
  readonly attempt: number | null;
  readonly at: Instant;
  /** The version of the state that the call made. */
  readonly version: number;
  /** False: the call failed, and only its log entries were published. */
  readonly succeeded: boolean;
  readonly changes: readonly StateDifference[];
}

/** The differences between the states and files of two calls. */
export interface CheckpointDiff {
  /** Entry by entry, in order. */
  readonly state: readonly StateDifference[];
  /** Changed files by resource name, in path order. Resources without changes are left out. */
  readonly files: Readonly<Record<string, readonly ResourceDifference[]>>;
}

/** The result of a restore. */
export interface CheckpointRestore {
  /** The latest version of the state. A restore that changes no state makes no version. */
  readonly version: number;
  /** The number of operations in the patch of state. */
  readonly changes: number;
  /** The numbers of paths, in all resources. */
  readonly files: {
    /** Existing paths that have their earlier contents again. */
    readonly restored: number;
    /** Paths that did not exist and do again. */
    readonly created: number;
    /** Paths that did not exist at the checkpoint. */
    readonly removed: number;
  };
}

/** A call or a restore that changed state or files, a snapshot, or another call if all were asked for. */
export interface CheckpointView {
  /** The version of the state after it. */
  readonly version: number;
  readonly run_id: RunId;
  /** Null: a restore or a fork, not a call. */
  readonly step_id: StepId | null;
  readonly attempt: number | null;
  /** The tool that was called. Null: not a call, or the plan does not contain the step. */
  readonly tool: string | null;
  readonly type: Event["type"];
  readonly at: Instant;
  readonly elapsed_ms: number;
  /** False: the call failed, and left at most entries of logs. */
  readonly success: boolean;
  /** The beginning of the output as JSON, or of the message of the fault. Null: not a call, or not visible. */
  readonly summary: string | null;
  /** The id that an agent gave the call, or the request key of its run. */
  readonly call_id: string | null;
  /** Of a snapshot that was taken by hand. */
  readonly tags: Readonly<Record<string, string>>;
  /** The ids of the snapshots before and after the call. Null: not a call. */
  readonly before: string | null;
  readonly after: string | null;
  /** The number of operations in the patch of state. */
  readonly changes: number;
  /** The number of changed paths, in all resources. */
  readonly files: number;
}
