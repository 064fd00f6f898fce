import type { ScheduleRow } from "../../core/store/tables.ts";
import type { PrincipalInput } from "./principal-input.ts";
import type { PrincipalOptions, SubmitOptions } from "./request-options.ts";

export interface ScheduleOptions
  extends Omit<SubmitOptions, "requestKey" | "intent" | "retryFailed" | "correlationId" | "traceId"> {
  /** Minute, hour, day of the month, month and weekday. */
  readonly cron: string;
  /** The time zone of the cron fields, by IANA name. Default: UTC. */
  readonly zone?: string;
  /**
   * The agent or service that submits the plan, with the capabilities of `principal` in addition to its own. Default:
   * `principal`.
   */
  readonly runAs?: PrincipalInput;
  /** Which missed times are submitted late: all of the last week, the latest (default), or none. */
  readonly catchUp?: ScheduleRow["catch_up"];
}

/** The schedules of a tenant, by name. Pausing or removing a schedule does not affect runs that it has submitted. */
export interface Schedules {
  /** Creates or replaces a schedule, which submits the plan at each of its times. Agents cannot. */
  set(schedule: string, plan: unknown, options: ScheduleOptions): Promise<ScheduleRow>;
  pause(schedule: string, options: PrincipalOptions): Promise<void>;
  /** Continues with the next time. Times missed during the pause are not submitted. */
  resume(schedule: string, options: PrincipalOptions): Promise<void>;
  remove(schedule: string, options: PrincipalOptions): Promise<void>;
  list(options: PrincipalOptions): Promise<readonly ScheduleRow[]>;
}
