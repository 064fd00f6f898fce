import type { Event } from "../../core/event.ts";
import type { Instant, RunId, StepId } from "../../core/id.ts";
import type { Closure } from "../../core/rows.ts";
import type { Patch } from "../../core/state/patch.ts";
import type { As, CallResult, Reasoned, SubmitOptions } from "../asking.ts";

/** One version of a project's state: what it changed, and by which call of whom. */
export interface ProjectVersion {
  readonly version: number;
  readonly at: Instant;
  readonly run_id: RunId;
  /** Null: no call made it, but somebody who went back to an earlier one. */
  readonly step_id: StepId | null;
  /** What was called; null where the plan does not say. */
  readonly tool: string | null;
  /** Whose run it was, or who went back. */
  readonly by: string;
  readonly type: Event["type"];
  readonly patch: Patch;
}

/** Projects as people look after them. What is in them is `engine.state`. */
export interface ProjectDesk {
  /** Newest first: the latest 50, unless `limit` says otherwise, of those before a version. */
  history(
    project: string,
    options: As & { readonly limit?: number; readonly before?: number },
  ): Promise<readonly ProjectVersion[]>;
  /** Nothing is done in it any more, but the undoing of what was: calls are refused, on the record. Only a person can. */
  close(project: string, options: Reasoned & { readonly as: Closure["how"] }): Promise<void>;
  /** Takes that back. Only a person can. */
  open(project: string, options: Reasoned): Promise<void>;
  /** Null: it is open. */
  closure(project: string, options: As): Promise<Closure | null>;
  /**
   * Makes a project's state what it was at one of its versions, as a new one, by a run of its own that takes the road like any
   * other: it is judged, may be held, and sends no errand. Logs stay; caches are emptied.
   */
  revert(project: string, version: number, options: Omit<SubmitOptions, "project">): Promise<CallResult>;
}
