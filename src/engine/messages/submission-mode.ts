import type { Principal } from "../../core/approval/principal.ts";
import { type Mode, stricterMode } from "../../core/values/effect.ts";
import type { SubmitOptions } from "../api/engine-api.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

/** Returns the stricter of the modes that the tenant permits to the principal and of the request. */
export function submissionMode(
  { tenants }: WorkerPorts,
  principal: Principal,
  options: Pick<SubmitOptions, "mode">,
): Mode {
  const allowed = tenants.mode(principal);
  return stricterMode(allowed, options.mode ?? allowed);
}
