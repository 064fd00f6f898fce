import { FaultError, fault } from "../../core/values/fault.ts";
import { isName } from "../../core/values/is-name.ts";
import type { PageOptions } from "./engine-api.ts";
import { requestLimits } from "./request-limits.ts";

/**
 * Reads the paging options. Stores differ in how they treat invalid ones, so none reaches a store. `prefix`: how each id
 * of the list begins. After any other text the list would seem to end.
 */
export function readPageOptions(
  { limit = 50, after }: PageOptions,
  prefix = "",
): {
  readonly limit: number;
  readonly after?: string;
} {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > requestLimits.list)
    throw new FaultError(fault("INVALID_INPUT", `limit must be a whole number, 1 to ${requestLimits.list}`));
  if (after === undefined) return { limit };
  if (!isName(after) || !after.startsWith(prefix))
    throw new FaultError(fault("INVALID_INPUT", "after must be an id from the list"));
  return { limit, after };
}
