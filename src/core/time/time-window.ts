import type { Instant } from "../values/ids.ts";
import { calendarDay, dayNumber } from "./calendar-day.ts";
import type { TimeZone } from "./time-zone.ts";

/** The lengths of the windows after which a limit resets. */
export const windowSpans = ["minute", "hour", "day", "month"] as const;
export type WindowSpan = (typeof windowSpans)[number];

/** The time window in which a charge is counted. */
export interface TimeWindow {
  /** Unique among the windows of its span. */
  readonly name: string;
  readonly from: Instant;
  readonly until: Instant;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Returns the window that contains a time. Minutes and hours are those of UTC; days and months begin at local midnight.
 */
export function timeWindowAt(span: WindowSpan, at: Instant, zone: TimeZone): TimeWindow {
  switch (span) {
    case "minute":
      return { name: utcMinuteText(at).slice(0, "2025-11-15T10:31".length), ...fixedWindow(at, MINUTE_MS) };
    case "hour":
      return { name: utcMinuteText(at).slice(0, "2025-11-15T10".length), ...fixedWindow(at, HOUR_MS) };
    case "day": {
      const number = zone.dayAt(at);
      return { name: `${dateText(number)}${zoneSuffix(zone)}`, ...daysBetween(zone, number, number + 1) };
    }
    case "month": {
      const number = zone.dayAt(at);
      const { year, month } = calendarDay(number);
      const next = month === 12 ? { year: year + 1, month: 1, day: 1 } : { year, month: month + 1, day: 1 };
      const name = dateText(number).slice(0, "2025-11".length);
      return {
        name: `${name}${zoneSuffix(zone)}`,
        ...daysBetween(zone, dayNumber({ year, month, day: 1 }), dayNumber(next)),
      };
    }
  }
}

/** Returns the window that contains a time, of those into which a minute or an hour is divided. Each has `share` of it. */
export function partWindowAt(span: WindowSpan, share: number, at: Instant): TimeWindow {
  const ms = Math.max(1, Math.ceil((span === "minute" ? MINUTE_MS : HOUR_MS) * share));
  const window = fixedWindow(at, ms);
  return { name: `${window.from}+${ms}`, ...window };
}

/** Windows of different zones have different names, even for the same date. */
function zoneSuffix({ name }: TimeZone): string {
  return name === "UTC" ? "" : `[${name}]`;
}

function daysBetween(zone: TimeZone, first: number, next: number): Omit<TimeWindow, "name"> {
  const midnight = (day: number) => zone.instantsOn(day)(0)[0] as Instant;
  return { from: midnight(first), until: midnight(next) };
}

function fixedWindow(at: Instant, ms: number): Omit<TimeWindow, "name"> {
  const from = Math.floor(at / ms) * ms;
  return { from: from as Instant, until: (from + ms) as Instant };
}

/** Returns the expected use at the end of a window at the current rate, or null if it is too early to forecast. */
export function forecastUse(used: number, window: TimeWindow, now: Instant): number | null {
  if (isTooEarlyToForecast(window, now)) return null;
  const { from, until } = window;
  // A clock that was set can be past the end of the window; the forecast is never less than the use.
  const share = Math.min(1, (now - from) / (until - from));
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(used / share)));
}

/** A call in the first minutes of a month does not predict the month. */
function isTooEarlyToForecast({ from, until }: TimeWindow, now: Instant): boolean {
  return now - from < Math.min(HOUR_MS, (until - from) / 100);
}

/**
 * Returns the time at which a limit is exhausted at the current rate. Returns null if that is not before the end of the
 * window, or if it is too early to forecast.
 */
export function limitExhaustedAt(used: number, limit: number, window: TimeWindow, now: Instant): Instant | null {
  if (used >= limit) return now;
  if (used <= 0 || isTooEarlyToForecast(window, now)) return null;
  const { from, until } = window;
  const at = Math.ceil(from + (limit * (now - from)) / used);
  return at < until ? (at as Instant) : null;
}

function utcMinuteText(at: Instant): string {
  const minutes = Math.floor(at / MINUTE_MS) % (24 * 60);
  const days = Math.floor(at / MINUTE_MS / (24 * 60));
  return `${dateText(days)}T${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
}

function dateText(number: number): string {
  const { year, month, day } = calendarDay(number);
  return `${String(year).padStart(4, "0")}-${twoDigits(month)}-${twoDigits(day)}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
