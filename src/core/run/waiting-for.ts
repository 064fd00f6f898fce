import type { WaitingFor } from "../store/tables.ts";
import { awaitedChildRun } from "./child-run-notices.ts";
import type { WaitCounts } from "./run-summary.ts";
import type { StepStanding } from "./step.ts";

/** Returns what a waiting step waits for. */
export function waitingFor(standing: StepStanding): WaitingFor {
  switch (standing.state) {
    case "waiting_approval":
      return "approval";
    case "in_doubt":
      return "resolution";
    case "failed_retryable":
      return "retry";
    case "waiting": {
      const { on } = standing;
      return on.for === "signal" && awaitedChildRun(on.box.key) !== null ? "run" : on.for;
    }
    default:
      return "undo";
  }
}

/** Returns the counts after one step more, or less, waits for a thing. */
export function countWait(counts: WaitCounts, kind: WaitingFor, change: 1 | -1): WaitCounts {
  const count = (counts[kind] ?? 0) + change;
  const { [kind]: _count, ...others } = counts;
  return count === 0 ? others : { ...others, [kind]: count };
}
