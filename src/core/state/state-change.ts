import type { Capture, ResourceClosing } from "../ports/resource.ts";
import type { StatePoint } from "../store/tables.ts";
import type { HeldIn } from "../values/held-in.ts";
import type { Digest, EffectKey, RunId, StepId } from "../values/ids.ts";
import type { Patch } from "./patch.ts";
import type { SnapshotPointer } from "./version-bundle.ts";

/** A version of a project's state: the patch of a call, and the version before it. */
export interface StateChange {
  readonly project: string;
  /** The version of the project's row after this change. */
  readonly version: number;
  readonly commit: string;
  /** The event of the version before this one; null: this is the first. */
  readonly upon: StatePoint | null;
  readonly patch: Patch;
  /** A bundle of earlier versions that was written since the last such record. */
  readonly kept?: SnapshotPointer;
}

/** The record that a person restored an earlier state. */
export interface StateRestore extends HeldIn {
  readonly by: string;
  readonly reason: string;
  /** The version whose contents were restored. */
  readonly to: number;
  /** Absent: the state already had these contents. */
  readonly state?: StateChange;
  /** The captures and closings of the resources that were restored too; absent: none changed. */
  readonly captures?: readonly Capture[];
  readonly closings?: readonly ResourceClosing[];
}

/** A call that a person rejected. */
export interface RejectedCall {
  readonly run_id: RunId;
  readonly tool: string;
  readonly digest: Digest;
  /** Null for a call that does not act. */
  readonly key: EffectKey | null;
  readonly by: string;
}

/** The point at which a fork continues: earlier steps are done, and the state is that of this point. */
export interface ForkOrigin extends HeldIn {
  readonly run_id: RunId;
  /** The ancestors of that run, nearest first. Absent: none. */
  readonly above?: readonly RunId[];
  readonly step_id: StepId;
  readonly side: "before" | "after";
  /** Null: no state existed yet. */
  readonly state: StatePoint | null;
  /** Tools that acted after that point. Their keys do not always distinguish the acts of the two runs. */
  readonly acted: readonly string[];
  /** The calls that a person rejected in the run or in the runs above it. No fork makes them. Absent: none. */
  readonly rejected?: readonly RejectedCall[];
  /** The captures of the resources that were restored with the fork; absent: none. */
  readonly captures?: readonly Capture[];
  readonly closings?: readonly ResourceClosing[];
}
