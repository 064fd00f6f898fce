/** A date on the calendar. Months count from 1, weekdays from Sunday, which is 0. */
export interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

export const DAY_MS = 24 * 60 * 60 * 1000;

/** A year that begins in March has its leap day at the end, and months that repeat every five. */
const CENTURIES = 146_097;

/** How many days a date is after the first of January 1970. */
export function dayNumber({ year, month, day }: Day): number {
  const marchYear = month > 2 ? year : year - 1;
  const era = Math.floor(marchYear / 400);
  const ofEra = marchYear - era * 400;
  const ofYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return era * CENTURIES + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468;
}

export function dayOf(number: number): Day {
  const since = number + 719_468;
  const era = Math.floor(since / CENTURIES);
  const ofEra = since - era * CENTURIES;
  const years = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * years + Math.floor(years / 4) - Math.floor(years / 100));
  const marchMonth = Math.floor((5 * ofYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = years + era * 400 + (month <= 2 ? 1 : 0);
  return { year, month, day: ofYear - Math.floor((153 * marchMonth + 2) / 5) + 1 };
}

/** The first of January 1970 was a Thursday. */
export function weekdayOf(number: number): number {
  return (((number + 4) % 7) + 7) % 7;
}
