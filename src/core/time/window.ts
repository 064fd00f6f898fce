import type { Instant } from "../id.ts";
import { dayNumber, dayOf } from "./day.ts";
import type { Zone } from "./zone.ts";

/** How long a limit counts before it begins anew. */
export const spans = ["minute", "hour", "day", "month"] as const;
export type Span = (typeof spans)[number];

/** The stretch of time that a moment is counted in. */
export interface Window {
  /** What no other window of its span is called. */
  readonly name: string;
  readonly from: Instant;
  readonly until: Instant;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Minutes and hours are the same everywhere; a day or a month begins when the clocks of the zone say so. */
export function windowAt(span: Span, at: Instant, zone: Zone): Window {
  switch (span) {
    case "minute":
      return { name: timeOf(at).slice(0, "2025-11-15T10:31".length), ...around(at, MINUTE_MS) };
    case "hour":
      return { name: timeOf(at).slice(0, "2025-11-15T10".length), ...around(at, HOUR_MS) };
    case "day": {
      const number = zone.dayAt(at);
      return { name: `${dateText(number)}${where(zone)}`, ...between(zone, number, number + 1) };
    }
    case "month": {
      const number = zone.dayAt(at);
      const { year, month } = dayOf(number);
      const next = month === 12 ? { year: year + 1, month: 1, day: 1 } : { year, month: month + 1, day: 1 };
      const name = dateText(number).slice(0, "2025-11".length);
      return {
        name: `${name}${where(zone)}`,
        ...between(zone, dayNumber({ year, month, day: 1 }), dayNumber(next)),
      };
    }
  }
}

/** Days of another zone are other windows, though they have the same date. */
function where({ name }: Zone): string {
  return name === "UTC" ? "" : `[${name}]`;
}

function between(zone: Zone, first: number, next: number): Omit<Window, "name"> {
  const midnight = (day: number) => zone.onDay(day)(0)[0] as Instant;
  return { from: midnight(first), until: midnight(next) };
}

function around(at: Instant, ms: number): Omit<Window, "name"> {
  const from = Math.floor(at / ms) * ms;
  return { from: from as Instant, until: (from + ms) as Instant };
}

/** What will have been used at the end of a window, if it goes on as it has so far; null: it has hardly begun, and nobody can tell. */
export function forecast(used: number, window: Window, now: Instant): number | null {
  if (isEarly(window, now)) return null;
  const { from, until } = window;
  // Its end may be over by a clock that was set; what was used is used.
  const share = Math.min(1, (now - from) / (until - from));
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(used / share)));
}

/** One call in the first moments of a month says nothing about the month. */
function isEarly({ from, until }: Window, now: Instant): boolean {
  return now - from < Math.min(HOUR_MS, (until - from) / 100);
}

/** When a limit is used up, if it goes on as it has so far; null: not before it counts anew, as far as anybody can tell. */
export function exhaustedAt(used: number, limit: number, window: Window, now: Instant): Instant | null {
  if (used >= limit) return now;
  if (used <= 0 || isEarly(window, now)) return null;
  const { from, until } = window;
  const at = Math.ceil(from + (limit * (now - from)) / used);
  return at < until ? (at as Instant) : null;
}

function timeOf(at: Instant): string {
  const minutes = Math.floor(at / MINUTE_MS) % (24 * 60);
  const days = Math.floor(at / MINUTE_MS / (24 * 60));
  return `${dateText(days)}T${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

function dateText(number: number): string {
  const { year, month, day } = dayOf(number);
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
