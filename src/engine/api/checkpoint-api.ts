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
  /** Lists the calls and restores that changed state or files and can be restored, oldest first. */
  list(options: PrincipalOptions & StateSelector): Promise<readonly CheckpointView[]>;
  /** Restores state and files together, and returns what changed. Keeps log slices by default. */
  restore(at: CheckpointRef, options: ReasonOptions & { readonly preserveLogs?: boolean }): Promise<CheckpointRestore>;
  /** Loads a snapshot into state by a run of its own. `SLICE_CHANGED`: a slice is missing or declared differently. */
  load(snapshot: StateSnapshot, options: SubmitOptions): Promise<CallResult>;
  /** Returns the differences in state and files between two calls on the same state. */
  diff(from: CheckpointRef, to: CheckpointRef, options: PrincipalOptions): Promise<CheckpointDiff>;
  /**
   * Starts a new run from the checkpoint, with a state of its own. Steps done before the checkpoint stay done. Acts
   * performed after it are found in the ledger. The new run has the source run's plan, or the one given.
   */
  fork(at: CheckpointRef, options: ForkOptions): Promise<RunHandle>;
}

export interface ForkOptions extends PrincipalOptions {
  readonly plan?: unknown;
  readonly mode?: Mode;
  /** Required if calls have changed files since the checkpoint, because runs share one working tree. */
  readonly files?: "restore" | "leave";
}
