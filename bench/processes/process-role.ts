import type { Workload } from "../workload.ts";

/** The work of one process of a measured file. */
export type ProcessRole =
  /** Executes runs. */
  | { readonly do: "work"; readonly file: string }
  /** Submits and executes its own runs: `warmRuns` before it is ready, then without end. */
  | {
      readonly do: "load";
      /** The file of SQLite, or the URL of Postgres. */
      readonly store: string;
      readonly warmRuns: number;
      readonly warmMs: number;
      readonly measuredMs: number;
      readonly workload: Workload;
    }
  /** Submits and executes its own runs, and measures its event loop. */
  | { readonly do: "watch loop"; readonly file: string; readonly measuredMs: number; readonly workload: Workload }
  /** Holds a write transaction, pauses, and begins again. */
  | { readonly do: "hold writes"; readonly file: string; readonly heldMs: number; readonly pauseMs: number };

export type ProcessReport =
  | { readonly type: "ready" }
  | { readonly type: "claimed"; readonly run: string; readonly at: number }
  | { readonly type: "ended"; readonly runs: number }
  | { readonly type: "gaps"; readonly longest: number };

/** Returns a time in milliseconds that all processes of the machine share and no change of the clock affects. */
export function machineTime(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
