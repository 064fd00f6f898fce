import type { SubmitOptions } from "./request-options.ts";

/** How a run is replanned when its plan does not complete. */
export interface ReplanSettings {
  /** The tool that is asked for another plan, made by `defineReplanner`. It only reads. */
  readonly by: string;
  /** The maximum number of questions, 1 to 10. Default: 1. */
  readonly attempts?: number;
  /** The milliseconds between the end of a plan and the question. Default: 0. */
  readonly delayMs?: number;
}

/** The plans that continue a run whose plan does not complete. */
export interface ReplanOptions {
  /** The tool that is asked for another plan, and how often. Default: none is asked, and the run ends. */
  readonly replan?: ReplanSettings;
  /** Plans that are used before the replanner is asked, in this order. At most 9. Default: none. */
  readonly fallbacks?: readonly unknown[];
}

/** The options of a submission whose caller can give it up. */
export interface AbortableSubmitOptions extends SubmitOptions, ReplanOptions {
  /** When it aborts, the run is cancelled, like by `cancel` of its handle. */
  readonly signal?: AbortSignal;
}

/** The limits on replanning. A run is replanned a bounded number of times. */
export const replanLimits = { attempts: 10, delayMs: 24 * 60 * 60 * 1000, fallbacks: 9 } as const;
