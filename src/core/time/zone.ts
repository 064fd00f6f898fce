import { DAY_MS, dayNumber } from "./day.ts";

/** No clock is put forward or back within a quarter of an hour. */
const QUARTER_MS = 15 * 60_000;

/** There are fewer zones than that, but one can be written in many ways. */
const KNOWN_MOST = 1000;

/** Throws if there is no zone of that name. */
function formatFor(name: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-u-ca-iso8601-nu-latn", {
    timeZone: name,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
}

/** A time zone by its IANA name. */
export class Zone {
  readonly name: string;
  /** Null: its clocks are never put anywhere. Every process has this one, and making a format takes a tenth of its start. */
  readonly #format: Intl.DateTimeFormat | null;
  /** What was asked for last. Working it out takes longer than all else that a window of a policy takes. */
  #latest: { readonly quarter: number; readonly offset: number } | null = null;

  private constructor(name: string, format: Intl.DateTimeFormat | null) {
    this.name = name;
    this.#format = format;
  }

  /** Null: there is no zone of that name. */
  static of(name: string): Zone | null {
    try {
      const zone = Zone.#known.get(name) ?? new Zone(name, name === "UTC" ? null : formatFor(name));
      if (Zone.#known.size >= KNOWN_MOST) Zone.#known.clear();
      Zone.#known.set(name, zone);
      return zone;
    } catch {
      return null;
    }
  }

  /** Making a format takes as long as accepting a plan. */
  static readonly #known = new Map<string, Zone>();

  /** The number of the day that the calendar on the wall shows. */
  dayAt(at: number): number {
    return Math.floor((at + this.#offset(at)) / DAY_MS);
  }

  /** The day that the calendar on the wall shows, and the minute of it that the clock shows. */
  shownAt(at: number): { readonly day: number; readonly minute: number } {
    const quarter = Math.floor(at / QUARTER_MS);
    if (this.#latest?.quarter !== quarter) this.#latest = { quarter, offset: this.#offset(at) };
    const shown = at + this.#latest.offset;
    const day = Math.floor(shown / DAY_MS);
    return { day, minute: Math.floor((shown - day * DAY_MS) / 60_000) };
  }

  /**
   * The moments at which the clocks show a minute of this day: one as a rule, two where they are put back. A time that they
   * skip when they are put forward is as much later as they were put.
   */
  onDay(day: number): (minute: number) => readonly number[] {
    const start = day * DAY_MS;
    const before = this.#offset(start - DAY_MS);
    const after = this.#offset(start + 2 * DAY_MS);
    return (minute) => {
      const shown = start + minute * 60_000;
      if (before === after) return [shown - before]; // Nothing is put anywhere: asking for every minute takes long.
      const moments = [shown - before, shown - after].filter((at) => at + this.#offset(at) === shown);
      return moments.length > 0 ? moments.toSorted((left, right) => left - right) : [shown - before];
    };
  }

  /** How far the clocks are ahead of UTC, in milliseconds. */
  #offset(at: number): number {
    if (this.#format === null) return 0;
    const parts: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(at)) parts[type] = Number(value);
    const { year, month, day, hour, minute, second } = parts as Record<"year" | "month" | "day", number> & typeof parts;
    const seconds = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000;
    return dayNumber({ year, month, day }) * DAY_MS + seconds - Math.floor(at / 1000) * 1000;
  }
}
