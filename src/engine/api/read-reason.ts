import { isWellFormed } from "../../core/json/well-formed-text.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { requestLimits } from "./request-limits.ts";

/** Reads the reason of a decision, which is recorded. */
export function readReason({ reason = "" }: { readonly reason?: string }): string {
  if (typeof reason === "string" && reason.length <= requestLimits.reason && isWellFormed(reason)) return reason;
  throw new FaultError(fault("INVALID_INPUT", `a reason is a text of at most ${requestLimits.reason} characters`));
}
