import type { HandlerResult } from "../../core/decide/handler-result.ts";
import { toWellFormed } from "../../core/json/well-formed-text.ts";
import { type Fault, FaultError, fault, faults, NotDoneError } from "../../core/values/fault.ts";
import { toStorableJsonOrNull } from "./storable-json.ts";

/** Returns the ending of a handler that threw. Only storable parts of the error are used. */
export function endingOfThrown(error: unknown): Exclude<HandlerResult, { how: "value" }> {
  try {
    if (error instanceof NotDoneError) return { how: "not_done", fault: knownFault(error.fault) };
    if (error instanceof FaultError) return { how: "error", fault: knownFault(error.fault) };
  } catch {
    // Reading the error throws, so it carries no information.
  }
  return { how: "error", fault: fault("TOOL_FAILED", errorText(error) || "the tool threw without a message") };
}

/** Returns an error as a fault. */
export function faultOfThrown(error: unknown): Fault {
  return endingOfThrown(error).fault;
}

/** Replaces a code that is not in the table of faults by TOOL_FAILED. */
function knownFault({ code, message, detail }: Fault): Fault {
  if (Object.hasOwn(faults, code)) return fault(code, errorText(message), detail && toStorableJsonOrNull(detail));
  const unnamed = `${errorText(message)}; the tool's code ${errorText(code)} is not in the table of faults`;
  return fault("TOOL_FAILED", unnamed, { code: errorText(code) });
}

/** Returns the text of an error. Even converting it to a string may throw. */
export function errorText(error: unknown): string {
  try {
    return toWellFormed(String(error instanceof Error ? error.message : error).slice(0, ERROR_TEXT_MAX));
  } catch {
    return "an error without a text";
  }
}

const ERROR_TEXT_MAX = 2000;
