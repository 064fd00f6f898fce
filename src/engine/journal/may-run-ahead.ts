import type { Event } from "../../core/event/event.ts";
import { type Run, runStatus } from "../../core/run/run.ts";
import type { Batch } from "./batch.ts";
import { isHardEvent } from "./hard-events.ts";

/** Limits the number of results that a process crash can lose, and the number of calls in one turn of the event loop. */
export const RESULTS_AHEAD_MAX = 16;

/**
 * Returns whether a run may move on with the results of a batch before the store has them: each is the output of a call
 * that can be made again, and the run of a plan has more work, so no result is reported yet.
 */
export function mayRunAhead({ commands, events, decisions, after }: Batch): boolean {
  return (
    isPlanAtWork(after) &&
    commands.every(({ mustLand }) => mustLand) &&
    events.every(isPlainResult) &&
    decisions.every(({ checks }) => checks.length === 0)
  );
}

function isPlanAtWork(run: Run): boolean {
  return run.plan !== null && runStatus(run) === "running";
}

/** A cost, a charge, a state change, a signal and a reusable outcome are facts about more than the run itself. */
function isPlainResult(event: Event): boolean {
  return (
    event.type === "step.succeeded" &&
    !isHardEvent(event) &&
    event.state === undefined &&
    event.signal === undefined &&
    event.cost === undefined &&
    event.charges === undefined &&
    event.outcome === undefined
  );
}
