import type { Demand } from "../../core/approval/approval-demand.ts";
import { weekdayOf } from "../../core/time/calendar-day.ts";
import type { TimeZone } from "../../core/time/time-zone.ts";
import type { RuleCheck } from "./rule.ts";

export const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

/** Hours of certain weekdays in a time zone. If `to` is before `from`, the window ends on the next day. */
export interface WindowHours {
  readonly days: readonly (typeof weekdays)[number][];
  /** Minutes of the day. */
  readonly from: number;
  readonly to: number;
  readonly zone: TimeZone;
}

/**
 * Refuses or holds calls outside these hours. Only the time of the call counts, also if the clock was set back before.
 */
export function windowRule(hours: WindowHours, outside: Demand | "refuse", reason: string | null): RuleCheck {
  return ({ admission, tool }) => {
    if (isOpen(hours, admission.now)) return null;
    const why = reason ?? `${tool.name} may only be called ${describeHours(hours)}`;
    return outside === "refuse" ? { says: "refuse", reason: why } : { says: "hold", demand: outside, reason: why };
  };
}

function isOpen({ days, from, to, zone }: WindowHours, now: number): boolean {
  const { day, minute } = zone.localTimeAt(now);
  const includesDay = (number: number) => days.includes(weekdays[weekdayOf(number)] as (typeof weekdays)[number]);
  if (from < to) return includesDay(day) && minute >= from && minute < to;
  return (includesDay(day) && minute >= from) || (includesDay(day - 1) && minute < to);
}

function describeHours({ days, from, to, zone }: WindowHours): string {
  const clock = (minutes: number) =>
    `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
  return `${days.join(", ")} from ${clock(from)} to ${clock(to)} (${zone.name})`;
}
