import type { ToolActivity } from "../../../src/engine/api/activity-api.ts";

/** Returns the share of the calls that succeeded, rounded down, so that 100 % means all of them. */
export function successText({ calls, succeeded }: Pick<ToolActivity, "calls" | "succeeded">): string {
  return calls === 0 ? "–" : `${Math.floor((100 * succeeded) / calls)} %`;
}
