import type { Instant } from "../values/ids.ts";
import { calendarDay, weekdayOf } from "./calendar-day.ts";
import type { TimeZone } from "./time-zone.ts";

/** A parsed cron expression: the values that match in each field. */
export interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: readonly number[];
  readonly days: readonly number[];
  readonly weekdays: readonly number[];
  /** True if neither day field begins with an asterisk: then a match in one of the two day fields is enough. */
  readonly either: boolean;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly words: readonly string[];
}

const fields: readonly Field[] = [
  { name: "minute", min: 0, max: 59, words: [] },
  { name: "hour", min: 0, max: 23, words: [] },
  { name: "day of the month", min: 1, max: 31, words: [] },
  { name: "month", min: 1, max: 12, words: "jan feb mar apr may jun jul aug sep oct nov dec".split(" ") },
  { name: "weekday", min: 0, max: 7, words: "sun mon tue wed thu fri sat".split(" ") },
];

const shorthands: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
};

/** Parses five fields, or returns the reason why they are invalid. */
export function parseCron(text: string): Cron | { readonly wrong: string } {
  const expanded = (Object.hasOwn(shorthands, text) && shorthands[text]) || text;
  const texts = typeof expanded !== "string" || expanded.length > 200 ? [] : expanded.trim().split(/\s+/);
  if (texts.length !== fields.length) return { wrong: `it must have five fields, like "30 9 * * mon-fri"` };
  const read: (readonly number[])[] = [];
  for (const [index, field] of fields.entries()) {
    const values = parseField(texts[index] as string, field);
    if (values === null) return { wrong: `${texts[index]} is no ${field.name}` };
    read.push(values);
  }
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = read;
  const either = !(texts[2]?.startsWith("*") || texts[4]?.startsWith("*"));
  return { minutes, hours, days, months, weekdays: weekdays.map((day) => day % 7), either };
}

function parseField(text: string, field: Field): readonly number[] | null {
  const values = new Set<number>();
  for (const part of text.toLowerCase().split(",")) {
    const range = parseRange(part, field);
    if (range === null) return null;
    for (let value = range.from; value <= range.to; value += range.step) values.add(value);
  }
  return [...values].toSorted((left, right) => left - right);
}

function parseRange(part: string, field: Field): { from: number; to: number; step: number } | null {
  const [, all, first, last, every] = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d{1,4}))?$/.exec(part) ?? [];
  const step = every === undefined ? 1 : Number(every);
  if (step === 0) return null;
  if (all !== undefined) return { from: field.min, to: field.max, step };
  const from = parseNumber(first, field);
  const to = last === undefined ? (every === undefined ? from : field.max) : parseNumber(last, field);
  return from === null || to === null || to < from ? null : { from, to, step };
}

function parseNumber(text: string | undefined, { min, max, words }: Field): number | null {
  if (text === undefined) return null;
  const word = words.indexOf(text);
  const value = word >= 0 ? word + min : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : null;
}

/** The next 29 February can be eight years away; a day that does not occur within nine years never occurs. */
const SEARCH_DAYS_MAX = 9 * 366;

/** Returns the first matching time after `after`, or null. */
export function nextCronTime(cron: Cron, zone: TimeZone, after: Instant): Instant | null {
  return findCronTime(cron, zone, after, 1, (at) => at > after);
}

/** Returns the last matching time up to `until`, or null. */
export function previousCronTime(cron: Cron, zone: TimeZone, until: Instant): Instant | null {
  return findCronTime(cron, zone, until, -1, (at) => at <= until);
}

/** Searches local days, forward or backward, until one has a wanted time. */
function findCronTime(
  cron: Cron,
  zone: TimeZone,
  start: Instant,
  step: 1 | -1,
  isWanted: (at: number) => boolean,
): Instant | null {
  // Starts one day early, because a time that the clocks skip on one day can fall on the next.
  const first = zone.dayAt(start) - step;
  for (let days = 0; days < SEARCH_DAYS_MAX; days += 1) {
    const times = cronTimesOn(first + step * days, cron, zone).filter(isWanted);
    if (times.length > 0) return (step > 0 ? Math.min(...times) : Math.max(...times)) as Instant;
  }
  return null;
}

function cronTimesOn(day: number, cron: Cron, zone: TimeZone): readonly number[] {
  if (!matchesDay(day, cron)) return [];
  const instantsAt = zone.instantsOn(day);
  // An hourly expression also runs in an hour that the clocks repeat; any other runs once at each local time.
  const repeats = cron.hours.length === 24 ? 2 : 1;
  return cron.hours.flatMap((hour) =>
    cron.minutes.flatMap((minute) => instantsAt(hour * 60 + minute).slice(0, repeats)),
  );
}

function matchesDay(number: number, { months, days, weekdays, either }: Cron): boolean {
  const { month, day } = calendarDay(number);
  if (!months.includes(month)) return false;
  const matches = [days.includes(day), weekdays.includes(weekdayOf(number))];
  return either ? matches.includes(true) : !matches.includes(false);
}
