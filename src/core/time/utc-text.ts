import type { Instant } from "../values/ids.ts";
import { calendarDay, DAY_MS } from "./calendar-day.ts";

/** Returns a time in UTC with milliseconds, such as `2026-01-02T03:04:05.006Z`. */
export function utcText(at: Instant): string {
  const number = Math.floor(at / DAY_MS);
  const { year, month, day } = calendarDay(number);
  const ms = at - number * DAY_MS;
  const time = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60].map((part) => digits(Math.floor(part), 2));
  return `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}T${time.join(":")}.${digits(ms % 1000, 3)}Z`;
}

function digits(number: number, count: number): string {
  return String(number).padStart(count, "0");
}
