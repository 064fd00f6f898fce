/** A calendar date. Months count from 1, weekdays from Sunday, which is 0. */
export interface CalendarDay {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

export const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Days in 400 years. Years are counted from March, so that the leap day is last and month lengths repeat every five
 * months.
 */
const DAYS_PER_ERA = 146_097;

/** Returns the number of days from 1970-01-01 to a date. */
export function dayNumber({ year, month, day }: CalendarDay): number {
  const marchYear = month > 2 ? year : year - 1;
  const era = Math.floor(marchYear / 400);
  const ofEra = marchYear - era * 400;
  const ofYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return era * DAYS_PER_ERA + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468;
}

export function calendarDay(number: number): CalendarDay {
  const since = number + 719_468;
  const era = Math.floor(since / DAYS_PER_ERA);
  const ofEra = since - era * DAYS_PER_ERA;
  const years = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * years + Math.floor(years / 4) - Math.floor(years / 100));
  const marchMonth = Math.floor((5 * ofYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = years + era * 400 + (month <= 2 ? 1 : 0);
  return { year, month, day: ofYear - Math.floor((153 * marchMonth + 2) / 5) + 1 };
}

/** Returns the weekday of a day number. 1970-01-01 was a Thursday. */
export function weekdayOf(number: number): number {
  return (((number + 4) % 7) + 7) % 7;
}
