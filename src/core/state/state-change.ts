import type { RunId, StepId } from "../id.ts";
import type { Capture, Closing } from "../resource.ts";
import type { StatePoint } from "../rows.ts";
import type { Kept } from "./kept.ts";
import type { Patch } from "./patch.ts";

/** A version of a project's state: what a call left of its draft, and what that was laid upon. */
export interface StateChange {
  readonly project: string;
  /** Its row has this version from here on. */
  readonly version: number;
  readonly commit: string;
  /** Where the version before this one is told; null: nothing was there. */
  readonly upon: StatePoint | null;
  readonly patch: Patch;
  /** Versions before this one that are kept in one piece since it was last said. */
  readonly kept?: Kept;
}

/** That somebody went back to an earlier call. */
export interface GoneBack {
  readonly by: string;
  readonly reason: string;
  /** The version that state is again. */
  readonly to: number;
  /** Absent: it was so. */
  readonly state?: StateChange;
  /** Resources as they were before they were changed with it, and what became of them; absent: they were so. */
  readonly captures?: readonly Capture[];
  readonly closings?: readonly Closing[];
}

/** Where a run goes on from: its steps up to there are done, and state is as it was there. */
export interface Forked {
  readonly run_id: RunId;
  /** Those that it comes from itself, the nearest first. Absent: there are none. */
  readonly above?: readonly RunId[];
  readonly step_id: StepId;
  readonly side: "before" | "after";
  /** Null: there was no state yet. */
  readonly state: StatePoint | null;
  /** Tools that acted after that point. What one of them did here and there is not always told apart by its key. */
  readonly acted: readonly string[];
  /** Resources that were gone back with, as they were before; absent: none. */
  readonly captures?: readonly Capture[];
  readonly closings?: readonly Closing[];
}
