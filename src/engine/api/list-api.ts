import type { DoubtExits } from "../../core/event/doubt-settlement.ts";
import type { OpenGate } from "../../core/run/gate-details.ts";
import type { DoubtRow, GateRow, OutcomeRow, RunRow, WaitingFor } from "../../core/store/tables.ts";
import type { Fault } from "../../core/values/fault.ts";
import type { Instant, RunId } from "../../core/values/ids.ts";
import type { Json } from "../../core/values/json.ts";
import type { PrincipalOptions } from "./request-options.ts";

export interface PageOptions {
  readonly limit?: number;
  readonly after?: string;
}

export interface GateView extends OpenGate {
  readonly run_id: RunId;
  readonly status: GateRow["status"];
  readonly requester: string;
}

/** A gate whose call cannot be shown, because the journal of its run cannot be read. */
export type UnreadableGate = Pick<
  GateView,
  "gate_id" | "step_id" | "tool" | "digest" | "expires_at" | "run_id" | "status" | "requester"
> & { readonly fault: Fault };

/** A page of a list, newest first. */
export interface ListPage<Row> extends ReadonlyArray<Row> {
  /**
   * The cursor of the next page: pass it as `after`. Null: no more rows follow. A page can have fewer rows than its
   * limit although more follow, because one search reads a limited number of rows.
   */
  readonly next: string | null;
  /** The number of rows of the whole list, up to 10,000, if `count` was asked for. */
  readonly count: number | null;
}

export interface ListOptions extends PrincipalOptions, PageOptions {
  /** Counts the rows of the list without its pages, up to 10,000. */
  readonly count?: boolean;
}

/** A time, as milliseconds since 1970. `from` is part of the range, `to` is not. */
export interface TimeRange {
  readonly from?: Instant | number;
  readonly to?: Instant | number;
}

/** Only runs for which all of these hold. */
export interface RunListOptions extends ListOptions, TimeRange {
  readonly status?: string;
  readonly project?: string;
  readonly session?: string;
  /** The name of the agent of a session. */
  readonly agent?: string;
  /** A tool of the plan, or one that an open run has called. */
  readonly tool?: string;
  readonly label?: string;
  /** The run whose step started them. */
  readonly parent?: string;
  /** The id of the principal that submitted them. */
  readonly by?: string;
  readonly waitingFor?: WaitingFor;
  /** Only runs with a held call that the principal can decide now. */
  readonly decidable?: boolean;
}

/** Only gates for which all of these hold. Default: open ones. */
export interface GateListOptions extends ListOptions, TimeRange {
  readonly status?: GateRow["status"];
  readonly runId?: string;
  readonly tool?: string;
  readonly project?: string;
  readonly session?: string;
  /** The id of the principal that requested the call. */
  readonly by?: string;
  /** Only gates that the principal can decide now. */
  readonly decidable?: boolean;
}

/** Only acts for which all of these hold. */
export interface DoubtListOptions extends ListOptions {
  readonly runId?: string;
  readonly tool?: string;
  readonly project?: string;
  readonly session?: string;
  readonly by?: string;
  readonly waitingFor?: DoubtRow["waiting_for"];
}

/** Only outcomes for which all of these hold. */
export interface OutcomeListOptions extends ListOptions {
  readonly runId?: string;
  readonly type?: string;
  readonly status?: OutcomeRow["status"];
  /** The tool with its version, such as `mail.write@1.0`. */
  readonly tool?: string;
  readonly project?: string;
  readonly by?: string;
}

/** An act in doubt, with its call and how it can be settled. */
export interface DoubtView extends DoubtRow {
  readonly input: Json;
  readonly fault: Fault;
  readonly exits: DoubtExits;
}

/** An act in doubt whose call cannot be shown, because the journal of its run cannot be read. */
export type UnreadableDoubt = DoubtRow & { readonly fault: Fault };

export type OutcomeView = Omit<OutcomeRow, "reuse_key" | "position">;

/** A hint that the row of a run has changed. `status` is that of the list. */
export interface RunChange {
  readonly run_id: RunId;
  readonly status: string;
  /** When the row changed. A reader that starts again passes the latest one that it has handled as `since`. */
  readonly at: Instant;
}

export interface ChangesOptions extends PrincipalOptions {
  /** First yields every run that has changed since this time, so that a reader that was away misses none. */
  readonly since?: Instant | number;
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
}

/** The lists of an engine: newest first, judged, with a cursor that later rows do not move. */
export interface EngineLists {
  /**
   * Lists runs. The cost and the counts of a run are those of its last change of status, or of now if this process
   * executes it. A child run is listed beside the run at its root, and counts with its time.
   */
  runs(options: RunListOptions): Promise<ListPage<RunRow>>;
  /** Lists gates. A gate whose run cannot be read is listed without its call. */
  gates(options: GateListOptions): Promise<ListPage<GateView | UnreadableGate>>;
  /** Lists acts that may or may not have happened, and wait for a person or a verifier. */
  inDoubt(options: DoubtListOptions): Promise<ListPage<DoubtView | UnreadableDoubt>>;
  outcomes(options: OutcomeListOptions): Promise<ListPage<OutcomeView>>;
  /**
   * Yields a hint for each run of the list whose row has changed, also by another process: at least once, in no order.
   * Read the list or the run for what happened. Ends when the signal aborts or the engine closes.
   */
  changes(options: ChangesOptions): AsyncIterable<RunChange>;
}
