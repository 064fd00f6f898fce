import type { RunResult } from "../core/run/run-result.ts";
import { type FaultCategory, type FaultCode, faults } from "../core/values/fault.ts";

/** The exit codes of the program. Scripts rely on these numbers, so their meaning never changes. */
export const exitCodes = {
  0: "done; a run that was executed is completed",
  1: "a bug in this program",
  2: "invalid input: arguments, plan, config, or not possible in this state",
  3: "partial or waiting: a person or a timer can still move the run",
  4: "failed, refused or cancelled",
  5: "not found: no such run, gate or step",
  6: "a problem with the store",
} as const;

export type ExitCode = keyof typeof exitCodes;

/** Returns the exit code of a command that waited for a run. */
export function exitCodeOfStatus(status: RunResult["status"]): ExitCode {
  switch (status) {
    case "completed":
      return 0;
    case "partial":
    case "rolling_back":
    case "open":
    case "closing":
      return 3;
    case "failed":
    case "cancelled":
    case "abandoned":
      return 4;
  }
}

const categoryExitCodes: Readonly<Record<FaultCategory, ExitCode>> = {
  invalid_input: 2,
  conflict: 2,
  waiting: 3,
  refused: 4,
  failed: 4,
  unavailable: 4,
  in_doubt: 4,
  not_found: 5,
  storage: 6,
};

export function exitCodeOfFault(code: FaultCode): ExitCode {
  return categoryExitCodes[faults[code].category];
}
