import { FaultError, fault } from "../core/fault.ts";
import { isWellFormed } from "../core/json/well-formed.ts";
import { askingLimits } from "./asking-limits.ts";

/** Why somebody decides as they do, as the record keeps it for good. */
export function reasonOf({ reason = "" }: { readonly reason?: string }): string {
  if (typeof reason === "string" && reason.length <= askingLimits.reason && isWellFormed(reason)) return reason;
  throw new FaultError(fault("INVALID_INPUT", `a reason is a text of at most ${askingLimits.reason} characters`));
}
