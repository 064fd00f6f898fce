import type { Reason } from "../json/problem-list.ts";
import { type Fault, fault } from "../values/fault.ts";
import type { Json } from "../values/json.ts";

/** Returns the fault of a plan, or of one step of it, with all reasons against it. */
export function planInvalidFault(reasons: readonly Reason[], what: "plan" | "step" = "plan"): Fault {
  const list = reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
  const count = list.length === 1 ? `the ${what} was refused` : `the ${what} was refused for ${list.length} reasons`;
  return fault("PLAN_INVALID", `${count}: ${list.join("; ")}`, { reasons: reasons as unknown as Json });
}
