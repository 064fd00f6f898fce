import { FaultError, fault } from "../core/fault.ts";
import type { Page } from "./api.ts";
import { askingLimits } from "./asking-limits.ts";
import { isName } from "./principal.ts";

/** Which part of a list is asked for. What a store would make of anything else differs from store to store. */
export function pageOf({ limit = 50, after }: Page): { readonly limit: number; readonly after?: string } {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > askingLimits.list)
    throw new FaultError(fault("INVALID_INPUT", `limit must be a whole number, 1 to ${askingLimits.list}`));
  if (after === undefined) return { limit };
  if (!isName(after)) throw new FaultError(fault("INVALID_INPUT", "after must be an id from the list"));
  return { limit, after };
}
