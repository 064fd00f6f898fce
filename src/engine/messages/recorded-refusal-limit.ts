import type { LimitedCharge } from "../../core/limits/tally-charge.ts";
import { timeWindowAt } from "../../core/time/time-window.ts";
import { TimeZone } from "../../core/time/time-zone.ts";
import { utcText } from "../../core/time/utc-text.ts";
import { type Fault, FaultError, fault } from "../../core/values/fault.ts";
import type { Instant } from "../../core/values/ids.ts";
import { ConditionFailedError } from "../journal/append-errors.ts";
import type { WorkerPorts } from "../worker/worker-ports.ts";

const UTC = TimeZone.of("UTC") as TimeZone;

/** Returns the charge of a recorded refusal to the principal's refusals of the hour. */
export function refusalCharge({ limits }: Pick<WorkerPorts, "limits">, principal: string, now: Instant): LimitedCharge {
  const { name } = timeWindowAt("hour", now, UTC);
  return { tally: `refusals/${name}/${principal}`, amount: 1, limit: limits.refusalsPerHour };
}

/** Returns whether an append failed because too many refusals of the principal are on record. */
export function isRefusalLimit(error: unknown): boolean {
  return error instanceof ConditionFailedError && error.landing.why === "charge";
}

/** Returns the error of a refusal that is not recorded, because the limit of the hour is reached. */
export function refusalLimitError(
  { limits }: Pick<WorkerPorts, "limits">,
  principal: string,
  now: Instant,
  refused: Fault,
): FaultError {
  const { until } = timeWindowAt("hour", now, UTC);
  const message = `${refused.message}; ${limits.refusalsPerHour} refused requests of ${principal} are on record for this hour, and no more are recorded before ${utcText(until)}; correct the requests`;
  return new FaultError(fault("LIMIT_EXCEEDED", message, { limit: "refusalsPerHour", refused: refused.code, until }));
}
