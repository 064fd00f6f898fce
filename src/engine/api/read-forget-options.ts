import type { Principal } from "../../core/approval/principal.ts";
import type { SessionToForget } from "../../core/settings/session-to-forget.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import { isName, nameRule } from "../../core/values/is-name.ts";
import type { ForgetOptions } from "./retention-report.ts";

/** Checks the options that name a session to forget. Throws INVALID_INPUT with all reasons. */
export function readForgetOptions(
  { id }: Principal,
  { session, owner = id, project, subject }: ForgetOptions,
): SessionToForget {
  const named = Object.entries({ session, owner, project, subject });
  const reasons = named.flatMap(([name, value]) =>
    isName(value) || (value === undefined && name !== "session") ? [] : [`${name} must be ${nameRule}`],
  );
  if (reasons.length > 0) throw new FaultError(fault("INVALID_INPUT", reasons.join("; "), { reasons }));
  return { session, owner, ...(project !== undefined && { project }), ...(subject !== undefined && { subject }) };
}
