import type { Event } from "../../core/event/event.ts";
import type { Patch } from "../../core/state/patch.ts";
import type { ProjectLock } from "../../core/store/tables.ts";
import type { Instant, RunId, StepId } from "../../core/values/ids.ts";
import type { PageOptions } from "./list-api.ts";
import type { CallResult, PrincipalOptions, ReasonOptions, SubmitOptions } from "./request-options.ts";

/** One version of a project's state: its patch, and the call and principal that made it. */
export interface ProjectVersion {
  readonly version: number;
  readonly at: Instant;
  readonly run_id: RunId;
  /** Null: a restore made this version, not a call. */
  readonly step_id: StepId | null;
  /** The tool that was called. Null: the plan does not contain the step. */
  readonly tool: string | null;
  /** The principal of the run, or the person who restored. */
  readonly by: string;
  readonly type: Event["type"];
  readonly patch: Patch;
}

/** A project that has a state. */
export interface ProjectView {
  readonly project: string;
  /** The latest version of its state. */
  readonly version: number;
  /** The run that made the latest version. */
  readonly run_id: RunId;
  /** Null: the project is open. */
  readonly closure: ProjectLock | null;
}

/** Administration of projects. `engine.state` reads their state. */
export interface ProjectApi {
  /** Lists the projects that have a state, in the order of their names, after the name `after` if given. */
  list(options: PrincipalOptions & PageOptions): Promise<readonly ProjectView[]>;
  /** Lists versions, newest first: at most `limit` (default 50), all before version `before` if given. */
  history(
    project: string,
    options: PrincipalOptions & { readonly limit?: number; readonly before?: number },
  ): Promise<readonly ProjectVersion[]>;
  /** Locks or archives a project: its calls are refused, except undos and rollbacks. Only a person can do this. */
  close(project: string, options: ReasonOptions & { readonly as: ProjectLock["how"] }): Promise<void>;
  /** Opens a closed project again. Only a person can do this. */
  open(project: string, options: ReasonOptions): Promise<void>;
  /** Returns how and why the project is closed. Null: the project is open. */
  closure(project: string, options: PrincipalOptions): Promise<ProjectLock | null>;
  /**
   * Restores the state of a version as a new version, by a run of its own. The guards check that run like any other and
   * may hold it. Log slices stay; cache slices are emptied.
   */
  revert(project: string, version: number, options: Omit<SubmitOptions, "project">): Promise<CallResult>;
}
