import type { Instant } from "../id.ts";
import { dayOf, weekdayOf } from "./day.ts";
import type { Zone } from "./zone.ts";

/** Which minutes a schedule is for. */
export interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: readonly number[];
  readonly days: readonly number[];
  readonly weekdays: readonly number[];
  /** With a say on days of the month and on weekdays, one of them is enough; an asterisk has no say. */
  readonly either: boolean;
}

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly words: readonly string[];
}

const fields: readonly Field[] = [
  { name: "minute", least: 0, most: 59, words: [] },
  { name: "hour", least: 0, most: 23, words: [] },
  { name: "day of the month", least: 1, most: 31, words: [] },
  { name: "month", least: 1, most: 12, words: "jan feb mar apr may jun jul aug sep oct nov dec".split(" ") },
  { name: "weekday", least: 0, most: 7, words: "sun mon tue wed thu fri sat".split(" ") },
];

const shorthands: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
};

/** Reads five fields, or says what is wrong with them. */
export function readCron(text: string): Cron | { readonly wrong: string } {
  const whole = (Object.hasOwn(shorthands, text) && shorthands[text]) || text;
  const texts = typeof whole !== "string" || whole.length > 200 ? [] : whole.trim().split(/\s+/);
  if (texts.length !== fields.length) return { wrong: `it must have five fields, like "30 9 * * mon-fri"` };
  const read: (readonly number[])[] = [];
  for (const [index, field] of fields.entries()) {
    const values = valuesIn(texts[index] as string, field);
    if (values === null) return { wrong: `${texts[index]} is no ${field.name}` };
    read.push(values);
  }
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = read;
  const either = !(texts[2]?.startsWith("*") || texts[4]?.startsWith("*"));
  return { minutes, hours, days, months, weekdays: weekdays.map((day) => day % 7), either };
}

function valuesIn(text: string, field: Field): readonly number[] | null {
  const values = new Set<number>();
  for (const part of text.toLowerCase().split(",")) {
    const range = rangeOf(part, field);
    if (range === null) return null;
    for (let value = range.from; value <= range.to; value += range.step) values.add(value);
  }
  return [...values].toSorted((left, right) => left - right);
}

function rangeOf(part: string, field: Field): { from: number; to: number; step: number } | null {
  const [, all, first, last, every] = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d{1,4}))?$/.exec(part) ?? [];
  const step = every === undefined ? 1 : Number(every);
  if (step === 0) return null;
  if (all !== undefined) return { from: field.least, to: field.most, step };
  const from = numberIn(first, field);
  const to = last === undefined ? (every === undefined ? from : field.most) : numberIn(last, field);
  return from === null || to === null || to < from ? null : { from, to, step };
}

function numberIn(text: string | undefined, { least, most, words }: Field): number | null {
  if (text === undefined) return null;
  const word = words.indexOf(text);
  const value = word >= 0 ? word + least : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : null;
}

/** A 29th of February can be eight years off; what is not there in nine is never. */
const DAYS_MOST = 9 * 366;

/** The first moment after `after` that a schedule is for; null: there is none. */
export function momentAfter(cron: Cron, zone: Zone, after: Instant): Instant | null {
  return nearest(cron, zone, after, 1, (at) => at > after);
}

/** The last moment up to `until` that a schedule is for; null: there was none. */
export function momentUntil(cron: Cron, zone: Zone, until: Instant): Instant | null {
  return nearest(cron, zone, until, -1, (at) => at <= until);
}

/** Goes from day to day, as the wall shows them, until one has a moment that will do. */
function nearest(
  cron: Cron,
  zone: Zone,
  start: Instant,
  step: 1 | -1,
  isWanted: (at: number) => boolean,
): Instant | null {
  // A day more than asked for: what the clocks skip in one day they may show in the next.
  const first = zone.dayAt(start) - step;
  for (let days = 0; days < DAYS_MOST; days += 1) {
    const moments = momentsOn(first + step * days, cron, zone).filter(isWanted);
    if (moments.length > 0) return (step > 0 ? Math.min(...moments) : Math.max(...moments)) as Instant;
  }
  return null;
}

function momentsOn(day: number, cron: Cron, zone: Zone): readonly number[] {
  if (!isOn(day, cron)) return [];
  const momentsOf = zone.onDay(day);
  // What is for every hour is for an hour that the clocks show twice, too; all else is for its time of the day, once.
  const times = cron.hours.length === 24 ? 2 : 1;
  return cron.hours.flatMap((hour) => cron.minutes.flatMap((minute) => momentsOf(hour * 60 + minute).slice(0, times)));
}

function isOn(number: number, { months, days, weekdays, either }: Cron): boolean {
  const { month, day } = dayOf(number);
  if (!months.includes(month)) return false;
  const fits = [days.includes(day), weekdays.includes(weekdayOf(number))];
  return either ? fits.includes(true) : !fits.includes(false);
}
