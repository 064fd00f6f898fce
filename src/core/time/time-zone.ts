import { DAY_MS, dayNumber } from "./calendar-day.ts";

/** The offset of a zone is constant within each quarter of an hour. */
const QUARTER_MS = 15 * 60_000;

/** There are fewer zones than this, but a name has many spellings in upper and lower case. */
const CACHED_ZONES_MAX = 1000;

/** Throws if no zone has this name. */
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
export class TimeZone {
  readonly name: string;
  /** Null for UTC. Every process uses UTC, and creating a format would take a tenth of the start time. */
  readonly #format: Intl.DateTimeFormat | null;
  /** The latest offset, cached because computing it dominates the cost of checking a policy window. */
  #latest: { readonly quarter: number; readonly offset: number } | null = null;

  private constructor(name: string, format: Intl.DateTimeFormat | null) {
    this.name = name;
    this.#format = format;
  }

  /** Returns null if no zone has this name. */
  static of(name: string): TimeZone | null {
    try {
      const zone = TimeZone.#cache.get(name) ?? new TimeZone(name, name === "UTC" ? null : formatFor(name));
      if (TimeZone.#cache.size >= CACHED_ZONES_MAX) TimeZone.#cache.clear();
      TimeZone.#cache.set(name, zone);
      return zone;
    } catch {
      return null;
    }
  }

  /** Cached because creating a format takes as long as accepting a plan. */
  static readonly #cache = new Map<string, TimeZone>();

  /** Returns the number of the local day. */
  dayAt(at: number): number {
    return Math.floor((at + this.#offset(at)) / DAY_MS);
  }

  /** Returns the local day and the minute of that day. */
  localTimeAt(at: number): { readonly day: number; readonly minute: number } {
    const quarter = Math.floor(at / QUARTER_MS);
    if (this.#latest?.quarter !== quarter) this.#latest = { quarter, offset: this.#offset(at) };
    const local = at + this.#latest.offset;
    const day = Math.floor(local / DAY_MS);
    return { day, minute: Math.floor((local - day * DAY_MS) / 60_000) };
  }

  /**
   * Returns a function that gives the instants of a local minute of this day: usually one, two when the clocks are set
   * back. A minute that is skipped when they are set forward is later by the amount of the change.
   */
  instantsOn(day: number): (minute: number) => readonly number[] {
    const start = day * DAY_MS;
    const before = this.#offset(start - DAY_MS);
    const after = this.#offset(start + 2 * DAY_MS);
    return (minute) => {
      const local = start + minute * 60_000;
      if (before === after) return [local - before]; // The offset does not change; checking every minute is slow.
      const instants = [local - before, local - after].filter((at) => at + this.#offset(at) === local);
      return instants.length > 0 ? instants.toSorted((left, right) => left - right) : [local - before];
    };
  }

  /** Returns the offset from UTC in milliseconds. */
  #offset(at: number): number {
    if (this.#format === null) return 0;
    const parts: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(at)) parts[type] = Number(value);
    const { year, month, day, hour, minute, second } = parts as Record<"year" | "month" | "day", number> & typeof parts;
    const seconds = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000;
    return dayNumber({ year, month, day }) * DAY_MS + seconds - Math.floor(at / 1000) * 1000;
  }
}
