import type { Demand } from "../../core/demand.ts";
import { weekdayOf } from "../../core/time/day.ts";
import type { Zone } from "../../core/time/zone.ts";
import type { Clause } from "../rule.ts";

export const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

/** Hours of some days, by the clocks of a place. A window that ends before it begins ends on the day after. */
export interface Hours {
  readonly days: readonly (typeof weekdays)[number][];
  /** Minutes of the day. */
  readonly from: number;
  readonly to: number;
  readonly zone: Zone;
}

/** Only within these hours; at other times it is refused, or a person decides. Judged by the moment alone, however clocks go. */
export function window(hours: Hours, outside: Demand | "refuse", reason: string | null): Clause {
  return ({ admission, tool }) => {
    if (isOpen(hours, admission.now)) return null;
    const why = reason ?? `${tool.name} is only called ${inWords(hours)}`;
    return outside === "refuse" ? { says: "refuse", reason: why } : { says: "hold", demand: outside, reason: why };
  };
}

function isOpen({ days, from, to, zone }: Hours, now: number): boolean {
  const { day, minute } = zone.shownAt(now);
  const isOn = (number: number) => days.includes(weekdays[weekdayOf(number)] as (typeof weekdays)[number]);
  if (from < to) return isOn(day) && minute >= from && minute < to;
  return (isOn(day) && minute >= from) || (isOn(day - 1) && minute < to);
}

function inWords({ days, from, to, zone }: Hours): string {
  const clock = (minutes: number) =>
    `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
  return `${days.join(", ")} from ${clock(from)} to ${clock(to)} (${zone.name})`;
}
