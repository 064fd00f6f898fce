import type { RunStatus } from "./run.ts";

/** The statuses of runs in a list, which tells a rejected run from a failed one. */
export const listedStatuses: readonly (RunStatus | "rejected")[] = [
  "running",
  "waiting",
  "rolling_back",
  "open",
  "closing",
  "poison",
  "restored",
  "completed",
  "partial",
  "failed",
  "rejected",
  "cancelled",
  "abandoned",
];
