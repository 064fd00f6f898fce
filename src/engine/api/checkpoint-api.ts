import type { SlicePolicy } from "../../core/state/slice.ts";
import type { Snapshot } from "../../core/state/snapshot.ts";
import type { Mode } from "../../core/values/effect.ts";
import type { CallResult, PrincipalOptions, ReasonOptions, SubmitOptions } from "./request-options.ts";
import type { RunHandle } from "./run-handle-api.ts";
import type {
  CheckpointDiff,
  CheckpointRef,
  CheckpointRestore,
  CheckpointView,
  StateSelector,
  StateSnapshot,
} from "./state-api.ts";

/** Restores earlier state and files. The journal is never rewritten: a restore is a new version. */
export interface Checkpoints {
  /**
   * Lists the calls and restores that changed state or files and can be restored, and the snapshots taken by hand,
   * oldest first.
   */
  list(options: PrincipalOptions & StateSelector & CheckpointFilter): Promise<readonly CheckpointView[]>;
  /**
   * Takes a snapshot of the state of a project and of all resources, by a run of its own. `restore` returns to it; with
   * `contents`, `load` also loads it elsewhere.
   */
  take(options: TakeSnapshotOptions): Promise<Snapshot>;
  /** Returns the snapshot of a moment that can be restored. */
  get(at: CheckpointRef | string, options: SnapshotReadOptions): Promise<Snapshot>;
  /** Restores state and files together, and returns what changed. Keeps log slices by default. */
  restore(
    at: CheckpointRef | string,
    options: ReasonOptions & { readonly preserveLogs?: boolean },
  ): Promise<CheckpointRestore>;
  /**
   * Loads a snapshot into state and resources by a run of its own, which changes both or neither. `SLICE_CHANGED`: a
   * slice is missing or declared differently.
   */
  load(snapshot: Snapshot | StateSnapshot, options: LoadOptions): Promise<CallResult>;
  /** Returns the differences in state and files between two calls on the same state. */
  diff(from: CheckpointRef | string, to: CheckpointRef | string, options: PrincipalOptions): Promise<CheckpointDiff>;
  /**
   * Starts a new run from the checkpoint, with a state of its own. Steps done before the checkpoint stay done. Acts
   * performed after it are found in the ledger. The new run has the source run's plan, or the one given.
   */
  fork(at: CheckpointRef | string, options: ForkOptions): Promise<RunHandle>;
}

/** Which checkpoints a list contains. */
export interface CheckpointFilter {
  /** Only the calls with this id, given by an agent or as a request key. */
  readonly callId?: string;
  /** all: also calls that failed or changed nothing. Default: changes. */
  readonly calls?: "changes" | "all";
}

export interface SnapshotReadOptions extends PrincipalOptions {
  /** Slices with one of these policies. Default: `state`. */
  readonly policies?: readonly SlicePolicy[];
  /** True: with the entries of the slices, and with the contents of resources if the snapshot was taken with them. */
  readonly contents?: boolean;
}

/** A snapshot is taken by a run of its own. */
export interface TakeSnapshotOptions extends SnapshotReadOptions {
  readonly project: string;
  readonly session?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** The same snapshot is returned for the same key. */
  readonly requestKey?: string;
}

export interface LoadOptions extends SubmitOptions {
  /** False: the logs of the snapshot replace those of the state. Only principals that may restore can. Default: true. */
  readonly preserveLogs?: boolean;
  /** leave: only state is loaded. Default: load. */
  readonly resources?: "load" | "leave";
}

export interface ForkOptions extends PrincipalOptions {
  readonly plan?: unknown;
  readonly mode?: Mode;
  /** Required if calls have changed files since the checkpoint, because runs share one working tree. */
  readonly files?: "restore" | "leave";
}
