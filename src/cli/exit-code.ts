import type { EndStatus } from "../core/event.ts";
import { type FaultCode, faults } from "../core/fault.ts";

/** What the program can exit with. Scripts rely on these numbers; they never change their meaning. */
export const exitCodes = {
  0: "done; a run that was executed is completed",
  1: "a bug in this program",
  2: "invalid input: arguments, plan, config, or not possible in this state",
  3: "partial or waiting: someone or some time can still move the run",
  4: "failed, refused or cancelled",
  5: "not found: no such run, gate or step",
  6: "a problem with the store",
} as const;

export type ExitCode = keyof typeof exitCodes;

/** How a run that was waited for ended. */
export function exitOfStatus(status: EndStatus): ExitCode {
  switch (status) {
    case "completed":
      return 0;
    case "partial":
      return 3;
    case "failed":
    case "cancelled":
      return 4;
  }
}

export function exitOfFault(code: FaultCode): ExitCode {
  return faults[code].exit;
}
