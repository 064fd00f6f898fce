import type { Ending } from "../../core/command.ts";
import { type Fault, FaultError, fault, faults, NotDoneError } from "../../core/fault.ts";
import { toWellFormed } from "../../core/json/well-formed.ts";
import { storable } from "./keep.ts";

/** How a handler ended that threw. What it threw comes from outside: of it, only what the journal can hold is kept. */
export function thrown(error: unknown): Exclude<Ending, { how: "value" }> {
  try {
    if (error instanceof NotDoneError) return { how: "not_done", fault: named(error.fault) };
    if (error instanceof FaultError) return { how: "error", fault: named(error.fault) };
  } catch {
    // Even looking at it throws: then it says nothing, not even that nothing was done.
  }
  return { how: "error", fault: fault("TOOL_FAILED", textOf(error) || "the tool threw without a message") };
}

/** What was thrown, as a fault. */
export function faultOf(error: unknown): Fault {
  return thrown(error).fault;
}

/** The table of faults is closed: what follows from a code that is not in it, nobody has decided. */
function named({ code, message, detail }: Fault): Fault {
  if (Object.hasOwn(faults, code)) return fault(code, textOf(message), detail && storable(detail));
  const unnamed = `${textOf(message)}; the tool called it ${textOf(code)}, which is no code of the table of faults`;
  return fault("TOOL_FAILED", unnamed, { code: textOf(code) });
}

/** What was thrown, in words. Even saying what it is may throw. */
export function textOf(error: unknown): string {
  try {
    return toWellFormed(String(error instanceof Error ? error.message : error).slice(0, MOST_CHARACTERS));
  } catch {
    return "something that has no words";
  }
}

const MOST_CHARACTERS = 2000;
