import type { Instant } from "../core/values/ids.ts";

/** Returns a time in a zone, with the offset of the zone: `2025-11-15 11:00:00 +01:00`, or `2025-11-15 10:00:00 UTC`. */
export function timeText(at: Instant, style: { readonly zone: string }): string {
  return zonedText(at, style.zone, "");
}

/** Returns a time like `timeText`, with milliseconds. */
export function preciseTimeText(at: Instant, style: { readonly zone: string }): string {
  return zonedText(at, style.zone, `.${String(((at % 1000) + 1000) % 1000).padStart(3, "0")}`);
}

function zonedText(at: Instant, zone: string, fraction: string): string {
  if (Number.isNaN(new Date(at).getTime())) return String(at);
  const field = new Map(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  const date = `${field.get("year")}-${field.get("month")}-${field.get("day")}`;
  const time = `${field.get("hour")}:${field.get("minute")}:${field.get("second")}`;
  const offset = (field.get("timeZoneName") ?? "").replace("GMT", "");
  return `${date} ${time}${fraction} ${/^(\+00:00)?$/.test(offset) ? "UTC" : offset}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const two = "2-digit";
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone: zone, timeZoneName: "longOffset", hourCycle: "h23" },
    ...{ year: "numeric", month: two, day: two, hour: two, minute: two, second: two },
  });
  formats.set(zone, format);
  return format;
}
