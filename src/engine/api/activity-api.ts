import type { RunCost } from "../../core/store/tables.ts";
import type { Instant, RunId } from "../../core/values/ids.ts";
import type { PrincipalOptions } from "./request-options.ts";

/** The runs that a report about tools reads. */
export interface ToolActivityOptions extends PrincipalOptions {
  /** Only runs that call this tool. Default: all runs. */
  readonly tool?: string;
  readonly project?: string;
  /** The number of runs that are read, newest first. Default: 100. */
  readonly runs?: number;
}

/** The calls of tools in the latest runs. It is read from the journals, so it is exact for these runs only. */
export interface ToolActivityReport {
  /** The number of runs that were read, and of their events. */
  readonly runs: number;
  readonly events: number;
  /** When the oldest of these runs was accepted. Null: there are none. */
  readonly since: Instant | null;
  /** False: older runs were not read. */
  readonly complete: boolean;
  /** In the order of their names. */
  readonly tools: readonly ToolActivity[];
}

/** The calls of one tool in the runs that were read. */
export interface ToolActivity {
  readonly tool: string;
  /** The attempts that have ended, and how. An attempt whose result was reused is not among them. */
  readonly calls: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly doubted: number;
  /** The calls that a rule refused, or a person rejected. They were not made. */
  readonly refused: number;
  /** The calls that were answered by a recorded result. */
  readonly reused: number;
  readonly last_at: Instant;
  /** The time from the start of an attempt to its end. Null: no attempt has ended. */
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  /** A field is absent if it is 0. */
  readonly spent: RunCost;
  readonly last_run: RunId;
}

/** The days are days of UTC, such as `2026-11-18`; `to` is part of the range. At most 92 days. */
export interface SpentByDayOptions extends PrincipalOptions {
  readonly from: string;
  readonly to: string;
  /** Only the spending of this principal. */
  readonly by?: string;
}

/** The spending of the principals of a tenant on each day. */
export interface SpentByDay {
  /** In the order of their days. Days and principals without spending are left out. */
  readonly days: readonly DailySpending[];
  /** False: the range has more principals and days than one report reads. */
  readonly complete: boolean;
}

export interface DailySpending extends RunCost {
  readonly day: string;
  readonly by: string;
}
